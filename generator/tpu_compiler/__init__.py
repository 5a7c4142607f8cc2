"""The TPU compiler's word on a notebook, without a TPU: what its steps cost, and what the compiler refuses.

In goes a notebook with a folder of inputs, out comes a `CompileReport` of plain data:

    from generator.tpu_compiler.compilation import CompileOptions, compile_steps, pair_notebook

    target = pair_notebook(workspace, "titanic")            # or NotebookTarget(path, mounts)
    report = compile_steps(target, CompileOptions(topology="v5e:2x4", batch_per_core=128), progress=print)

    compilation   the story: what is cached, or a process of its own, within a time limit
    report        the data that comes out, assembled from the worker's events
    worker/       the process, which nobody imports: it runs the notebook on 8 virtual devices, and gives every step to
                  the compiler in place of running it
"""
