"""The environment in which XLA, the compiler of JAX, makes kernels that the simulated driver runs.

XLA calls cuBLAS for matrix products, cuDNN for convolutions and CUB for sorts. With the flags of this module, it compiles products and sorts
itself, as PTX, in which a finding has its line. It calls cuDNN, a stand-in: its own kernels ignore the groups of a batch, which gradients of grouped
convolutions have.

The flags are added to ``XLA_FLAGS``. A flag that the variable has already keeps its value. ``CUARRAY_SIM_XLA=0`` leaves all of this out.
"""

from __future__ import annotations

import os
from pathlib import Path

from .stand_ins import say

__all__ = ["FLAGS", "SWITCH", "is_wanted", "set_environment"]

SWITCH = "CUARRAY_SIM_XLA"

FLAGS = {
    # Neither cuBLAS, nor products by cuDNN, nor sorts by CUB: XLA's own kernels.
    "xla_disable_hlo_passes": "cublas-gemm-rewriter",
    "xla_gpu_cudnn_gemm_fusion_level": "0",
    "xla_gpu_enable_cub_radix_sort": "false",
    # Its kernels use wgmma, which is not simulated.
    "xla_gpu_enable_triton_gemm": "false",
    # It measures the time of kernels, and compiles each of them several times.
    "xla_gpu_autotune_level": "0",
    # Launches that begin before the kernel before them has ended.
    "xla_gpu_enable_pdl": "false",
    # Its kernels of two devices wait for each other, and simulated devices run one kernel at a time. NCCL is called in their place.
    "xla_gpu_unsupported_use_all_reduce_one_shot_kernel": "false",
    "xla_gpu_unsupported_use_ragged_all_to_all_one_shot_kernel": "false",
}
"""The flags, each with its value."""

_VARIABLES = {
    # The versions of NVIDIA's libraries do not matter, as none of them is called.
    "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",
}


def is_wanted() -> bool:
    """Return whether the environment leaves these settings to the package."""
    return os.environ.get(SWITCH, "").strip() != "0"


def set_environment() -> None:
    """Add the flags to ``XLA_FLAGS`` for this process and its children, and set JAX's variables that the user has not set."""
    if not is_wanted():
        return
    before = os.environ.get("XLA_FLAGS", "")
    if before.strip() and not before.strip().startswith("-"):
        # XLA reads its flags from a file of this name.
        before = Path(before.strip()).read_text() if os.path.isfile(before.strip()) else ""
    given = {flag.lstrip("-").partition("=")[0] for flag in before.split()}
    added = [f"--{name}={value}" for name, value in FLAGS.items() if name not in given]
    if added:
        os.environ["XLA_FLAGS"] = " ".join([*before.split(), *added])
        say(f"XLA_FLAGS has {' '.join(added)}")
    for name, value in _VARIABLES.items():
        if name not in os.environ:
            os.environ[name] = value
            say(f"{name} is {value}")
