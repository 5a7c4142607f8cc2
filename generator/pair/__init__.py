"""Pairs: their choices, their rendering, and the folder they live in."""
