"""Train a pair on Colab with Google's command line, `colab` of the package google-colab-cli.

Input: a pair rendered for Colab, and the type of machine. Output: the results of training in the pair's output folder,
with the layout of `tandem run`, and a receipt:

    training         all steps: rent, inspect, send, execute, fetch, release; the notebook that is sent, and its result
    options          the options of the command, with local checks
    rental           one machine: Google's program as a child process, the receipt, and the transfer of folders
    remote           programs that run there

Only `cli` imports it. It does not call Kaggle: it receives a `KaggleLogin`, and `tandem push` uploads the trained
model.
"""
