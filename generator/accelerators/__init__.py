"""Accelerators: `catalog` reads what Kaggle offers, for how long and under which names, from the dated `catalog.toml`.

Everybody may import it; it imports nobody.
"""
