"""Sessions like Kaggle's. Input: a notebook in a `SessionOrder`. Output: a log, the output files and a `SessionEnd`.

    notebook_runner   the queue; a worker process, monitored from outside; its limits and its log
    sandbox           isolates the worker: with bubblewrap if it works, otherwise as a plain process
    worker            the process inside: papermill, with the engine of `tandem run`

`localkaggle` runs pushed notebooks in sessions, `rehearsal` the notebooks of a pair.
"""
