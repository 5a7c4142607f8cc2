"""Sessions like Kaggle's: a notebook goes in by a `SessionOrder`, a log, an output and a `SessionEnd` come out.

    queue            which sessions run now
    runner           the seam: `SessionOrder`, `SessionEnd`, and the protocol of what executes them
    notebook_runner  starts a worker in an isolation, listens to it, and watches it
        isolation        what every isolation has to be: bubblewrap where it works, else plain processes
        system_calls     what a sandbox refuses (seccomp)
        environment      the variables of a session
        resource_limits, folder_trees   its time, memory, processes and files, from outside
        worker           the process inside: papermill, by the engine of `tandem run`
    session_log, session_folder   what is left of it

It knows `run`, `accelerators` and `competition`. `localkaggle` runs in them what is pushed to it, `rehearsal` a pair.
"""
