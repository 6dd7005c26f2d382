"""The check after a build: import modules of CuPy on the simulated driver (``python -m cuarray_sim.cupy.check NAMES``)."""

from __future__ import annotations

import importlib
import sys

import cuarray_sim

from .finder import is_built


def main(names: list[str]) -> None:
    """Import modules. The process fails if an import fails, or gets a released module."""
    cuarray_sim.install()
    for name in names:
        if not is_built(importlib.import_module(name)):
            sys.exit(f"{name} is the released one")


if __name__ == "__main__":
    main(sys.argv[1:])
