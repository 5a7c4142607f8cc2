"""Rehearsing a pair under the conditions that it will meet on Kaggle: eight devices, and a hidden test.

In goes a pair of a workspace with its data or a specimen, out come a verdict on each thing that was tried, a page and
a record by which `tandem push --rehearsed` knows the cells again:

    rehearsal            train, look, infer on one hidden test after the other, write it down
    ├── training         the training on eight devices beside one, and what is compared; `watching` looks on inside
    ├── inference        the hidden tests, a session for each, and what came of it
    │   ├── variations   what can be different in a hidden test
    │   ├── test_set     the test as it lies here: `reading` makes it of files, `writing` files of it
    │   ├── archives     where it lies in zip archives, these unpacked and packed again
    │   ├── answers      whether an example has the answer that it had before
    │   └── limits       time and memory at the size of the real test
    ├── sessions         a notebook in a sandbox like Kaggle's session, and where it ended
    ├── image            the environment with the versions of Kaggle's GPU image
    └── record       what is left of it, and its page; `result` is its data

Only `cli` imports it. It runs notebooks by `generator.sessions`, and knows nothing of the local Kaggle or the chain.
"""
