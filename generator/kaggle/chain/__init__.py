"""The chain: push training, wait, verify, push inference, wait, submit, score; journalled, so that it can continue.

In come the options of `tandem push` and a `Kaggle` (`kaggle.gateway`); out go versions, a submission and a journal.

    chain            the story, `push_pair` and `submit_pair`
    ├── resume       the checks before anything is sent (`options`, `prepared_kernel`, `git`)
    │   └── plan     which chain goes on, and what is pushed; a dry run shows it
    ├── execution    a chain under way: its journal, its state, whom it tells (`events`)
    │   ├── journal → replay → state       event sourcing: lines with checksums, and what they amount to
    │   └── polling                        pauses, and what trouble is tolerated for how long
    ├── exactly_once                       announce, send, look before sending again
    │   ├── push_step → kernel_history     a version on Kaggle that the pair did not push is noticed
    │   └── upload_step, submit_step
    ├── sessions, verification, submission_check      waiting for outputs, fetching and checking them
    ├── trained_elsewhere                  a training that ran on Colab, in the place of a pushed one
    └── inference_inputs, wheels           what the inference kernel gets beside the competition

Only `generator.cli` and `generator.kaggle.receipt` import it. Errors are in `errors`.
"""
