"""Driver errors: `CudaError` names the error and the call, and a failed operation releases everything.

The simulated driver fails on demand, and each program runs in a process of its own.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import driver_probe
import numpy as np
import pytest
from producers import Producer, describe, foreign

import cuarray

Run = Callable[..., str]


def test_cuda_error_is_a_runtime_error() -> None:
    assert issubclass(cuarray.CudaError, RuntimeError)
    assert cuarray.CudaError.__module__ == "cuarray"


def test_cuda_error_has_driver_name_code_and_call(driver: str) -> None:
    with pytest.raises(cuarray.CudaError) as raised:
        cuarray.device_array(2**60, "u1")
    error = raised.value
    assert (error.name, error.code, error.call) == ("CUDA_ERROR_OUT_OF_MEMORY", 2, "cuMemAlloc")
    assert "CUDA_ERROR_OUT_OF_MEMORY" in str(error)
    assert str(error).startswith("cuMemAlloc: ")


def test_copy_of_address_unknown_to_driver_is_refused(driver: str) -> None:
    for array in (
        cuarray.from_cuda_array_interface(describe(data=(4096, False))),
        cuarray.as_cuda_array(Producer(describe(data=(2**63, False)))),
    ):
        assert array.device is None
        for copy in (array.copy_to_host, lambda array=array: array.copy_to_device(np.float32([1, 2]))):
            with pytest.raises(BufferError, match="unknown to the driver"):
                copy()


@pytest.mark.cuarray_sim(expect="out-of-bounds")
def test_copy_beyond_allocation_raises_cuda_error(simulator: str) -> None:
    memory = cuarray.to_device(np.zeros(512, np.uint8))
    beyond = cuarray.as_cuda_array(foreign(memory, shape=(2**22,)))
    with pytest.raises(cuarray.CudaError) as raised:
        beyond.copy_to_host()
    assert raised.value.name == "CUDA_ERROR_INVALID_VALUE"


@pytest.mark.cuarray_sim(expect="destroyed-handle")
def test_destroyed_stream_raises_cuda_error(simulator: str) -> None:
    stream = driver_probe.ForeignStream()
    stream.destroy()
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    producer = foreign(memory, stream=stream.handle)
    with pytest.raises(cuarray.CudaError) as raised:
        cuarray.as_cuda_array(producer)
    assert raised.value.code is not None
    assert raised.value.name in str(raised.value)
    with pytest.raises(cuarray.CudaError):
        memory.copy_to_host(stream=stream)
    with pytest.raises(cuarray.CudaError):
        cuarray.external_stream(stream).synchronize()
    assert memory.copy_to_host().tolist() == [0] * 4


# For each operation: its preparation, its code, and the driver calls below it that fail in turn.
PROGRAMS = {
    "import with a stream": (
        "a = cuarray.device_array(4, 'u1'); d = {**a.__cuda_array_interface__, 'stream': 1}",
        "cuarray.from_cuda_array_interface(d, owner=a)",
        ["cuStreamSynchronize", "cuPointerGetAttributes", "cuCtxPushCurrent_v2"],
    ),
    "allocation": ("", "cuarray.device_array(4, 'u1')", ["cuMemAlloc_v2", "cuCtxPushCurrent_v2"]),
    "copy to the host": (
        "a = cuarray.to_device(numpy.zeros(4, 'u1'))",
        "a.copy_to_host()",
        ["cuMemcpyDtoH_v2", "cuStreamIsCapturing", "cuCtxPushCurrent_v2", "cuCtxGetCurrent"],
    ),
    "copy from another library's memory": (
        "o = cuarray.to_device([1, 2]); a = cuarray.from_cuda_array_interface(o.__cuda_array_interface__, owner=o)",
        "a.copy_to_host()",
        ["cuPointerGetAttributes"],
    ),
    "copy to the device": (
        "a = cuarray.device_array(4, 'u1')",
        "a.copy_to_device([1, 2, 3, 4])",
        ["cuMemcpyHtoD_v2", "cuStreamIsCapturing"],
    ),
    "to_device": ("", "cuarray.to_device([1, 2])", ["cuMemAlloc_v2", "cuMemcpyHtoD_v2", "cuStreamIsCapturing"]),
    "copy of boxes": (
        "a = cuarray.device_array((4, 4), 'u1', strides=(16, 1))",
        "a.copy_to_device(numpy.zeros((4, 4), 'u1'))",
        ["cuMemcpy3D_v2"],
    ),
    "copy within the device": (
        "a = cuarray.to_device([1, 2]); b = cuarray.to_device([3, 4])",
        "a.copy_to_device(b)",
        ["cuMemcpyDtoD_v2", "cuStreamSynchronize"],
    ),
    "copy in another stream": (
        "s = cuarray.stream(); t = cuarray.stream(); a = cuarray.to_device(numpy.zeros(4, 'u1'), stream=s)",
        "a.copy_to_device(numpy.ones(4, 'u1'), stream=t)",
        ["cuMemcpyHtoDAsync_v2", "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"],
    ),
    "new stream": ("", "cuarray.stream()", ["cuStreamCreate"]),
    "new event": ("", "cuarray.event()", ["cuEventCreate"]),
    "synchronize": ("s = cuarray.stream()", "s.synchronize()", ["cuStreamSynchronize"]),
    "query": ("s = cuarray.stream()", "s.query()", ["cuStreamQuery"]),
    "record": ("e = cuarray.event(); s = cuarray.stream()", "e.record(s)", ["cuEventRecord"]),
    "wait": (
        "e = cuarray.event(); s = cuarray.stream(); e.record(s)",
        "e.wait(cuarray.default_stream())",
        ["cuStreamWaitEvent"],
    ),
    "event synchronize": ("e = cuarray.event()", "e.synchronize()", ["cuEventSynchronize"]),
    "event query": ("e = cuarray.event()", "e.query()", ["cuEventQuery"]),
    "device": ("a = cuarray.to_device([1])", "a.device", ["cuPointerGetAttributes"]),
}

TEMPLATE = """
import gc
import cuarray, cuarray_sim, numpy, driver_probe

driver_probe.library()
{before}

def account():
    gc.collect()
    account = cuarray_sim.statistics()
    return account["allocations"], account["streams"], account["events"]

def attempt():
    {attempt}

before, context = account(), driver_probe.current_context()
number = cuarray_sim.statistics()["calls"].get("{call}", 0)
print("CALLS", number)
try:
    attempt()
except cuarray.CudaError as error:
    assert (error.name, error.code, error.call) == ("CUDA_ERROR_LAUNCH_FAILED", 719, "{named}"), error
    assert "{named}: CUDA_ERROR_LAUNCH_FAILED" in str(error), error
    error.__traceback__ = None
    print("FAILED AS EXPECTED")
assert driver_probe.current_context() == context, "a context was left current"
allocations, streams, events = account()
assert (allocations, streams) == before[:2], (allocations, streams, before)
# The pool keeps idle events that were created before the failure.
attempt()  # a second attempt succeeds
assert driver_probe.current_context() == context
print("DONE")
"""


@pytest.mark.parametrize(
    ("name", "call"),
    [pytest.param(name, call, id=f"{name}: {call}") for name, (_, _, calls) in PROGRAMS.items() for call in calls],
)
def test_failed_driver_call_leaks_nothing_and_can_be_repeated(
    simulator: str, run_python: Run, name: str, call: str
) -> None:
    before, attempt, _ = PROGRAMS[name]
    program = textwrap.dedent(TEMPLATE).format(
        # An error names the call as the manual does, without the suffix of the exported symbol.
        before=before,
        attempt=attempt,
        call=call,
        named=call.removesuffix("_v2"),
    )
    # A run without a fault counts the calls that come before the one that is to fail.
    first = run_python(program)
    assert "FAILED AS EXPECTED" not in first
    number = int(first.split("CALLS ")[1].split()[0]) + 1
    printed = run_python(program, CUARRAY_SIM_FAULTS=f"{call}:{number}:CUDA_ERROR_LAUNCH_FAILED")
    assert "FAILED AS EXPECTED" in printed, printed
    assert "DONE" in printed


def test_unknown_error_code_is_shown_as_number(simulator: str, run_python: Run) -> None:
    printed = run_python(
        textwrap.dedent("""
            import cuarray
            try:
                cuarray.device_array(4)
            except cuarray.CudaError as error:
                print(error.name, error.code, error.call, error)
        """),
        CUARRAY_SIM_FAULTS="cuMemAlloc_v2:1:12345",
    )
    assert printed.startswith("None 12345 cuMemAlloc ")
    assert "12345" in printed.split(maxsplit=3)[3]


def test_driver_initialization_is_tried_again_after_failure(simulator: str, run_python: Run) -> None:
    printed = run_python(
        textwrap.dedent("""
            import cuarray
            try:
                cuarray.device_array(4)
            except cuarray.CudaError as error:
                print(error.name, error.call)
            print(cuarray.device_array(4).shape)
        """),
        CUARRAY_SIM_FAULTS="cuInit:1:CUDA_ERROR_NO_DEVICE",
    )
    assert "CUDA_ERROR_NO_DEVICE cuInit" in printed


def test_failed_free_raises_no_exception(simulator: str, run_python: Run) -> None:
    """The free happens when the last reference is dropped, where no caller can catch an exception."""
    printed = run_python(
        textwrap.dedent("""
            import cuarray
            a = cuarray.device_array(4)
            del a
            print("STILL HERE", cuarray.device_array(4).shape)
        """),
        CUARRAY_SIM_FAULTS="cuMemFree_v2:1:CUDA_ERROR_LAUNCH_FAILED",
    )
    assert "STILL HERE (4,)" in printed
