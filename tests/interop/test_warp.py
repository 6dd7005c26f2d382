"""Warp's kernels work on arrays of cuarray.

`make bench` installs Warp; without it these tests are skipped. Warp contains the CUDA runtime, which does not start on the simulated
driver. The tests therefore use imports, streams and kernels, which use the driver, but no allocations and copies of Warp.
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
    """Return a folder for Warp's cache of compiled kernels, shared by the tests."""
    return str(tmp_path_factory.mktemp("warp"))


@pytest.mark.parametrize("check", ["numbers", "vectors", "strides", "streams"])
def test_warp_kernel_on_cuarray_arrays(driver: str, cache: str, check: str) -> None:
    program = str(Path(__file__).parent / "warp_kernels.py")
    printed = driver_probe.run_python(PROGRAM.format(program=program, check=check, cache=cache))
    assert printed.split()[-1] == "done"
