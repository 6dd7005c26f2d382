"""Races between kernel threads, and invalid accesses, are found in kernels of numba-cuda and NVRTC, with their lines."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def found(run: Run, tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """Run a program on the simulated driver and return its findings."""

    def found(name: str, program: str, **variables: str) -> list[dict[str, Any]]:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
        (tmp_path / "program.py").write_text(program)
        report = tmp_path / "report.json"
        report.unlink(missing_ok=True)
        run("-m", "cuarray_sim", "--report", str(report), "program.py", **variables)
        return json.loads(report.read_text())["findings"] if report.exists() else []

    return found


def lines(finding: dict[str, Any], text: str) -> list[str]:
    """Return the program's lines that the sides of a finding name."""
    places = [side["place"]["source"] for side in finding["sides"]]
    return [text.splitlines()[place["line"] - 1].strip() for place in places]


REDUCTION = """
import warnings
warnings.simplefilter("ignore")
import numpy as np
from numba import cuda, float64

@cuda.jit(lineinfo=True)
def total(values, out):
    shared = cuda.shared.array(128, float64)
    thread = cuda.threadIdx.x
    shared[thread] = values[cuda.grid(1)]
    BEFORE
    step = 64
    while step > 0:
        if thread < step:
            shared[thread] += shared[thread + step]
        cuda.syncthreads()
        step //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = shared[0]

out = cuda.device_array(4)
total[4, 128](cuda.to_device(np.ones(512)), out)
out.copy_to_host()
"""


def test_missing_barrier_in_numba_reduction_is_a_kernel_race(found: Callable[..., list[dict[str, Any]]]) -> None:
    wrong = REDUCTION.replace("BEFORE", "pass")
    for cores in ("1", "3"):
        (finding,) = found("numba.cuda", wrong, CUARRAY_SIM_CORES=cores)
        assert finding["kind"] == "kernel-race"
        assert lines(finding, wrong) == [
            "shared[thread] += shared[thread + step]",
            "shared[thread] = values[cuda.grid(1)]",
        ]
        one, other = [side["place"] for side in finding["sides"]]
        assert one["block"] == other["block"] == [0, 0, 0]
        assert one["thread"] != other["thread"]
        assert finding["variable"]["space"] == "shared"
        assert finding["variable"]["name"] == "shared"
        assert "syncthreads" in finding["missing"]
    assert found("numba.cuda", REDUCTION.replace("BEFORE", "cuda.syncthreads()")) == []
    assert found("numba.cuda", wrong, CUARRAY_SIM_KERNEL_RACES="0") == []


HISTOGRAM = """
import warnings
warnings.simplefilter("ignore")
import numpy as np
from numba import cuda

@cuda.jit(lineinfo=True)
def count(values, bins):
    i = cuda.grid(1)
    COUNT

bins = cuda.to_device(np.zeros(8, np.int64))
count[16, 32](cuda.to_device(np.arange(512) % 8), bins)
bins.copy_to_host()
"""


def test_numba_histogram_without_atomics_is_a_kernel_race(found: Callable[..., list[dict[str, Any]]]) -> None:
    wrong = HISTOGRAM.replace("COUNT", "bins[values[i]] += 1")
    (finding,) = found("numba.cuda", wrong)
    assert finding["kind"] == "kernel-race"
    assert lines(finding, wrong) == ["bins[values[i]] += 1"] * 2
    assert "cuda.atomic.add" in finding["missing"]
    assert finding["allocation"]["size"] == 64
    assert finding["offset"] % 8 == 0
    assert found("numba.cuda", HISTOGRAM.replace("COUNT", "cuda.atomic.add(bins, values[i], 1)")) == []


HAND_OVER = """
import warnings
warnings.simplefilter("ignore")
import numpy as np
from numba import cuda

@cuda.jit(lineinfo=True)
def give(flag, data, out):
    if cuda.blockIdx.x == 0:
        data[0] = 7
        FENCE
        cuda.atomic.exch(flag, 0, 1)
    else:
        while cuda.atomic.cas(flag, 0, 1, 1) != 1:
            pass
        FENCE
        out[0] = data[0]

flag, data, out = (cuda.to_device(np.zeros(1, np.int32)) for _ in range(3))
give[2, 1](flag, data, out)
"""


def test_hand_over_by_atomic_operations_without_fences_lacks_fences(
    found: Callable[..., list[dict[str, Any]]],
) -> None:
    (finding,) = found("numba.cuda", HAND_OVER.replace("FENCE", "pass"))
    assert "put cuda.threadfence() before the flag's write and behind its read\n" in finding["missing"]
    assert found("numba.cuda", HAND_OVER.replace("FENCE", "cuda.threadfence()")) == []


NVRTC = """
import numpy as np
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

device = Device(0)
device.set_current()
stream = device.create_stream()
SOURCE = r'''
extern "C" __global__ void smooth(float *values) {
    __shared__ float part[64 + 2];
    unsigned i = threadIdx.x + 1;
    part[i] = values[blockIdx.x * 64 + threadIdx.x];
    if (i == 1) part[0] = part[65] = 0;
    BEFORE
    values[blockIdx.x * 64 + threadIdx.x] = part[i - 1] + part[i] + part[i + 1];
}
'''
options = ProgramOptions(arch="sm_90", lineinfo=True, name="smooth.cu")
kernel = Program(SOURCE, "c++", options=options).compile("ptx").get_kernel("smooth")
buffer = device.allocate(4 * 256, stream=stream)
buffer.fill(0, stream=stream)
launch(stream, LaunchConfig(grid=4, block=64), kernel, buffer)
stream.sync()
buffer.close(stream)
stream.sync()
"""


def test_missing_barrier_in_cuda_cpp_kernel_is_a_kernel_race(found: Callable[..., list[dict[str, Any]]]) -> None:
    wrong = NVRTC.replace("BEFORE", "")
    findings = found("cuda.core", wrong)
    # A thread that reads its neighbour's element too early also reads shared memory before any write.
    assert "kernel-race" in {finding["kind"] for finding in findings} <= {"kernel-race", "uninitialized-read"}
    for finding in findings:
        places = [side["place"]["source"] for side in finding["sides"] if side["place"]]
        assert all(Path(place["file"]).name == "smooth.cu" for place in places)
        assert {place["line"] for place in places} <= {5, 6, 8}
        assert "part" in finding["variable"]["name"]
    assert found("cuda.core", NVRTC.replace("BEFORE", "__syncthreads();")) == []


FAULT = """
import warnings
warnings.simplefilter("ignore")
import numpy as np
from numba import cuda

@cuda.jit(lineinfo=True)
def fill(out, far):
    out[cuda.grid(1) + far] = 1

out = cuda.device_array(64, np.int32)
fill[2, 32](out, 0)
fill[2, 32](out, 4096)
try:
    cuda.synchronize()
except Exception as error:
    assert "ILLEGAL_ADDRESS" in str(error)
else:
    raise AssertionError("the launch has not failed")
import os
import cuarray_sim
(finding,) = cuarray_sim.findings()["findings"]
(side,) = finding["sides"]
place = side["place"]
assert finding["kind"] == "out-of-bounds" and side["access"] == "write" and side["bytes"]["length"] == 4
assert "fill" in side["detail"] and place["block"] == [0, 0, 0] and place["thread"] == [0, 0, 0]
assert place["source"]["line"] == 9 and os.path.basename(place["source"]["file"]) == "program.py"
assert "the nearest allocation is 256 bytes at" in finding["missing"]
print("as expected", flush=True)
os._exit(0)
"""


def test_out_of_bounds_write_in_kernel_names_its_line(run: Run, tmp_path: Path) -> None:
    if importlib.util.find_spec("numba.cuda") is None:
        pytest.skip("numba.cuda is not installed")
    (tmp_path / "program.py").write_text(FAULT)
    done = run("-m", "cuarray_sim", "program.py")
    assert done.stdout == "as expected\n", done.stderr
    assert "cuarray-sim: kernel __main__::fill: write of 4 bytes at 0x" in done.stderr


def test_kernel_race_report_quotes_the_kernel_source(run: Run, tmp_path: Path) -> None:
    if importlib.util.find_spec("numba.cuda") is None:
        pytest.skip("numba.cuda is not installed")
    (tmp_path / "program.py").write_text(HISTOGRAM.replace("COUNT", "bins[values[i]] += 1"))
    done = run("-m", "cuarray_sim", "program.py")
    assert done.returncode == 66
    assert "[1] kernel-race: threads of" in done.stderr
    assert "__main__::count" in done.stderr
    assert done.stderr.count("          bins[values[i]] += 1\n") == 2
    assert "      in thread (" in done.stderr
    assert "program.py:10" in done.stderr
