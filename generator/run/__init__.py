"""Running a pair on this machine, under the conditions that it will meet on Kaggle.

In goes a pair of a workspace with the options of a run, out come its executed notebooks, a checked and scored
submission, and a report:

    pair_run            train, hand over, infer, validate, score, report
    ├── parameters      what the notebooks' parameters are set to
    ├── input_mounts    the inputs, where Kaggle would mount them
    ├── output_folder   what it writes, and what is kept of the run before
    ├── engine          one notebook, executed by papermill; `execution` is its data, `events` what it tells
    │   ├── kernel      the process, apart from the user's Jupyter; `kernel_process` runs inside of it
    │   ├── cancellation, cell_errors, terminal_text, notebook_outline
    ├── baseline        a plain model beside it, in a process of its own, `baseline_process`
    └── report          the page, with `conclusions` from the figures
        └── notebook_view, safe_html    what strangers wrote, made fit to be shown

`cli` imports it, and `localkaggle`, whose sessions run on the same engine and whose pages show notebooks likewise.
"""
