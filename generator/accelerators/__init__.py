"""Accelerators: what Kaggle offers, and for how long."""
