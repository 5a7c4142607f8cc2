"""Run a pair on this machine under the conditions of Kaggle.

    pair_run        trains, hands over, infers, validates, scores, reports; `result` collects the results
    runnable_pair   a pair, read and checked; `notebook_target` is one notebook with its inputs and parameters
    engine          executes one notebook with papermill; `execution` has its data, events and errors
    kernel          the process of a notebook, separate from the user's Jupyter
    input_mounts    mounts the inputs as Kaggle does
    needs           the datasets, models and weights that the pairs of a competition need
    output_folder   the outputs of a run, and the kept outputs of the previous run
    ledger          keeps full runs, and checks their records when they are read; `run_comparison` compares them
    runs_page       the page about runs; `sinks` exports them to MLflow and Weights & Biases
    report          the report page; `notebook_html` sanitizes untrusted HTML

`cli` imports it. `sessions` uses the same engine, and `localkaggle` the same HTML of notebooks.
"""
