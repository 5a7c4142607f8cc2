"""The process that runs a notebook and compiles its steps: in goes an order, out come events, through pipes.

    process            reads the order, runs the `cells`, has the steps compiled
    steps              steps of JAX and Keras, caught at their calls; `tensorflow_steps` likewise
    torch_steps        steps of PyTorch/XLA; `torch_program` translates them to JAX
    compiler           compiles a step, and searches for the largest batch that fits

It may import JAX, Keras, TensorFlow and PyTorch, unlike the rest of the kit: nobody imports it.
"""
