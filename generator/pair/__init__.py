"""Pairs of notebooks: their choices, their rendering, and the folder they live in.

In goes a competition with the user's options, out come two notebooks with their metadata and a `pair.toml`:

    generation               the story: propose, merge with what the user chose, render, write
    ├── proposal             the task that the kit infers from what `sources` know
    ├── choices              who chose what, and which choice prevails; `choices_toml` is the file of them
    ├── assignments          what `--set` and `-P` say: keys of the task, and `knobs` of the notebooks
    ├── spec                 all that templates are told; `task_properties` and `file_formats` are a part of it
    ├── kernel_files         files of both kernels: `rendering`, `percent`, `imports`, `parameters`, `kernel_metadata`
    │                        and `own_cells`, which the user has in files beside `pair.toml`
    └── folder               writing without losing edits (`edits`), all files or none (`atomic_write`)
    notebook_changes         a notebook for one occasion: other parameters, a cell before all others
    reference_pairs          the same for every pair of a workspace, and whether any file drifted from its templates
    mounted_data             the competition's files where notebooks look for them
    workspace                the folders of a workspace, and of a pair in it

`run`, `kaggle` and `cli` import it; it imports `competition` and `accelerators`.
"""
