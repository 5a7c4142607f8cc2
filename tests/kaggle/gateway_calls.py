"""Every call of the gateway that is one request, by the name of its method."""

from canned import Ask

from generator.kaggle.api_types import KernelPush
from generator.kaggle.gateway import Kaggle

PUSH = KernelPush(
    ref="ada/digits-train",
    title="Digits train",
    text='{"cells": []}',
    machine_shape="TpuV5E8",
    enable_gpu=False,
    enable_tpu=True,
    enable_internet=False,
)
QUOTA: Ask = lambda kaggle: kaggle.kernels.quota()  # noqa: E731 - as the others are
READS: dict[str, Ask] = {
    "GetCompetition": lambda kaggle: kaggle.competitions.facts("digits"),
    "ListCompetitionPages": lambda kaggle: kaggle.competitions.pages("digits"),
    "ListDataFiles": lambda kaggle: kaggle.competitions.list_files("digits"),
    "ListDataTreeFiles": lambda kaggle: kaggle.competitions.list_folder("digits", "", most=10),
    "DownloadDataFile": lambda kaggle: kaggle.competitions.file_url("digits", "train.csv"),
    "DownloadDataFiles": lambda kaggle: kaggle.competitions.archive_url("digits"),
    "GetSubmissionLimits": lambda kaggle: kaggle.competitions.submissions_left("digits"),
    "ListSubmissions": lambda kaggle: kaggle.competitions.submissions("digits"),
    "GetSubmission": lambda kaggle: kaggle.competitions.submission("digits", 7),
    "GetKernel": lambda kaggle: kaggle.kernels.find("ada/digits-train"),
    "GetKernelSessionStatus": lambda kaggle: kaggle.kernels.session_status("ada/digits-train", 3),
    "ListKernelSessionOutput": lambda kaggle: kaggle.kernels.output("ada/digits-train", 3),
    "GetAcceleratorQuotaStatistics": QUOTA,
    "GetDatasetStatus": lambda kaggle: kaggle.datasets.state("ada/weights"),
    "GetDataset": lambda kaggle: kaggle.datasets.version("ada/weights"),
    "GetModelInstance": lambda kaggle: kaggle.models.version("ada/m/keras/main"),
    "IntrospectToken": Kaggle.username,
}
WRITES: dict[str, Ask] = {
    "SaveKernel": lambda kaggle: kaggle.kernels.push(PUSH),
    "CreateCodeSubmission": lambda kaggle: kaggle.competitions.submit_kernel(
        "digits", kernel="ada/digits-infer", version=2, file_name="submission.csv", message="m"
    ),
}
