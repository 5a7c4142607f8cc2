"""The pages of a local Kaggle, for people."""
