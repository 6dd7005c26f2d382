"""Warp's kernels on arrays of ours.

Warp is installed by `make bench`, and without it these tests are skipped. It has a copy of the CUDA runtime inside, which does not start on the
simulated driver; so what Warp does through the runtime (allocation, its copies) is left alone, and what it does through the driver is tried:
imports, streams, kernels. Kernels have to come as PTX, which Warp makes only for a driver as new as its compiler.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import driver_probe
import pytest

if importlib.util.find_spec("warp") is None:
    pytest.skip("Warp is not installed; `make bench` installs it", allow_module_level=True)

PROGRAM = """
import runpy, sys
sys.argv = [{program!r}, {check!r}, {cache!r}]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where the first test leaves the kernels compiled for the others."""
    return str(tmp_path_factory.mktemp("warp"))


@pytest.mark.parametrize("check", ["numbers", "vectors", "strides", "streams"])
def test_a_kernel_works_on_arrays_of_ours(driver: str, cache: str, check: str) -> None:
    program = str(Path(__file__).parent / "warp_kernels.py")
    printed = driver_probe.run_python(
        PROGRAM.format(program=program, check=check, cache=cache), CUARRAY_SIM_DRIVER_VERSION="13999"
    )
    assert printed.split()[-1] == "done"
