"""The process that runs a notebook and compiles its steps. It reads an order from a pipe, and writes events to another.

    process            reads the order, runs the `cells`, compiles the steps
    steps              intercepts the steps of JAX and Keras; `tensorflow_steps` those of TensorFlow
    torch_steps        intercepts the steps of PyTorch/XLA; `torch_program` translates them to JAX
    compiler           compiles a step, and searches for the largest batch that fits

Unlike the rest of the kit, it may import JAX, Keras, TensorFlow and PyTorch. No package imports it.
"""
