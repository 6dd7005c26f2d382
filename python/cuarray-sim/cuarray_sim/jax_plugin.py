"""The plugin by which JAX sees the simulated devices. JAX calls :func:`initialize` when it looks for devices.

JAX asks for CUDA devices only on a machine with a device file of NVIDIA's driver, such as ``/dev/nvidia0``, and has no switch for that.
So this plugin adds the simulated driver to the files that JAX looks for. It does nothing in a process without the simulated driver.
"""

from __future__ import annotations

import warnings

from .library import is_installed, library_path

__all__ = ["initialize"]


def initialize() -> None:
    """Let JAX look for CUDA devices, if the simulated driver is the driver of this process.

    :warns RuntimeWarning: this version of JAX keeps its list of device files elsewhere.
    """
    if not is_installed():
        return
    try:
        from jax._src.hardware_utils import _NVIDIA_GPU_DEVICES as files
    except ImportError:
        warnings.warn(
            "this version of JAX may not see the simulated devices: it looks for NVIDIA's device files in a way that cuarray-sim "
            "does not know; use a version of JAX from docs/how-to/jax.md, or create the file /dev/nvidiactl",
            RuntimeWarning,
            stacklevel=2,
        )
        return
    if str(library_path()) not in files:
        files.append(str(library_path()))
