"""Extension modules with different versions of cuarray work together in one process with the package.

``another_version`` has a copy of the crate with the version and the table for extensions of a later release (``another_version.py``
builds it). It shares nothing: it has its own array class, its own pool of events and its own error classes. Arrays are exchanged
through the interface as between any two libraries, without copies and ordered.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

import another_version
import driver_probe
import numpy as np
import pytest
import typed_views
import typed_views_too
from driver_probe import ForeignStream, held, run_python

import cuarray

pytestmark = pytest.mark.usefixtures("driver")

MODULES = [typed_views, typed_views_too, another_version]
ALL = pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)


def make(module: ModuleType, stream: ForeignStream) -> Any:
    """Return a new array of the module, with eight bytes of 1."""
    return module.make(8, 1, stream)


def test_each_version_has_its_own_array_class(home: ForeignStream) -> None:
    first, second, other = (make(module, home) for module in MODULES)
    assert type(first) is type(second) is cuarray.DeviceArray
    assert type(other).__name__ == "DeviceArray"
    assert type(other) is not cuarray.DeviceArray
    assert not isinstance(other, cuarray.DeviceArray)
    assert (other.shape, other.typestr, other.stream.handle) == ((8,), "|u1", home.handle)
    assert other.copy_to_host().tolist() == [1] * 8


@ALL
@pytest.mark.parametrize("read", [cuarray.as_cuda_array, cuarray.from_dlpack])
def test_package_imports_arrays_of_each_version_in_place(
    module: ModuleType, read: Callable[[Any], cuarray.DeviceArray], home: ForeignStream
) -> None:
    array = make(module, home)
    module.fill(array, 5, home)
    view = read(array)
    assert type(view) is cuarray.DeviceArray
    assert view.ptr == array.ptr, "the import must not copy"
    assert view.copy_to_host().tolist() == [5] * 8


@ALL
@pytest.mark.parametrize("protocol", ["c", "dict", "dlpack"])
def test_package_imports_each_version_by_each_protocol(module: ModuleType, protocol: str, home: ForeignStream) -> None:
    array = make(module, home)
    assert cuarray.as_cuda_array(array, protocol=protocol).ptr == array.ptr


@ALL
@pytest.mark.parametrize("maker", [cuarray, *MODULES], ids=lambda module: module.__name__)
def test_each_module_writes_to_arrays_of_each_version(
    maker: ModuleType, module: ModuleType, home: ForeignStream
) -> None:
    array = make(maker, home) if maker is not cuarray else cuarray.to_device(np.ones(8, np.uint8), stream=home)
    module.fill(array, 7, home)
    assert array.copy_to_host().tolist() == [7] * 8


@ALL
@pytest.mark.parametrize("maker", MODULES, ids=lambda module: module.__name__)
def test_work_of_different_versions_is_ordered(
    maker: ModuleType, module: ModuleType, home: ForeignStream, elsewhere: ForeignStream
) -> None:
    array = make(maker, home)
    with held(home.handle) as hold:
        maker.fill(array, 2, home)
        module.fill(array, 3, elsewhere)
        with cuarray.borrow(array, elsewhere):
            pass
        assert hold.is_held, "the host must not wait"
        assert not driver_probe.is_done(elsewhere.handle), "the consumer's stream must wait"
        hold.release()
    with held(elsewhere.handle) as hold:
        module.fill(array, 4, elsewhere)
        maker.fill(array, 5, home)
        assert hold.is_held
        assert not driver_probe.is_done(home.handle), "the home stream must wait for the consumer's work"
        hold.release()
    assert array.copy_to_host().tolist() == [5] * 8


@ALL
def test_view_across_versions_keeps_the_memory(module: ModuleType, home: ForeignStream, simulator: str) -> None:
    from cuarray_sim import statistics

    def alive() -> int:
        return sum(each["address"] == address for each in statistics()["allocations"])

    array = make(module, home)
    address = array.ptr
    view = cuarray.as_cuda_array(array)[2:]
    del array
    gc.collect()
    another_version.fill(view, 9, home)
    assert alive()
    assert view.copy_to_host().tolist() == [9] * 6
    driver_probe.synchronize(home.handle)
    del view
    gc.collect()
    cuarray.reclaim()
    assert not alive(), "the memory must be freed with the last view"


def test_versions_do_not_share_a_pool_of_events(
    driver_calls: Callable[[], AbstractContextManager[Counter[str]]], home: ForeignStream, elsewhere: ForeignStream
) -> None:
    array = make(typed_views, home)
    for module in MODULES:
        module.fill(array, 1, elsewhere)  # puts an event into each pool
    idle = cuarray._core.idle_events()
    with driver_calls() as calls:
        for module in [*MODULES, *MODULES]:
            module.fill(array, 1, elsewhere)
            assert cuarray._core.idle_events() == idle
    assert calls["cuEventRecord"] == 12, "each fill makes two edges"
    assert "cuEventCreate" not in calls


PROGRAM = """
import ctypes, importlib, sys
import cuarray_sim
cuarray_sim.install()
names = {order}
for name in names:
    if name == "no cuarray":
        sys.modules["cuarray"] = None
    else:
        importlib.import_module(name)
modules = [sys.modules[name] for name in names if "cuarray" not in name]

arrays = [module.make(4, 1, 1) for module in modules]
for array in arrays:
    for module in modules:
        module.fill(array, 8, 2)
        module.fill(array, 9, 1)
    assert array.copy_to_host().tolist() == [9] * 4
print(*[chr(ord("A") + list(dict.fromkeys(map(type, arrays))).index(type(array))) for array in arrays])

errors = []
for module in modules:
    try:
        module.make(2 << 20, 1, 1)
    except RuntimeError as error:
        errors.append(type(error))
        assert error.name == "CUDA_ERROR_OUT_OF_MEMORY", error
print(*[chr(ord("A") + list(dict.fromkeys(errors)).index(error)) for error in errors])

api = ctypes.pythonapi
api.PyInterpreterState_Get.restype = ctypes.c_void_p
api.PyInterpreterState_GetDict.restype = ctypes.py_object
api.PyInterpreterState_GetDict.argtypes = [ctypes.c_void_p]
shared = api.PyInterpreterState_GetDict(api.PyInterpreterState_Get())
print(*sorted(key for key in shared if key.startswith("cuarray.rust_api")))
if sys.modules["cuarray"] is not None:
    cuarray = sys.modules["cuarray"]
    assert sum(type(array) is cuarray.DeviceArray for array in arrays) == 2
    assert sum(issubclass(error, cuarray.CudaError) for error in errors) == 2
"""


@pytest.mark.parametrize("package", ["cuarray", "no cuarray"])
@pytest.mark.parametrize(
    ("order", "classes"),
    [
        (["another_version", "typed_views", "typed_views_too"], "A B B"),
        (["typed_views", "another_version", "typed_views_too"], "A B A"),
        (["typed_views_too", "typed_views", "another_version"], "A A B"),
    ],
)
def test_modules_can_be_imported_in_any_order(simulator: str, package: str, order: list[str], classes: str) -> None:
    variables = {"CUARRAY_SIM_MEMORY": str(1 << 20), "CUARRAY_SIM_EXIT_STATUS": "66"}
    printed = run_python(PROGRAM.format(order=[package, *order]), **variables)
    assert printed.splitlines() == [classes, classes, "cuarray.rust_api.v1 cuarray.rust_api.v2"]


def test_package_can_be_imported_last(simulator: str) -> None:
    # The first array that an extension returns also imports the package.
    order = ["another_version", "typed_views", "typed_views_too", "cuarray"]
    printed = run_python(PROGRAM.format(order=order), CUARRAY_SIM_MEMORY=str(1 << 20), CUARRAY_SIM_EXIT_STATUS="66")
    assert printed.splitlines()[0] == "A B B"
