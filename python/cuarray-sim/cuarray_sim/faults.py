"""Faults on demand: a driver call that fails once, for tests of error paths.

The failed call has no other effect. ``CUARRAY_SIM_FAULTS`` injects faults from the start of a process.
"""

from __future__ import annotations

import ctypes

from .export import call as _call
from .export import export

__all__ = ["clear_faults", "fail_next"]


def fail_next(call: str, error: str | int, *, after: int = 0) -> None:
    """Make the next call of a driver function fail once.

    :param call: the exported symbol, such as ``"cuMemAlloc_v2"``; the keys of ``statistics()["calls"]`` are such symbols.
    :param error: the name or the number of the result.
    :param after: the number of calls of the function that succeed before.
    :raises ValueError: there is no such function or result, or ``after`` is negative.
    :raises RuntimeError: the simulated driver is not installed in this process.

    >>> import cuarray_sim
    >>> path = cuarray_sim.install()
    >>> cuarray_sim.fail_next("cuMemAlloc_v2", "CUDA_ERROR_OUT_OF_MEMORY")
    >>> cuarray_sim.clear_faults()
    1
    """
    fault = f"{call}:{after + 1}:{error}"
    if after < 0 or export("cuarraySimFailNext")(ctypes.c_char_p(fault.encode())) != 0:
        raise ValueError(f"no such fault: call {call!r}, error {error!r}, after {after!r}")


def clear_faults() -> int:
    """Remove the faults that no call has reached, and return their number.

    :raises RuntimeError: the simulated driver is not installed in this process.
    """
    left = ctypes.c_uint64()
    _call("cuarraySimClearFaults", ctypes.byref(left))
    return left.value
