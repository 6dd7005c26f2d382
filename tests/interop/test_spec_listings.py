"""The two programs with kernels in the text of the CUDA Array Interface run with cuarray.

Each program is a script as printed in the text. Changes that it needs to run are made by replacements in this file.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuarray

PRODUCERS_AND_CONSUMER = """\
import cupy
from numba import cuda

@cuda.jit
def add(x, y, out):
    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    for i in range(start, x.shape[0], stride):
        out[i] = x[i] + y[i]

a = cupy.arange(10)
b = a * 2
out = cupy.zeros_like(a)

add[1, 32](a, b, out)
"""

WITH_CUARRAY = {
    "import cupy": "import cuarray, numpy",
    "cupy.arange(10)": "cuarray.to_device(numpy.arange(10))",
    "a * 2": "cuarray.to_device(a.copy_to_host() * 2)",
    "cupy.zeros_like(a)": "cuarray.to_device(numpy.zeros_like(a.copy_to_host()))",
}
"""Replacements of CuPy's array arithmetic, which cuarray does not have."""

KERNEL = """\
from numba import cuda, int32, void

@cuda.jit(void, int32[::1])
def initialize_array(x):
    i = cuda.grid(1)
    if i < len(x):
        x[i] = i
"""

NON_DEFAULT_STREAM = (
    KERNEL.replace("void\n", "void\nimport other_cai_library\n", 1)
    + """\

array_stream = cuda.stream()
kernel_stream = cuda.stream()

N = 16384
x = cuda.device_array(N, stream=array_stream)

nthreads = 256
nblocks = N // nthreads

initialize_array[nthreads, nblocks, kernel_stream](x)

# Create event
evt = cuda.event()
# Record the event after the kernel launch in kernel_stream
evt.record(kernel_stream)
# Wait for the event in array_stream
evt.wait(array_stream)

other_cai_library.consume(x)
"""
)

DECORATOR = ("@cuda.jit(void, int32[::1])", "@cuda.jit")
"""A replacement of the decorator, which gives two signatures for a float64 array. Without one, numba compiles for the launch."""

pytestmark = pytest.mark.usefixtures("numba")

keeps_the_stream = pytest.mark.cuarray_sim_leaks
"""numba caches the last launch configurations with their streams."""


Run = Callable[[str], dict[str, Any]]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Yield a function that runs a script and returns its names. They live until the test ends."""
    made: list[dict[str, Any]] = []

    def run(text: str) -> dict[str, Any]:
        script = tmp_path / "listing.py"
        script.write_text(text)
        made.append({"__name__": "__main__", "__file__": str(script)})
        exec(compile(text, script, "exec"), made[-1])
        return made[-1]

    yield run
    for names in made:
        names.clear()


def test_first_listing_runs_numba_kernel_on_cuarray_arrays(run: Run) -> None:
    text = PRODUCERS_AND_CONSUMER
    for original, replacement in WITH_CUARRAY.items():
        assert text.count(original) == 1
        text = text.replace(original, replacement)
    names = run(text)
    assert isinstance(names["out"], cuarray.DeviceArray)
    np.testing.assert_array_equal(names["out"].copy_to_host(), np.arange(10) * 3)


@pytest.fixture
def other_cai_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install the unnamed consumer library of the text as a module that imports arrays with cuarray."""
    (tmp_path / "other_cai_library.py").write_text(
        "import cuarray\n\ndef consume(x):\n    consumed.append(cuarray.as_cuda_array(x))\n\nconsumed = []\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield
    if module := sys.modules.pop("other_cai_library", None):  # a skipped test has not imported it
        module.consumed.clear()


@keeps_the_stream
@pytest.mark.usefixtures("other_cai_library")
def test_second_listing_is_consumed_after_the_kernel(run: Run) -> None:
    names = run(NON_DEFAULT_STREAM.replace(*DECORATOR))
    (consumed,) = names["other_cai_library"].consumed
    assert consumed.stream.handle == int(names["array_stream"])
    np.testing.assert_array_equal(consumed.copy_to_host(), np.arange(names["N"]))


@keeps_the_stream
@pytest.mark.cuarray_sim(expect="data-race")
@pytest.mark.usefixtures("other_cai_library", "simulator")
def test_second_listing_without_its_wait_is_a_data_race(run: Run) -> None:
    text = NON_DEFAULT_STREAM.replace(*DECORATOR).replace("evt.wait(array_stream)", "")
    names = run(text)
    (consumed,) = names["other_cai_library"].consumed
    consumed.copy_to_host()  # the values are undefined; the marker expects the finding


def test_decorator_of_second_listing_is_refused_by_numba(run: Run) -> None:
    """The definition of the kernel alone raises, so the other tests replace the decorator."""
    with pytest.raises((AttributeError, TypeError)) as raised:
        run(KERNEL)
    called = [frame.filename for frame in traceback.extract_tb(raised.tb)]
    below = called[called.index(next(file for file in called if file.endswith("listing.py"))) + 1 :]
    assert below
    assert all("numba" in file for file in below)
