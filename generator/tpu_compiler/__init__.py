"""The TPU compiler's word on a notebook, without a TPU: what its steps cost, and what the compiler refuses.

In goes a notebook with a folder of inputs, out comes a `CompileReport` of plain data:

    from generator.tpu_compiler.compilation import CompileOptions, compile_steps, pair_notebook

    target = pair_notebook(workspace, "titanic")            # or NotebookTarget(path, inputs=folder)
    report = compile_steps(target, CompileOptions(topology="v5e:2x4", batch_per_core=128), progress=print)

    compilation         starts a process of its own with a time limit, listens to it, returns the report
    ├── report, step_cost   the data that comes out
    ├── topologies      the TPUs that can be compiled for
    ├── result_cache    what the compiler said of a program before
    └── worker/         the process, which imports nothing of the kit: it runs the notebook on 8 virtual devices, and
                        gives every step to the compiler in place of running it

It is above `run`, whose isolation of notebooks it uses; `cli` imports it, and whoever plans reads its data.
"""
