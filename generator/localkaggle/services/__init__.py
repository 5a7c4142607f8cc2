"""The services of a local Kaggle: each is a part of the API with its own tables."""
