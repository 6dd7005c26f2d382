"""Host reads and writes of memory with pending device work are found with their line, without disturbing the program."""

from __future__ import annotations

import json
import signal
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Found = Callable[..., "list[dict[str, Any]]"]

# One line, so that it shifts the scripts' line numbers by one only.
PROLOGUE = (
    "import ctypes, numpy; cuda = ctypes.CDLL('libcuda.so.1'); size = ctypes.c_size_t(40000); "
    "context, stream, host, device = [ctypes.c_void_p() for _ in range(4)]; "
    "cuda.cuInit(0); cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0); cuda.cuCtxPushCurrent_v2(context); "
    "cuda.cuStreamCreate(ctypes.byref(stream), 1); cuda.cuMemAllocHost_v2(ctypes.byref(host), size); "
    "cuda.cuMemAlloc_v2(ctypes.byref(device), size); cuda.cuMemsetD8_v2(device, 7, size); cuda.cuCtxSynchronize(); "
    "array = numpy.frombuffer((ctypes.c_ubyte * 40000).from_address(host.value), dtype=numpy.uint8); "
    "download = lambda: cuda.cuMemcpyDtoHAsync_v2(host, device, size, stream); "
    "upload = lambda: cuda.cuMemcpyHtoDAsync_v2(device, host, size, stream); "
    "wait = lambda: cuda.cuStreamSynchronize(stream)\n"
)


@pytest.fixture
def found(run: Callable, tmp_path: Path) -> Found:
    """Run a script and return its findings."""

    def found(
        script: str, *options: str, prologue: str = PROLOGUE, status: int = 0, **variables: str
    ) -> list[dict[str, Any]]:
        (tmp_path / "user.py").write_text(prologue + textwrap.dedent(script))
        report = tmp_path / "report.json"
        code = (
            "import cuarray_sim, runpy, sys; cuarray_sim.install(); "
            "sys.argv = ['user.py']; runpy.run_path('user.py', run_name='__main__')"
        )
        done = run(
            *options,
            "-c",
            code,
            CUARRAY_SIM_REPORT=str(report),
            CUARRAY_SIM_LEAKS="0",
            **{"CUARRAY_SIM_QUIET": "1"} | variables,
        )
        assert done.returncode == status, done.stderr
        found.errors = done.stderr  # type: ignore[attr-defined]
        if not report.exists():
            return []
        return json.loads(report.read_text())["findings"]  # type: ignore[no-any-return]

    return found


def sides(finding: dict[str, Any]) -> list[tuple[str, int]]:
    return [(side["call"], side["site"]["user"]["line"]) for side in finding["sides"]]


def test_host_read_of_pending_download_is_a_race(found: Found) -> None:
    (finding,) = found("""\
        def early():
            download()
            return array.sum()
        early()
        wait()
        assert array.sum() == 7 * 40000
    """)
    assert finding["kind"] == "data-race"
    # The driver call is in the lambda `download`, on line 1.
    assert sides(finding) == [("cuMemcpyDtoHAsync_v2", 1), ("host read", 4)]
    site = finding["sides"][1]["site"]
    assert site["user"]["function"] == "early"
    assert site["user"]["file"].endswith("user.py")
    assert site["library"] == "numpy"
    assert "synchronize" in finding["missing"]


def test_host_write_to_source_of_pending_upload_is_a_race(found: Found) -> None:
    (finding,) = found("""\
        upload()
        assert array[5] == 0
        array[5] = 1
        wait()
    """)
    assert sides(finding) == [("cuMemcpyHtoDAsync_v2", 1), ("host write", 4)]


def test_host_accesses_after_synchronization_have_no_findings(found: Found) -> None:
    assert (
        found("""\
        for _ in range(3):
            download()
            wait()
            array += 1
            upload()
            array.copy()
            cuda.cuCtxSynchronize()
            array[:] = 3
    """)
        == []
    )


def test_each_racing_line_is_a_separate_finding(found: Found) -> None:
    findings = found("""\
        for _ in range(3):
            download()
            array[0]
            download()
            memoryview(array)[9]
            download()
            bytes(array)
            ctypes.string_at(host, 3)
    """)
    lines = sorted(sides(finding)[1] for finding in findings)
    assert lines == [("host read", 4), ("host read", 6), ("host read", 8)], (
        "only the first access after each call is seen"
    )
    assert [finding["count"] for finding in findings] == [3, 3, 3]


def test_host_read_of_managed_memory_with_pending_fill_is_a_race(found: Found) -> None:
    (finding,) = found("""\
        cuda.cuMemAllocManaged(ctypes.byref(host), size, 1)
        shared = numpy.frombuffer((ctypes.c_ubyte * 40000).from_address(host.value), dtype=numpy.uint8)
        cuda.cuMemsetD8Async(host, 9, size, stream)
        shared[100]
        wait()
        assert shared[100] == 9
    """)
    assert sides(finding) == [("cuMemsetD8Async", 4), ("host read", 5)]


def test_host_write_to_registered_memory_with_pending_upload_is_a_race(found: Found) -> None:
    (finding,) = found("""\
        registered = numpy.zeros(1 << 20, dtype=numpy.uint8)
        size = ctypes.c_size_t(1 << 20)
        cuda.cuMemAlloc_v2(ctypes.byref(device), size)
        assert cuda.cuMemHostRegister_v2(ctypes.c_void_p(registered.ctypes.data), size, 0) == 0
        cuda.cuMemcpyHtoDAsync_v2(device, ctypes.c_void_p(registered.ctypes.data), size, stream)
        registered[1 << 19] = 1
        wait()
        registered[1 << 19] = 2
        assert cuda.cuMemHostUnregister(ctypes.c_void_p(registered.ctypes.data)) == 0
    """)
    assert sides(finding) == [("cuMemcpyHtoDAsync_v2", 6), ("host write", 7)]


def test_host_write_to_numba_pinned_array_with_pending_upload_is_a_race(found: Found) -> None:
    pytest.importorskip("numba.cuda")
    script = """\
        import numpy
        from numba import cuda
        stream = cuda.stream()
        pinned = cuda.pinned_array(100_000)
        pinned[:] = 1
        array = cuda.to_device(pinned, stream=stream)
        {wait}
        pinned[:] = 2
        stream.synchronize()
    """
    (finding,) = found(script.format(wait="pass"), prologue="\n")
    assert sides(finding) == [("cuMemcpyHtoDAsync_v2", 7), ("host write", 9)]
    assert [side["site"]["library"] for side in finding["sides"]] == ["numba.cuda", "numpy"]
    assert found(script.format(wait="stream.synchronize()"), prologue="\n") == []


SLOTS = """\
    slots = ctypes.c_void_p()
    assert cuda.cuMemAllocHost_v2(ctypes.byref(slots), ctypes.c_size_t(64)) == 0
    array = numpy.frombuffer((ctypes.c_ubyte * 64).from_address(slots.value), dtype=numpy.int32)
    slot = lambda index: ctypes.c_void_p(slots.value + 4 * index)
"""


def test_host_read_of_the_slot_of_a_pending_download_is_a_race(found: Found) -> None:
    script = (
        SLOTS
        + """\
    cuda.cuMemcpyDtoHAsync_v2(slot(2), device, ctypes.c_size_t(4), stream)
    {wait}
    array[{read}].item()
    wait()
    """
    )
    (finding,) = found(script.format(wait="pass", read=2))
    assert sides(finding) == [("cuMemcpyDtoHAsync_v2", 6), ("host read", 8)]
    assert found(script.format(wait="pass", read=3)) == []
    assert found(script.format(wait="wait()", read=2)) == []


def test_host_write_to_the_slot_of_a_pending_upload_is_a_race(found: Found) -> None:
    script = (
        SLOTS
        + """\
    cuda.cuMemcpyHtoDAsync_v2(device, slot(2), ctypes.c_size_t(4), stream)
    array[{write}] = 5
    wait()
    """
    )
    (finding,) = found(script.format(write=2))
    assert sides(finding) == [("cuMemcpyHtoDAsync_v2", 6), ("host write", 7)]
    assert found(script.format(write=3)) == []


def test_host_read_in_another_thread_is_a_race(found: Found) -> None:
    (finding,) = found("""\
        import threading
        download()
        def look():
            array[7]
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        wait()
    """)
    assert sides(finding)[1] == ("host read", 5)


def test_read_in_host_function_after_download_has_no_findings(found: Found) -> None:
    assert (
        found("""\
        seen = []
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: seen.append(array[7]))
        download()
        cuda.cuLaunchHostFunc(stream, function, None)
        wait()
        assert seen == [7]
    """)
        == []
    )


@pytest.mark.parametrize("when", ["before", "after", "again"])
def test_faulthandler_prints_nothing_for_a_racing_read(found: Found, when: str) -> None:
    (finding,) = found(
        f"""\
        import faulthandler
        if "{when}" == "after":
            download(); wait()  # protecting pages has installed the driver's signal handler
            faulthandler.enable()
        elif "{when}" == "again":
            faulthandler.disable(); faulthandler.enable()
        download()
        array[7]
        wait()
        """,
        *(["-X", "faulthandler"] if when != "after" else []),
    )
    assert finding["kind"] == "data-race"
    assert found.errors == ""  # type: ignore[attr-defined]


def test_race_is_found_with_faulthandler_enabled_while_pages_are_protected(found: Found) -> None:
    # faulthandler prints a crash report for the protected page; the program continues.
    (finding,) = found("""\
        import faulthandler
        download()
        faulthandler.enable()
        array[7]
        wait()
    """)
    assert finding["kind"] == "data-race"


@pytest.mark.parametrize("when", ["before", "after", "never"])
@pytest.mark.parametrize("protected", [True, False], ids=["pages-protected", "pages-open"])
def test_real_crash_still_kills_the_process(found: Found, when: str, protected: bool) -> None:
    found(
        f"""\
        import faulthandler
        if "{when}" == "before": faulthandler.enable()
        download()
        if "{when}" == "after": faulthandler.enable()
        if not {protected}: wait()
        ctypes.string_at(8)
        """,
        status=-signal.SIGSEGV,
    )
    errors = found.errors  # type: ignore[attr-defined]
    assert ("user.py" in errors and "Segmentation fault" in errors) == (when != "never")


def test_system_call_on_protected_memory_fails_with_efault_until_synchronized(found: Found) -> None:
    assert (
        found("""\
        import os
        reading, writing = os.pipe()
        os.write(writing, b"abc")
        download()
        try: os.readv(reading, [array])
        except OSError as error: assert error.errno == 14
        else: raise AssertionError
        wait()
        assert os.readv(reading, [array]) == 3
    """)
        == []
    )


def test_no_finding_with_host_accesses_setting_off(found: Found) -> None:
    assert found("download(); array[7]; wait()", CUARRAY_SIM_HOST_ACCESSES="0") == []


MAPPED = """\
    import warnings
    warnings.simplefilter("ignore")
    import numpy
    from numba import cuda

    @cuda.jit
    def copy(source, target):
        target[cuda.grid(1)] = source[cuda.grid(1)]

    def change():
        HOW

    stream = cuda.stream()
    mapped = cuda.mapped_array(64, numpy.float64)
    mapped[:] = 1
    target = cuda.device_array(64)
    copy[1, 64, stream](mapped, target)
    WAIT
    change()
    stream.synchronize()
"""


@pytest.mark.parametrize("how", ["mapped[3] += 1", "mapped.__iadd__(1)", "mapped[:] = 2", "mapped[9] = mapped[5] + 1"])
def test_host_update_of_mapped_memory_that_a_pending_kernel_reads_is_a_race(found: Found, how: str) -> None:
    pytest.importorskip("numba.cuda")
    script = MAPPED.replace("HOW", how)
    (finding,) = found(script.replace("WAIT", "pass"), prologue="\n")
    assert finding["kind"] == "data-race"
    (launch, launch_line), write = sides(finding)
    assert (launch.partition("Ex")[0], launch_line, write) == ("cuLaunchKernel", 18, ("host write", 12))
    assert found(script.replace("WAIT", "stream.synchronize()"), prologue="\n") == []


def test_host_read_of_mapped_memory_that_a_pending_kernel_reads_has_no_findings(found: Found) -> None:
    pytest.importorskip("numba.cuda")
    assert found(MAPPED.replace("HOW", "mapped.sum()").replace("WAIT", "pass"), prologue="\n") == []


def test_host_access_to_device_memory_explains_the_crash(found: Found) -> None:
    script = "ctypes.string_at(device.value, 4)\n"
    found(script, status=-signal.SIGSEGV, CUARRAY_SIM_QUIET="0")
    assert "the host accessed device memory at its device address" in found.errors
    assert "--host-readable" in found.errors
    found(script, CUARRAY_SIM_QUIET="0", CUARRAY_SIM_HOST_READABLE="1")
    unchecked = "accesses of the host to device memory were not compared with device work (CUARRAY_SIM_HOST_READABLE=1)"
    assert found.errors.splitlines() == [f"cuarray-sim: {unchecked}"]
    found("ctypes.string_at(8, 4)", status=-signal.SIGSEGV, CUARRAY_SIM_QUIET="0")
    assert "device memory" not in found.errors


@pytest.mark.parametrize(
    "function", ["cuMemAlloc_v2(ctypes.byref(new), size)", "cuMemAllocAsync(ctypes.byref(new), size, stream)"]
)
def test_host_readable_device_memory_that_the_host_wrote_is_not_unwritten(found: Found, function: str) -> None:
    script = f"""\
        new = ctypes.c_void_p()
        assert cuda.{function} == 0
        wait()
        HOST
        assert cuda.cuMemcpyDtoH_v2(host, new, size) == 0
        cuda.cuMemFree_v2(new)
    """
    assert found(script.replace("HOST", "ctypes.memset(new, 5, 40000)"), CUARRAY_SIM_HOST_READABLE="1") == []
    (finding,) = found(script.replace("HOST", "pass"))
    assert finding["kind"] == "uninitialized-read"
