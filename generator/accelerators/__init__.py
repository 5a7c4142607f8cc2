"""Accelerators: what Kaggle and Colab lend, and how long a training takes there.

    catalog              what there is, for how long and under which names, from the dated `catalog.toml`
    prediction           a training on one of them: its roofline; device, host and loop, and which of them it waits for
    small_training       a rule of thumb for what a CPU is done with at once

Everybody may import it; it imports nobody.
"""
