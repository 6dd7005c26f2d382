"""``cuarray_sim.install()`` loads the simulated driver, refuses a second driver, and gives access to statistics."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cuarray_sim
from cuarray_sim.stand_ins import STAND_INS, is_wanted

Passes = Callable[..., str]


def test_importing_the_package_loads_no_driver(passes: Passes) -> None:
    passes("""
import os, cuarray_sim, cuarray_sim.launcher, cuarray_sim.pytest_plugin
assert not cuarray_sim.is_installed()
assert "libcuda" not in open("/proc/self/maps").read()
assert "CUARRAY_DRIVER" not in os.environ
""")


def test_install_makes_libcuda_resolve_to_the_simulated_driver(passes: Passes) -> None:
    passes("""
import ctypes, cuarray_sim
path = cuarray_sim.install()
assert path == cuarray_sim.library_path() and cuarray_sim.is_installed()
# By the name that CUDA libraries load, without a search path at process start.
driver = ctypes.CDLL("libcuda.so.1")
assert driver._handle == ctypes.CDLL(str(path))._handle
# Through the global scope, as a library linked with libcuda does.
assert ctypes.CDLL(None).cuInit(0) == 0
""")


def test_installing_again_changes_nothing(passes: Passes) -> None:
    passes("""
import os, cuarray_sim
first = cuarray_sim.install(devices=2)
before = dict(os.environ)
assert cuarray_sim.install() == cuarray_sim.install(devices=2) == first
assert dict(os.environ) == before
""")


@pytest.mark.parametrize(("findings", "hooks"), [("1", ["cuarray-sim"]), ("0", [])])
def test_allocator_of_cupy_is_watched_only_with_the_search_for_findings(
    passes: Passes, findings: str, hooks: list[str]
) -> None:
    passes(f"""
import os, sys, types, cuarray_sim
entered = []
class MemoryHook:
    def __enter__(self):
        entered.append(self.name)
sys.modules["cupy.cuda.memory_hook"] = types.SimpleNamespace(MemoryHook=MemoryHook)
os.environ["CUARRAY_SIM_FINDINGS"] = "{findings}"
cuarray_sim.install()
assert entered == {hooks}
""")


def test_install_options_configure_the_driver(passes: Passes, tmp_path: Path) -> None:
    out = passes("""
import ctypes, os, cuarray_sim
cuarray_sim.install(devices=5, host_readable=True, trace="calls.txt", schedule="eager")
os.chdir("/")  # the trace path is relative to the folder at the time of install()
driver, count, pointer, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_uint64(), ctypes.c_void_p()
assert driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and driver.cuCtxPushCurrent_v2(context) == 0
assert driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(64)) == 0
# With the default settings, the host access below would crash, and the fill would still be pending.
assert driver.cuMemsetD8Async(pointer, ctypes.c_ubyte(7), ctypes.c_size_t(64), None) == 0
print(count.value, ctypes.string_at(pointer.value, 64) == bytes([7]) * 64)
""")
    assert out.split() == ["5", "True"]
    assert "cuMemAlloc_v2" in (tmp_path / "calls.txt").read_text()


def test_host_read_of_device_memory_crashes_by_default(run: Callable) -> None:
    done = run(
        "-c",
        """
import ctypes, cuarray_sim
cuarray_sim.install()
driver, pointer, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_uint64(), ctypes.c_void_p()
assert driver.cuInit(0) == 0
assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and driver.cuCtxPushCurrent_v2(context) == 0
assert driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(64)) == 0
print("allocated", flush=True)
ctypes.string_at(pointer.value, 64)
print("read")
""",
    )
    assert done.stdout.split() == ["allocated"]
    assert done.returncode == -11


def test_install_again_with_other_options_is_refused(passes: Passes) -> None:
    message = passes("""
import cuarray_sim
cuarray_sim.install(devices=2)
try:
    cuarray_sim.install(devices=3)
except RuntimeError as error:
    print(error)
""")
    assert "CUARRAY_SIM_DEVICES=2" in message
    assert "3" in message


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"devices": 0}, "devices is 0"),
        ({"devices": 9}, "devices is 9"),
        ({"devices": True}, "devices is True"),
        ({"devices": "2"}, "devices is '2'"),
        ({"schedule": "late"}, "schedule is 'late'"),
    ],
)
def test_invalid_option_is_value_error_that_names_it(options: dict[str, object], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        cuarray_sim.install(**options)


@pytest.mark.parametrize("name", ["libcuda.so.1", "some_driver.so"])
def test_install_with_another_driver_loaded_is_refused(passes: Passes, another_driver: Path, name: str) -> None:
    # The other driver is recognized by its file name, or by its SONAME alone.
    other = another_driver.rename(another_driver.with_name(name))
    message = passes(
        """
import ctypes, os, sys, cuarray_sim
ctypes.CDLL(sys.argv[1])
before = dict(os.environ)
assert not cuarray_sim.is_installed()
try:
    cuarray_sim.install(devices=2)
except RuntimeError as error:
    print(error)
assert dict(os.environ) == before, "a refused call must leave nothing behind"
""",
        str(other),
    )
    assert str(other) in message
    assert "before" in message


def test_install_with_another_driver_in_environment_is_refused(passes: Passes, another_driver: Path) -> None:
    message = passes(
        """
import cuarray_sim
try:
    cuarray_sim.install()
except RuntimeError as error:
    print(error)
assert not cuarray_sim.is_installed()
""",
        CUARRAY_DRIVER=str(another_driver),
    )
    assert "CUARRAY_DRIVER" in message
    assert str(another_driver) in message


def test_simulated_driver_loaded_by_search_path_counts_as_installed(passes: Passes) -> None:
    passes(
        """
import ctypes, cuarray_sim
ctypes.CDLL("libcuda.so.1")
assert cuarray_sim.is_installed()
cuarray_sim.install()
assert ctypes.CDLL(None).cuInit(0) == 0
""",
        LD_LIBRARY_PATH=str(cuarray_sim.library_path().parent),
    )


def test_child_processes_inherit_driver_and_options(passes: Passes) -> None:
    out = passes(
        """
import os, subprocess, sys, cuarray_sim
cuarray_sim.install(devices=4)
child = '''
import ctypes, os
driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
assert driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
print(count.value, os.environ["CUARRAY_DRIVER"])
'''
subprocess.run([sys.executable, "-c", child], check=True)
print(os.environ["LD_LIBRARY_PATH"])
""",
        LD_LIBRARY_PATH="/opt/some/lib",
    )
    path = cuarray_sim.library_path()
    count, driver, search_path = out.split()
    assert (count, driver) == ("4", str(path))
    # Those stand-ins that are in front depend on the installed libraries.
    first, *folders, last = search_path.split(":")
    assert (first, last) == (str(path.parent), "/opt/some/lib")
    assert set(folders) <= {str(stand_in.path) for stand_in in STAND_INS if stand_in.symbol and is_wanted(stand_in)}
    # A build of the driver alone has no CUDA runtime.
    runtime = path.parent / "runtime"
    assert (str(runtime) in folders) == runtime.is_dir()


def test_statistics_without_installed_driver_is_runtime_error(passes: Passes) -> None:
    message = passes("""
import cuarray_sim
try:
    cuarray_sim.statistics()
except RuntimeError as error:
    print(error)
""")
    assert "cuarray_sim.install()" in message


def test_statistics_count_live_objects_calls_and_refused_symbols(passes: Passes) -> None:
    passes("""
import ctypes, cuarray_sim
from ctypes import byref, c_size_t, c_uint, c_uint64, c_ubyte, c_void_p
cuarray_sim.install()
driver = ctypes.CDLL("libcuda.so.1")
def call(name, *arguments):
    code = getattr(driver, name)(*arguments)
    assert code == 0, (name, code)
context, pointer, stream, event = c_void_p(), c_uint64(), c_void_p(), c_void_p()
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", byref(context), 0)
call("cuCtxPushCurrent_v2", context)
before = cuarray_sim.statistics()
assert before["allocations"] == [] and before["streams"] == before["events"] == before["pending_operations"] == 0
call("cuMemAlloc_v2", byref(pointer), c_size_t(1000))
call("cuStreamCreate", byref(stream), c_uint(1))
call("cuEventCreate", byref(event), c_uint(0))
call("cuMemsetD8Async", pointer, c_ubyte(1), c_size_t(1000), stream)
during = cuarray_sim.statistics()
(allocation,) = during["allocations"]
assert (allocation["address"], allocation["size"], allocation["kind"]) == (pointer.value, 1000, "device")
assert (during["streams"], during["events"], during["pending_operations"]) == (1, 1, 1)
call("cuStreamSynchronize", stream)
assert cuarray_sim.statistics()["pending_operations"] == 0
module, function = c_void_p(), c_void_p()
call("cuModuleLoadData", byref(module), b".version 8.0 .target sm_70 .address_size 64 .visible .entry empty() { ret; }")
call("cuModuleGetFunction", byref(function), module, b"empty")
for _ in range(2):
    call("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, stream, None, None)
call("cuStreamSynchronize", stream)
(kernel,) = cuarray_sim.statistics()["kernels"]
assert 0 < kernel.pop("seconds") < 10
assert kernel == {"name": "empty", "launches": 2, "instructions": 2 * 32}
call("cuModuleUnload", module)
call("cuMemFree_v2", pointer)
call("cuStreamDestroy_v2", stream)
call("cuEventDestroy_v2", event)
after = cuarray_sim.statistics()
assert after["allocations"] == [] and after["streams"] == after["events"] == 0
assert after["calls"]["cuMemAlloc_v2"] == 1 and after["calls"]["cuStreamSynchronize"] == 2
# A symbol that no driver has is refused, and counted.
function = c_void_p()
assert driver.cuGetProcAddress(b"cuNoSuchThing", byref(function), 13000, c_uint64(0)) != 0 and not function
assert cuarray_sim.statistics()["refused"]["cuNoSuchThing"] == 1
""")


def test_install_after_numba_has_found_no_driver_warns(run: Callable[..., Any]) -> None:
    pytest.importorskip("numba.cuda")
    code = "ORDER; import warnings; import cuarray_sim; warnings.simplefilter('error'); cuarray_sim.install()"
    late = run("-c", code.replace("ORDER", "from numba import cuda"))
    assert "RuntimeWarning: numba.cuda was imported before cuarray_sim.install(), found no CUDA driver" in late.stderr
    assert late.returncode == 1
    used = "from numba import cuda\ntry: cuda.stream()\nexcept cuda.CudaSupportError: pass\nimport cuarray_sim; cuarray_sim.install()"
    assert "does not look again" in (stderr := run("-c", used).stderr)
    assert "NUMBA_ENABLE_CUDASIM" not in stderr
    early = run("-c", code.replace("ORDER", "pass") + "; from numba import cuda; assert cuda.is_available()")
    assert "numba.cuda was imported" not in early.stderr
    simulated = run("-c", code.replace("ORDER", "from numba import cuda"), NUMBA_ENABLE_CUDASIM="1")
    assert "numba.cuda was imported with NUMBA_ENABLE_CUDASIM" in simulated.stderr


def test_install_after_numba_has_loaded_another_driver_is_an_error(
    run: Callable[..., Any], another_driver: Path
) -> None:
    """The other driver stands for that of a machine with a GPU."""
    pytest.importorskip("numba.cuda")
    code = "from numba import cuda; assert cuda.is_available(); import cuarray_sim; cuarray_sim.install()"
    done = run("-W", "ignore", "-c", code, LD_LIBRARY_PATH=str(another_driver.parent))
    assert done.returncode == 1
    assert f"another CUDA driver is already loaded in this process: {another_driver}" in done.stderr
