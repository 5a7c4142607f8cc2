"""A survey interpreted as a task: what the files mean, why, and what else they could mean."""
