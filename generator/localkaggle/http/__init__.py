"""The local Kaggle over HTTP: where Starlette and uvicorn are met, and nowhere else."""
