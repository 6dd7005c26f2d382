"""Driver errors: `CudaError` names the error and the call, and a failed operation releases everything.

The simulated driver fails on demand, and each program runs in its own process.
"""

from __future__ import annotations

import ctypes
import os
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import driver_probe
import numpy as np
import pytest
from producers import Producer, describe, foreign

import cuarray
import cuarray_sim

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
cuarray_sim.fail_next("{call}", "CUDA_ERROR_LAUNCH_FAILED")
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
    # An error names the call as the manual does, without the suffix of the exported symbol.
    program = TEMPLATE.format(before=before, attempt=attempt, call=call, named=call.removesuffix("_v2"))
    printed = run_python(program)
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


def test_failed_pointer_query_keeps_name_and_call(simulator: str) -> None:
    """The query of known memory fails, which does not mean that the memory is unknown."""
    array = cuarray.to_device(np.zeros(4, "u1"))
    imported = cuarray.as_cuda_array(foreign(array))
    for code in ("CUDA_ERROR_INVALID_VALUE", "CUDA_ERROR_UNKNOWN"):
        for query in (imported.copy_to_host, lambda: imported.device, lambda: imported.__dlpack_device__()):
            cuarray_sim.fail_next("cuPointerGetAttributes", code)
            with pytest.raises(cuarray.CudaError) as raised:
                query()
            assert (raised.value.name, raised.value.call) == (code, "cuPointerGetAttributes")


@pytest.mark.parametrize("code", ["CUDA_ERROR_SYSTEM_NOT_READY", "CUDA_ERROR_NO_DEVICE", "CUDA_ERROR_UNKNOWN"])
def test_failed_initialization_keeps_name_and_call(simulator: str, run_python: Run, code: str) -> None:
    printed = run_python(
        textwrap.dedent("""
            import cuarray
            try:
                cuarray.device_array(4)
            except cuarray.CudaError as error:
                print(error.name, error.call, error)
        """),
        CUARRAY_SIM_FAULTS=f"cuInit:1:{code}",
    )
    assert printed.startswith(f"{code} cuInit cuInit: {code}")
    assert "the driver is /" in printed
    assert "python -m cuarray_sim" in printed


def test_failed_restore_of_the_capture_mode_is_repeated_and_then_reported(
    simulator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: reports.append(report.exc_value))
    symbol = "cuThreadExchangeStreamCaptureMode"
    cuarray_sim.fail_next(symbol, "CUDA_ERROR_UNKNOWN", after=1)
    cuarray.device_array(4)
    assert capture_mode() == 0
    assert reports == []
    for after in (1, 2):
        cuarray_sim.fail_next(symbol, "CUDA_ERROR_UNKNOWN", after=after)
    cuarray.device_array(4)
    try:
        assert [(error.name, error.call) for error in reports] == [("CUDA_ERROR_UNKNOWN", symbol)]
    finally:
        capture_mode(0)


def test_failed_change_of_the_capture_mode_is_an_error(simulator: str) -> None:
    """The allocation could otherwise invalidate another thread's capture."""
    cuarray_sim.fail_next("cuThreadExchangeStreamCaptureMode", "CUDA_ERROR_UNKNOWN")
    with pytest.raises(cuarray.CudaError) as raised:
        cuarray.device_array(4)
    assert raised.value.call == "cuThreadExchangeStreamCaptureMode"


def capture_mode(value: int | None = None) -> int:
    """The thread's capture mode; sets it to ``value``, or to what it was."""
    exchange = driver_probe.library().cuThreadExchangeStreamCaptureMode
    mode = ctypes.c_int(0)
    exchange(ctypes.byref(mode))
    found = mode.value
    mode.value = found if value is None else value
    exchange(ctypes.byref(mode))
    return found


OVERLAP = """
import numpy
import cuarray, cuarray_sim
base = cuarray.to_device(numpy.arange(64, dtype="i4"), stream=cuarray.stream())
for call, code in {faults}:
    cuarray_sim.fail_next(call, code)
base[8:40].copy_to_device(base[:32], **({{"stream": cuarray.stream()}} if {given} else {{}}))
assert cuarray_sim.clear_faults() == 0
assert base.copy_to_host().tolist() == [*range(8), *range(32), *range(40, 64)]
cuarray.reclaim()
assert len(cuarray_sim.statistics()["allocations"]) == 1, cuarray_sim.statistics()["allocations"]
print(cuarray_sim.report())
"""


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize(
    "faults",
    [
        [("cuMemFreeAsync", "CUDA_ERROR_UNKNOWN")],
        [("cuMemAllocAsync", "CUDA_ERROR_NOT_SUPPORTED")],
    ],
)
def test_temporary_memory_is_not_freed_under_its_copies(
    simulator: str, run_python: Run, faults: list[tuple[str, str]], given: bool
) -> None:
    """A free without a stream does not wait here."""
    printed = run_python(OVERLAP.format(faults=faults, given=given), CUARRAY_SIM_FREE_SYNCHRONIZES="0")
    assert "no findings" in printed or printed.strip() == ""


def test_temporary_memory_without_a_stream_is_not_freed_under_its_copies(simulator: str, run_python: Run) -> None:
    program = OVERLAP.replace(", stream=cuarray.stream())\n", ")\n")
    printed = run_python(program.format(faults=[], given=False), CUARRAY_SIM_FREE_SYNCHRONIZES="0")
    assert "no findings" in printed or printed.strip() == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_error_after_fork_names_the_fork(simulator: str, run_python: Run) -> None:
    printed = run_python(
        textwrap.dedent("""
            import os
            import cuarray
            array, stream = cuarray.to_device([1, 2, 3]), cuarray.stream()
            parent = os.getpid()
            if os.fork() == 0:
                calls = [array.copy_to_host, cuarray.stream, lambda: cuarray.device_array(3), stream.synchronize, lambda: array.device]
                for call in calls:
                    try:
                        call()
                    except cuarray.CudaError as error:
                        text = f"forked from process {parent} after CUDA was initialized"
                        assert text in str(error) and "'spawn'" in str(error), error
                        assert error.name == "CUDA_ERROR_NOT_INITIALIZED", error
                        print("NAMED", flush=True)
                os._exit(0)
            assert os.wait()[1] == 0
            print("PARENT", array.copy_to_host().tolist())
        """)
    )
    assert printed.count("NAMED") == 5
    assert "PARENT [1, 2, 3]" in printed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_fork_before_the_first_call_is_allowed(simulator: str, run_python: Run) -> None:
    printed = run_python(
        "import os, cuarray\n"
        "if os.fork() == 0:\n    print(cuarray.to_device([1]).shape, flush=True)\n    os._exit(0)\n"
        "os.wait()\nprint(cuarray.to_device([1, 2]).shape)"
    )
    assert "(1,)" in printed
    assert "(2,)" in printed


def test_import_in_a_subinterpreter_is_refused(run_python: Run) -> None:
    """Before Python 3.12 the module checks it; later versions refuse the import by themselves."""
    printed = run_python(
        textwrap.dedent("""
            try:
                import _interpreters as interpreters  # Python 3.13
            except ImportError:
                import _xxsubinterpreters as interpreters
            code = "try:\\n import cuarray\\nexcept ImportError as error:\\n print('REFUSED', error)"
            interpreters.run_string(interpreters.create(), code)
            import cuarray
            print("MAIN", cuarray.interface({"shape": (1,), "typestr": "<f4", "data": (4096, False), "version": 3}).shape)
        """)
    )
    assert "REFUSED" in printed
    assert "sub-interpreter" in printed or "subinterpreters" in printed
    assert "MAIN (1,)" in printed


@pytest.mark.parametrize("pointer", [-1, -(2**63), 2**64, 2**100])
def test_pointer_attributes_of_a_number_that_is_no_address_is_a_value_error(driver: str, pointer: int) -> None:
    with pytest.raises(ValueError, match=r"^ptr: .* is out of range"):
        cuarray.pointer_attributes(pointer)


class Unprintable:
    """An object whose text cannot be made."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    __str__ = __repr__


UNPRINTABLE = {
    "as_cuda_array": lambda value, array: cuarray.as_cuda_array(value),
    "as_cuda_array, dtype": lambda value, array: cuarray.as_cuda_array(array, dtype=value),
    "as_cuda_array, mask": lambda value, array: cuarray.as_cuda_array(array, mask=value),
    "as_cuda_array, strict": lambda value, array: cuarray.as_cuda_array(array, strict=value),
    "as_cuda_array, protocol": lambda value, array: cuarray.as_cuda_array(array, protocol=value),
    "from_cuda_array_interface": lambda value, array: cuarray.from_cuda_array_interface(value),
    "from_dlpack": lambda value, array: cuarray.from_dlpack(value),
    "from_dlpack, stream": lambda value, array: cuarray.from_dlpack(array, stream=value),
    "borrow": lambda value, array: cuarray.borrow(value, cuarray.stream()).__enter__(),
    "borrow, stream": lambda value, array: cuarray.borrow(array, value).__enter__(),
    "borrow, event": lambda value, array: cuarray.borrow(array, cuarray.stream(), event=value).__enter__(),
    "interface": lambda value, array: cuarray.interface(value),
    "device_array, shape": lambda value, array: cuarray.device_array(value),
    "device_array, dtype": lambda value, array: cuarray.device_array(3, value),
    "device_array, strides": lambda value, array: cuarray.device_array(3, "f4", value),
    "device_array, order": lambda value, array: cuarray.device_array(3, "f4", order=value),
    "device_array, stream": lambda value, array: cuarray.device_array(3, stream=value),
    "device_array, device": lambda value, array: cuarray.device_array(3, device=value),
    "to_device, stream": lambda value, array: cuarray.to_device([1], stream=value),
    "external_stream": lambda value, array: cuarray.external_stream(value),
    "Event.record": lambda value, array: cuarray.event().record(value),
    "pointer_attributes": lambda value, array: cuarray.pointer_attributes(value),
    "copy_to_host": lambda value, array: array.copy_to_host(value),
    "copy_to_device": lambda value, array: array.copy_to_device(value),
    "getitem": lambda value, array: array[value],
    "setitem": lambda value, array: array.setitem(value, 1),
    "setitem, value": lambda value, array: array.setitem(0, value),
    "reshape": lambda value, array: array.reshape(value),
    "reshape, order": lambda value, array: array.reshape(2, 2, order=value),
    "transpose": lambda value, array: array.transpose(value),
    "squeeze": lambda value, array: array.squeeze(value),
    "view": lambda value, array: array.view(value),
    "split": lambda value, array: array.split(value),
    "bind": lambda value, array: array.bind(value),
    "filled": lambda value, array: cuarray.to_device(np.ma.MaskedArray([1, 2], [0, 1])).filled(value),
    "record_stream": lambda value, array: array.record_stream(value),
    "__dlpack__, stream": lambda value, array: array.__dlpack__(stream=value),
    "__dlpack__, dl_device": lambda value, array: array.__dlpack__(dl_device=value),
    "__dlpack__, max_version": lambda value, array: array.__dlpack__(max_version=value),
    "config": lambda value, array: setattr(cuarray.config, "protocol", value),
    "config, version": lambda value, array: setattr(cuarray.config, "export_version", value),
    **{
        f"entry {key}": lambda value, array, key=key: cuarray.interface({**describe(), key: value})
        for key in ("shape", "typestr", "data", "version", "strides", "stream", "mask")
    },
    "entry descr": lambda value, array: cuarray.interface({**describe(), "typestr": "|V8", "descr": value}),
    "entry shape, an element": lambda value, array: cuarray.interface({**describe(), "shape": (value,)}),
    "entry data, the pointer": lambda value, array: cuarray.interface({**describe(), "data": (value, False)}),
    "entry data, the flag": lambda value, array: cuarray.interface({**describe(), "data": (4096, value)}),
}


@pytest.mark.parametrize("name", UNPRINTABLE)
def test_object_without_a_repr_does_not_replace_an_error_message(
    simulator: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    reports: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: reports.append(report.exc_value))
    array = cuarray.to_device(np.zeros(4, "i4"))
    with pytest.raises((TypeError, ValueError, IndexError, BufferError)) as raised:
        UNPRINTABLE[name](Unprintable(), array)
    assert "no repr" not in str(raised.value)
    assert reports == []
