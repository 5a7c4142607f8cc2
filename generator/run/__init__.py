"""Run a pair on this machine under the conditions of Kaggle.

    pair_run        train, hand over, infer, validate, score, report; `result` is filled in as it gets on
    runnable_pair   a pair, read and checked; `notebook_target` is one notebook with its inputs and parameters
    engine          one notebook, executed by papermill; `execution` has its data, events and errors
    kernel          the process of a notebook, apart from the user's Jupyter
    input_mounts    the inputs, where Kaggle would mount them
    needs           what the trainings of a competition take beside its files
    output_folder   what a run writes, and what is kept of the run before
    report          the page; `notebook_html` makes what strangers wrote safe to show

`cli` imports it. `sessions` uses the same engine, and `localkaggle` the same HTML of notebooks.
"""
