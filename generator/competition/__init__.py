"""Competitions: what Kaggle knows of them, what the kit makes of them, and how they are scored."""
