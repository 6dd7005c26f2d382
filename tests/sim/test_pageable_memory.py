"""Kernels use memory that the program allocates itself, if `CUARRAY_SIM_PAGEABLE_MEMORY=1` says that devices access it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Found = Callable[..., "list[dict[str, Any]]"]

# A kernel that stores the index of each thread, in PTX.
STORE = r"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry store(.param .u64 target)
{
    .reg .b32 %r<5>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [target];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %rd2, %r4, 4; add.u64 %rd3, %rd1, %rd2; st.u32 [%rd3], %r4;
    ret;
}
"""

# The script's own first line is line 2.
PROLOGUE = (
    "import ctypes, numpy; cuda = ctypes.CDLL('libcuda.so.1'); context, stream, module, function = [ctypes.c_void_p() for _ in range(4)]; "
    "cuda.cuInit(0); cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0); cuda.cuCtxPushCurrent_v2(context); "
    f"cuda.cuStreamCreate(ctypes.byref(stream), 1); cuda.cuModuleLoadData(ctypes.byref(module), {STORE.encode()!r}); "
    "cuda.cuModuleGetFunction(ctypes.byref(function), module, b'store'); "
    "value = ctypes.c_uint64(); place = (ctypes.c_void_p * 1)(ctypes.addressof(value)); "
    "launch = lambda address, blocks: setattr(value, 'value', address) or "
    "cuda.cuLaunchKernel(function, blocks, 1, 1, 256, 1, 1, 0, stream, place, None); "
    "wait = lambda: cuda.cuStreamSynchronize(stream)\n"
)


@pytest.fixture
def found(run: Callable, tmp_path: Path) -> Found:
    """Run a script with pageable memory, and return its findings."""

    def found(script: str, **variables: str) -> list[dict[str, Any]]:
        (tmp_path / "user.py").write_text(PROLOGUE + textwrap.dedent(script))
        (tmp_path / "report.json").unlink(missing_ok=True)
        options = ["--pageable-memory", "--report", "report.json"]
        done = run("-m", "cuarray_sim", *options, "user.py", CUARRAY_SIM_QUIET="1", **variables)
        findings = json.loads((tmp_path / "report.json").read_text())["findings"]
        assert done.returncode == (66 if findings else 0), done.stderr
        return findings  # type: ignore[no-any-return]

    return found


def places(finding: dict[str, Any]) -> list[tuple[str, int]]:
    return [(side["call"], side["site"]["user"]["line"]) for side in finding["sides"]]


ARRAY = """
array = numpy.zeros(1 << 18, dtype=numpy.int32)
assert launch(array.ctypes.data, 1 << 10) == 0
MIDDLE
assert wait() == 0
assert array[70000] == 70000
"""


@pytest.mark.parametrize("schedule", ["lazy", "eager", "random:3"])
def test_kernel_writes_an_array_of_numpy(found: Found, schedule: str) -> None:
    assert found(ARRAY.replace("MIDDLE", ""), CUARRAY_SIM_SCHEDULE=schedule) == []


@pytest.mark.parametrize("schedule", ["lazy", "eager", "random:3"])
@pytest.mark.parametrize("access", ["array[100000]", "array[100000] = 5"])
def test_host_access_beside_a_pending_kernel_is_a_race_at_its_line(found: Found, access: str, schedule: str) -> None:
    script = ARRAY.replace("MIDDLE", access).replace("assert array[70000] == 70000", "")
    findings = found(script, CUARRAY_SIM_SCHEDULE=schedule)
    assert [finding["kind"] for finding in findings] == ["data-race"]
    call = "host write" if "=" in access else "host read"
    assert [name for name, _ in places(findings[0])] == ["cuLaunchKernel", call]
    assert places(findings[0])[1] == (call, 5)


def test_array_that_is_freed_before_the_kernel_runs_is_an_illegal_address(found: Found) -> None:
    findings = found("""
        array = numpy.zeros(1 << 24, dtype=numpy.int32)
        launch(array.ctypes.data, 1)
        del array
        assert wait() == 700
    """)
    assert [finding["kind"] for finding in findings] == ["out-of-bounds"]


def test_setting_is_off_by_default(run: Callable, tmp_path: Path) -> None:
    script = textwrap.dedent("""
        array = numpy.zeros(1 << 18, dtype=numpy.int32)
        accesses = ctypes.c_int(7)
        assert cuda.cuDeviceGetAttribute(ctypes.byref(accesses), 88, 0) == 0
        assert launch(array.ctypes.data, 1) == 0
        print(accesses.value, wait())
    """)
    (tmp_path / "user.py").write_text(PROLOGUE + script)
    start = ["-m", "cuarray_sim"]
    assert run(*start, "user.py", CUARRAY_SIM_QUIET="1").stdout.split() == ["0", "700"]
    assert run(*start, "--pageable-memory", "user.py", CUARRAY_SIM_QUIET="1").stdout.split() == ["1", "0"]


# An array of numba over memory of NumPy.
NUMBA = """
from numba import cuda as nb
from numba.cuda.cudadrv.driver import MemoryPointer
array = numpy.zeros(1 << 18, dtype=numpy.int32)
pointer = MemoryPointer(nb.current_context(), ctypes.c_void_p(array.ctypes.data), array.nbytes, owner=array)
device = nb.cudadrv.devicearray.DeviceNDArray(array.shape, array.strides, array.dtype, gpu_data=pointer)
@nb.jit
def double(x):
    i = nb.grid(1)
    if i < x.size:
        x[i] = 2 * i
double[1024, 256](device)
MIDDLE
nb.synchronize()
assert array[1000] == 2000 and device.copy_to_host()[7] == 14
"""


def test_numba_kernel_uses_memory_of_numpy(found: Found) -> None:
    pytest.importorskip("numba.cuda")
    assert found(NUMBA.replace("MIDDLE", "")) == []
    findings = found(NUMBA.replace("MIDDLE", "array[5000] = 1").replace("array[1000] == 2000 and ", ""))
    assert [finding["kind"] for finding in findings] == ["data-race"]
    assert places(findings[0])[1][1] == 14


def test_cuarray_views_memory_of_numpy(found: Found) -> None:
    assert (
        found("""
        import cuarray
        array = numpy.arange(1000, dtype=numpy.int32)
        class Exported:
            __cuda_array_interface__ = {**array.__array_interface__, "version": 3, "stream": None}
        view = cuarray.as_cuda_array(Exported())
        assert (view[::-1].copy_to_host() == array[::-1]).all()
        view[:10] = 7
        assert view.copy_to_host()[9] == 7 and array[10] == 10
    """)
        == []
    )
