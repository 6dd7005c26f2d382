"""CuPy compiles its kernels by NVRTC to machine code, which is PTX here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cuarray_sim import findings
from cuarray_sim.cupy.finder import is_built

pytestmark = [pytest.mark.usefixtures("nvrtc"), pytest.mark.cuarray_sim_leaks]


def test_kernels_run_without_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy = pytest.importorskip("cupy")
    if not is_built(pytest.importorskip("cupy_backends.cuda.api.runtime")):
        pytest.skip("CuPy has a static runtime; `python -m cuarray_sim.cupy` builds one without")
    assert os.environ.get("CUPY_COMPILE_WITH_PTX", "0") == "0"
    array = cupy.arange(1000, dtype=cupy.float32)
    assert float((2 * array + 1).sum()) == 1000 * 999 + 1000
    kernel = cupy.RawKernel('extern "C" __global__ void add(float *x) { x[threadIdx.x] += 1; }', "add")
    kernel((1,), (32,), (array,))
    assert array[:3].get().tolist() == [1, 2, 3]


@pytest.mark.cuarray_sim(expect="kernel-race")
def test_finding_shows_the_line_of_a_file_that_cupy_has_deleted() -> None:
    cupy = pytest.importorskip("cupy")
    source = """extern "C" __global__ void turn(int *out) {
    __shared__ int tile[64];
    tile[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = tile[63 - threadIdx.x];
}"""
    kernel = cupy.RawKernel(source, "turn", options=("-lineinfo",))
    kernel((1,), (64,), (cupy.zeros(64, dtype=cupy.int32),))
    cupy.cuda.Device().synchronize()
    (race,) = findings()["findings"]
    places = [side["place"] for side in race["sides"]]
    assert {place["text"].strip() for place in places} == {line.strip() for line in source.splitlines()[2:4]}
    assert not any(Path(place["source"]["file"]).exists() for place in places)
