"""Kaggle itself: the gateway to its API, and the chain that carries a pair to a score."""
