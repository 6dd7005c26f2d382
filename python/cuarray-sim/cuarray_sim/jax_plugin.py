"""The plugin by which JAX sees the simulated devices. JAX calls :func:`initialize` when it looks for devices.

JAX asks for CUDA devices only on a machine with a device file of NVIDIA's driver, such as ``/dev/nvidia0``, and has no switch for that.
So this plugin adds the simulated driver to the files that JAX looks for. It does nothing in a process without the simulated driver.

XLA leaves products of int8 with wider results to cuBLAS, and its own kernels for them are wrong. So the plugin lowers such a product to
one of converted operands.
"""

from __future__ import annotations

import warnings
from typing import Any

from .library import is_installed, library_path
from .xla import is_wanted

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
    if is_wanted():
        _widen_products_of_int8()


def _widen_products_of_int8() -> None:
    from jax import lax
    from jax.interpreters import mlir

    try:
        from jax._src.lax.lax import _dot_general_lower
    except ImportError:
        warnings.warn(
            "products of int8 with wider results may be wrong with this version of JAX; convert the operands before the product",
            RuntimeWarning,
            stacklevel=3,
        )
        return

    def lower(context: Any, left: Any, right: Any, **parameters: Any) -> Any:
        result = context.avals_out[0].dtype
        if {str(operand.dtype) for operand in context.avals_in} != {"int8"} or result == "int8":
            return _dot_general_lower(context, left, right, **parameters)

        def product(a: Any, b: Any) -> Any:
            return lax.dot_general_p.bind(a.astype(result), b.astype(result), **parameters)

        return mlir.lower_fun(product, multiple_results=False)(context, left, right)

    mlir.register_lowering(lax.dot_general_p, lower, platform="cuda")
