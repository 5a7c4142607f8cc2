"""What the code of a notebook does on a TPU, as far as its syntax trees tell.

In: a kernel. Out: which of its functions are compiled for a TPU, which values are known only there, which layers are in
its models, what its constants are. The rules of `check.rules` for TPUs ask it; each kernel is analysed once.

    devices         how many devices there are, and what depends on it
    platform        which frameworks the notebook uses on a TPU, and whether it is for one
    function_kinds  how a function can be run, and the names that make it so
    compiled        the functions that a TPU runs, those that are traced, those of the host's input pipeline
    traced          the names in a compiled function that stand for values on the device
    layers          the layers that are in a Keras model, rather than in its input pipeline
    models          the calls that build a Keras model
    tpu             all of it, for a kernel
"""
