"""The sessions of a local Kaggle: what they are given, how they are queued, and what runs them."""
