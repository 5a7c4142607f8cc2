"""Training on Colab by Google's own command line, `colab` of the package google-colab-cli.

In goes a pair that was rendered for Colab and the machine that it is to have; out come the results of training in the
pair's output folder, as `tandem run` leaves them, and a receipt:

    training         the story: rent, look, send, execute, fetch, give back
    options          what the command asks for, checked as far as it can be here
    rental           one machine, Google's program as a child process, its receipt, and folders there and back
    sent_notebook    the notebook as it is sent, and what came of it
    remote           programs that run there

Only `cli` imports it. It knows nothing of Kaggle: a `KaggleLogin` comes in, and what is trained goes to Kaggle by
`tandem push`.
"""
