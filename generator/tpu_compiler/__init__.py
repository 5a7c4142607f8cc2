"""The TPU compiler's word on a notebook, without a TPU: what its steps cost, and what the compiler refuses.

In goes a notebook with a folder of inputs, out comes a `CompileReport` of plain data:

    from generator.tpu_compiler.compilation import CompileOptions, compile_steps
    from generator.tpu_compiler.targets import NotebookTarget, pair_notebook

    target = pair_notebook(workspace, "titanic")            # or NotebookTarget(path, mounts)
    report = compile_steps(target, CompileOptions(topology="v5e:2x4", batch_per_core=128), progress=print)

    targets             notebooks to compile: any, or the training of a pair with its data or a specimen
    compilation         the story: what is in the cache, or the process's word, made a report; `options` are its data
    ├── child           the process of its own: its start, what it tells, its time limit
    ├── worker_events   what the process says, made a report; `report` and `step_cost` are the data that comes out
    ├── topologies      the TPUs that can be compiled for
    ├── result_cache    what the compiler said of a program before; `fingerprint` finds a whole report again
    └── worker/         the process, which nobody imports: it runs the notebook on 8 virtual devices, and gives every
                        step to the compiler in place of running it

It is above `run`, whose isolation of notebooks it uses; `cli` imports it, and whoever plans reads its data.
"""
