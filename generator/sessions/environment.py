"""The environment variables of a session: Kaggle's, and of this machine's only those that Python needs."""

import os
import sys
from collections.abc import Mapping

from generator.accelerators.catalog import AcceleratorKind
from generator.sessions.runner import SessionOrder

# Where things are and how text is written. All the rest stays here: it may hold tokens, and changes what notebooks do.
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH")

# reference: kagglesdk's kaggle_env.py and Kaggle/docker-python. KAGGLE_DATA_PROXY_URL is not among them on purpose:
# with it kagglehub would ask a proxy that is not here, and wait for ever for a folder to appear.
_KAGGLES = {"KAGGLE_KERNEL_RUN_TYPE": "Batch", "KAGGLE_URL_BASE": "https://www.kaggle.com"}


def process_variables(base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables of this machine that the process gets which executes the notebook."""
    passed_on = {name: base[name] for name in _PASSED_ON if name in base}
    # A notebook's `!pip` and `!python` are those of the Python that executes it.
    return {**passed_on, "PATH": os.pathsep.join([f"{sys.prefix}/bin", base.get("PATH", os.defpath)])}


def session_variables(order: SessionOrder) -> dict[str, str]:
    """The variables that the notebook itself gets beside those."""
    variables = {**_KAGGLES, "CUDA_VISIBLE_DEVICES": "-1"}
    if order.accelerator is AcceleratorKind.TPU:
        variables["ISTPUVM"] = "1"
        variables["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={order.devices}"
        variables |= {"PJRT_DEVICE": "CPU", "CPU_NUM_DEVICES": str(order.devices)}  # PyTorch/XLA's way to say it
    if order.accelerator is AcceleratorKind.GPU:
        del variables["CUDA_VISIBLE_DEVICES"]
    else:
        variables["JAX_PLATFORMS"] = "cpu"
    return {**variables, **order.environment}
