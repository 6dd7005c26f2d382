"""Hints for runs in which the simulated driver is not used, or in which a name is misspelt."""

from __future__ import annotations

import importlib.util
import os
import sys
import warnings

__all__ = ["meant", "refuse_numba_simulator", "warn_of_late_install"]


def refuse_numba_simulator() -> None:
    """Raise an error if the environment makes numba run its own simulator.

    :raises RuntimeError: ``NUMBA_ENABLE_CUDASIM`` is set.
    """
    value = os.environ.get("NUMBA_ENABLE_CUDASIM", "")
    # numba reads an integer; an empty value and 0 leave its simulator off.
    if value.strip() not in ("", "0"):
        raise RuntimeError(
            f"NUMBA_ENABLE_CUDASIM={value} is set, with which numba runs its own simulator and never calls the driver, "
            "so nothing would be checked; unset it"
        )


def warn_of_late_install() -> None:
    """Warn if a library has looked for a driver before, found none, and will not look again."""
    # numba looks once, when `numba.cuda` is imported.
    driver = getattr(sys.modules.get("numba.cuda.cudadrv.driver"), "driver", None)
    if getattr(driver, "initialization_error", None) is not None:
        warnings.warn(
            "numba.cuda was imported before cuarray_sim.install(), found no CUDA driver, and does not look again; "
            "call cuarray_sim.install() before `from numba import cuda`",
            RuntimeWarning,
            stacklevel=3,
        )
    # numba loads other modules of its simulator without the variable too.
    if "numba.cuda.simulator_init" in sys.modules:
        warnings.warn(
            "numba.cuda was imported with NUMBA_ENABLE_CUDASIM and runs its own simulator; unset the variable",
            RuntimeWarning,
            stacklevel=3,
        )


def meant(target: str) -> str:
    """Return the text that suggests ``-m`` for a program that is no file and is a module; empty otherwise."""
    if not target.replace(".", "").isidentifier():
        return ""
    try:
        found = importlib.util.find_spec(target)
    except (ImportError, ValueError):
        return ""
    return f"; did you mean `python -m cuarray_sim -m {target}`?" if found else ""
