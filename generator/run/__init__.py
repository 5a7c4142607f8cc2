"""Running a pair on this machine, under the conditions that it will meet on Kaggle."""
