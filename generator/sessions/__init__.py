"""Sessions like Kaggle's: a notebook goes in by a `SessionOrder`, a log, an output and a `SessionEnd` come out.

    notebook_runner   the queue, a worker process watched from outside, its limits and its log
    sandbox           what keeps it apart: bubblewrap where it works, else plain processes
    worker            the process inside: papermill, by the engine of `tandem run`

`localkaggle` runs in them what is pushed to it, `rehearsal` a pair.
"""
