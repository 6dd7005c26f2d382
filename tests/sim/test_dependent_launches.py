"""Dependent launches of CUDA C++: findings name the lines of both launches."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

pytest.importorskip("cuda.core", reason="cuda.core is not installed; `make peers` installs it")

PROGRAM = r"""
import sys
import cuarray_sim
cuarray_sim.install()
from ctypes import c_void_p
from cuda.bindings import driver
from cuda.core import Device, Program, ProgramOptions

SOURCE = r'''
extern "C" __global__ void produce(int *data, int *out) {
    cudaTriggerProgrammaticLaunchCompletion();
    data[threadIdx.x] = threadIdx.x;
}
extern "C" __global__ void consume(int *data, int *out) {
    int own = out[threadIdx.x];
#if WAITS == 1
    cudaGridDependencySynchronize();
#elif WAITS == 2
    if (threadIdx.x < 32) cudaGridDependencySynchronize();
#elif WAITS == 3
    if (threadIdx.x == 0) cudaGridDependencySynchronize();
    __syncthreads();
#endif
    out[threadIdx.x] = own + data[threadIdx.x];
}
'''

dependent, waits, captured = (int(word) for word in sys.argv[1:])
device = Device(0)
device.set_current()
stream = device.create_stream()
data, out = (device.memory_resource.allocate(256, stream=stream) for _ in range(2))
data.fill(0, stream=stream)
out.fill(0, stream=stream)
stream.sync()
# The functions of the device runtime are declared for relocatable code only.
options = ProgramOptions(arch="compute_90", relocatable_device_code=True, define_macro=("WAITS", str(waits)))
module = Program(SOURCE, "c++", options).compile("ptx")


def launch(name, stream, dependent):
    attribute = driver.CUlaunchAttribute()
    attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    attribute.value.programmaticStreamSerializationAllowed = dependent
    config = driver.CUlaunchConfig()
    config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1
    config.blockDimX = 64
    config.hStream = stream.handle
    config.attrs, config.numAttrs = [attribute], 1
    arguments = ((int(data.handle), int(out.handle)), (c_void_p, c_void_p))
    return driver.cuLaunchKernelEx, (config, driver.CUkernel(int(module.get_kernel(name).handle)), arguments, 0)


if captured:
    builder = device.create_graph_builder().begin_building()
    call, arguments = launch("produce", builder.stream, 0)
    (error,) = call(*arguments)  # the primary kernel
    assert not error, error
    call, arguments = launch("consume", builder.stream, dependent)
    (error,) = call(*arguments)  # the secondary kernel
    assert not error, error
    builder.end_building().complete().launch(stream)
else:
    call, arguments = launch("produce", stream, 0)
    (error,) = call(*arguments)  # the primary kernel
    assert not error, error
    call, arguments = launch("consume", stream, dependent)
    (error,) = call(*arguments)  # the secondary kernel
    assert not error, error
stream.sync()
print(cuarray_sim.report())
"""


def lines(text: str) -> list[int]:
    return [number for number, content in enumerate(PROGRAM.splitlines(), 1) if content.endswith(f"# {text}")]


def outcome(run: Run, folder: Path, dependent: int, waits: int, captured: int, **settings: str) -> str:
    program = folder / "program.py"
    program.write_text(PROGRAM)
    words = (str(word) for word in (dependent, waits, captured))
    done = run(str(program), *words, CUARRAY_SIM_QUIET="1", **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("captured", [0, 1])
@pytest.mark.parametrize("schedule", ["lazy", "random:7"])
def test_missing_wait_names_both_launches(run: Run, tmp_path: Path, captured: int, schedule: str) -> None:
    found = outcome(run, tmp_path, 1, 0, captured, CUARRAY_SIM_SCHEDULE=schedule)
    assert "[1] data-race: " in found
    assert "[2]" not in found
    assert "before its kernel waits for the earlier kernel that writes them" in found
    place = 1 - captured
    for text in ("the primary kernel", "the secondary kernel"):
        assert f"program.py:{lines(text)[place]} in <module>\n" in found, found
    assert "execute cudaGridDependencySynchronize (griddepcontrol.wait)" in found


def test_wait_of_one_warp_leaves_a_race_of_the_other(run: Run, tmp_path: Path) -> None:
    found = outcome(run, tmp_path, 1, 2, 0)
    assert "[1] data-race: " in found
    assert "memory: bytes 128 to 255 of 256 bytes" in found


@pytest.mark.parametrize(("dependent", "waits", "captured"), [(1, 1, 0), (1, 1, 1), (1, 3, 0), (0, 0, 0), (0, 0, 1)])
def test_ordered_launches_have_no_findings(run: Run, tmp_path: Path, dependent: int, waits: int, captured: int) -> None:
    assert outcome(run, tmp_path, dependent, waits, captured).strip() == ""
