"""The process that runs a notebook and compiles its steps: in goes an order, out come events, through pipes.

    process             the story: reads the order, runs the cells, has what was caught compiled
    ├── cells           IPython, with a file name for each cell, so that every traceback names cell and line
    ├── jax_steps       stands in for jax.jit and jax.pmap: catches each step at its call, once for each set of shapes
    │   ├── step        one of them, and which of its arguments are the batch
    │   └── tpu_mesh    the TPU's devices in the place of the CPU's
    ├── keras_stand_ins     Keras on JAX, without fetching weights
    ├── tensorflow_steps    stands in for tf.function and Strategy.run
    ├── torch_steps     stands in for PyTorch/XLA's execution: catches what is pending at torch_xla.sync
    │   ├── host_operations     which operations PyTorch/XLA leaves to the host, and at which lines
    │   ├── torch_program   makes of that a step like those of JAX
    │   │   └── batch_interpolation   writes its program for another batch, from those for two
    │   └── torch_second_run    catches it a second time, at half of the batch
    └── step_compilation    the caught steps, one after the other
        ├── compiler        compiles a step, and finds the place of what the compiler refuses
        │   └── program_text    reads the compiler's program: padding, cycles, collectives
        └── batch_search    the largest batch that fits, in few compilations

It may import JAX, Keras, TensorFlow and PyTorch, unlike the rest of the kit: nobody imports it.
"""
