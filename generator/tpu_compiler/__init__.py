"""Compile the training steps of a notebook for a TPU without a TPU: their costs, and the compiler's errors.

Input: a notebook and a folder of inputs. Output: a `CompileReport` of plain data:

    from generator.tpu_compiler.compilation import CompileOptions, compile_steps, pair_notebook

    target = pair_notebook(workspace, "titanic")            # or NotebookTarget(path, mounts)
    report = compile_steps(target, CompileOptions(topology="v5e:2x4", batch_per_core=128), progress=print)

    compilation   returns a cached report, or compiles in a separate process with a time limit; the report is assembled
                  from the worker's events
    worker/       the process: it runs the notebook on 8 virtual devices, and compiles every step instead of running it.
                  No package imports it.
"""
