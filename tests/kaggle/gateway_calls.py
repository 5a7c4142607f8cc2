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
READS: dict[str, Ask] = {
    "GetCompetition": lambda kaggle: kaggle.competition("digits"),
    "ListCompetitionPages": lambda kaggle: kaggle.pages("digits"),
    "ListDataFiles": lambda kaggle: kaggle.competition_files("digits"),
    "ListDataTreeFiles": lambda kaggle: kaggle.competition_folder("digits", "", most=10),
    "DownloadDataFile": lambda kaggle: kaggle.competition_file_url("digits", "train.csv"),
    "DownloadDataFiles": lambda kaggle: kaggle.competition_archive_url("digits"),
    "GetSubmissionLimits": lambda kaggle: kaggle.submissions_left("digits"),
    "ListSubmissions": lambda kaggle: kaggle.submissions("digits"),
    "GetSubmission": lambda kaggle: kaggle.submission("digits", 7),
    "GetKernel": lambda kaggle: kaggle.kernel("ada/digits-train"),
    "GetKernelSessionStatus": lambda kaggle: kaggle.session_status("ada/digits-train", 3),
    "ListKernelSessionOutput": lambda kaggle: kaggle.output("ada/digits-train", 3),
    "GetAcceleratorQuotaStatistics": Kaggle.quota,
    "GetDatasetStatus": lambda kaggle: kaggle.dataset_state("ada/weights"),
    "GetDataset": lambda kaggle: kaggle.dataset_version("ada/weights"),
    "GetModelInstance": lambda kaggle: kaggle.model_version("ada/m/keras/main"),
    "IntrospectToken": Kaggle.username,
}
WRITES: dict[str, Ask] = {
    "SaveKernel": lambda kaggle: kaggle.push(PUSH),
    "CreateCodeSubmission": lambda kaggle: kaggle.submit_kernel(
        "digits", kernel="ada/digits-infer", version=2, file_name="submission.csv", message="m"
    ),
}
