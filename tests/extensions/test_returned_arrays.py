"""Arrays that an extension module returns have the package's class, keep their memory, and order their work."""

from __future__ import annotations

import gc

import driver_probe
import numpy as np
import pytest
import typed_views
from driver_probe import ForeignStream, held, run_python

import cuarray

pytestmark = pytest.mark.usefixtures("driver")


def test_returned_array_has_the_packages_class(home: ForeignStream) -> None:
    array = typed_views.make(4, 5, home)
    assert type(array) is cuarray.DeviceArray
    assert (array.shape, array.typestr, array.stream.handle) == ((4,), "|u1", home.handle)
    assert array.copy_to_host().tolist() == [5] * 4
    interface = array.__cuda_array_interface__
    assert (interface["version"], interface["stream"]) == (3, home.handle)
    assert cuarray.from_dlpack(array).copy_to_host().tolist() == [5] * 4
    assert cuarray.as_cuda_array(array) is array


def test_borrow_of_returned_array_waits_for_pending_values(home: ForeignStream, elsewhere: ForeignStream) -> None:
    with held(home.handle) as hold:
        array = typed_views.make(4, 5, home)
        with cuarray.borrow(array, elsewhere):
            pass
        assert hold.is_held
        assert not driver_probe.is_done(elsewhere.handle)
        hold.release()
    assert array.copy_to_host().tolist() == [5] * 4


def test_exported_stream_covers_recorded_work(home: ForeignStream, elsewhere: ForeignStream) -> None:
    with held(elsewhere.handle) as hold:
        array = typed_views.pending(4, 6, home, elsewhere)
        exported = array.__cuda_array_interface__["stream"]
        assert hold.is_held
        assert not driver_probe.is_done(exported)
        hold.release()
        driver_probe.synchronize(exported)
    assert array.copy_to_host().tolist() == [6] * 4


@pytest.mark.parametrize("with_home", [True, False])
def test_owner_object_is_dropped_after_the_work_on_its_memory(
    home: ForeignStream, elsewhere: ForeignStream, with_home: bool
) -> None:
    cuarray.reclaim()
    before = typed_views.drops()
    array = typed_views.from_object(4, home, with_home)
    part = array[1:]
    with held(elsewhere.handle) as hold:
        array.record_stream(elsewhere)
        del array
        gc.collect()
        assert typed_views.drops() == before
        del part
        gc.collect()
        assert typed_views.drops() == before, "the object must not be dropped while work on its memory is pending"
        hold.release()
        driver_probe.synchronize(elsewhere.handle)
        driver_probe.synchronize(home.handle)
    cuarray.reclaim()
    assert typed_views.drops() == before + 1


def test_bfloat16_array_is_returned_and_accepted_as_bfloat16(home: ForeignStream) -> None:
    array = typed_views.make_bfloat16(home)
    assert array.typestr == "bfloat16"
    assert typed_views.element("bf16", array) == 2


def test_arrays_of_a_class_share_and_keep_its_memory(home: ForeignStream, elsewhere: ForeignStream) -> None:
    block = typed_views.Block(4, home)
    first, second = block.array, block.array
    assert first.ptr == second.ptr
    block.fill(3, elsewhere)
    assert second.copy_to_host().tolist() == [3] * 4
    del block, first
    gc.collect()
    assert second.copy_to_host().tolist() == [3] * 4
    np.testing.assert_array_equal(second, [3] * 4)


PROGRAM = """
import sys
import cuarray_sim
cuarray_sim.install()
{prepare}
import typed_views, {other}
streams = [typed_views, {other}]
a = typed_views.make(4, 1, 1)
b = {other}.make(4, 2, 1)
print(type(a) is type(b), type(a).__module__, "cuarray" in sys.modules)
for array in (a, b):
    for module in (typed_views, {other}):
        module.fill(array, 9, 1)
    print(bytes(array.copy_to_host()) if "numpy" in sys.modules else array.shape)
"""


def test_arrays_of_two_extensions_share_the_packages_class(simulator: str) -> None:
    printed = run_python(PROGRAM.format(prepare="import numpy", other="typed_views_too")).splitlines()
    assert printed == ["True cuarray True", repr(b"\x09" * 4), repr(b"\x09" * 4)]


def test_extensions_share_a_class_without_the_package(simulator: str) -> None:
    hide = "import numpy; sys.modules['cuarray'] = None"
    printed = run_python(PROGRAM.format(prepare=hide, other="typed_views_too")).splitlines()
    assert printed == ["True cuarray True", repr(b"\x09" * 4), repr(b"\x09" * 4)]


def test_extension_and_package_share_a_pool_of_events(simulator: str) -> None:
    program = """
import cuarray_sim
cuarray_sim.install()
import cuarray, driver_probe, typed_views
import numpy as np
from producers import foreign

producing, consuming = driver_probe.ForeignStream(), driver_probe.ForeignStream()
memory = cuarray.to_device(np.zeros(4, np.uint8))
before = cuarray._core.idle_events()
typed_views.acquire_and_release(foreign(memory, stream=producing.handle), consuming)
print(before, cuarray._core.idle_events())
with cuarray.borrow(foreign(memory, stream=producing.handle), consuming):
    pass
print(cuarray._core.idle_events(), cuarray_sim.statistics()["calls"]["cuEventCreate"])
"""
    assert run_python(program).splitlines() == ["0 1", "1 1"]


def test_table_of_unknown_version_is_ignored(simulator: str) -> None:
    # Each version publishes its table under its own key.
    hide = """
import ctypes, numpy
sys.modules['cuarray'] = None
api = ctypes.pythonapi
api.PyInterpreterState_Get.restype = ctypes.c_void_p
api.PyInterpreterState_GetDict.restype = ctypes.py_object
api.PyInterpreterState_GetDict.argtypes = [ctypes.c_void_p]
shared = api.PyInterpreterState_GetDict(api.PyInterpreterState_Get())
shared['cuarray.new_array.v999'] = object()
"""
    printed = run_python(PROGRAM.format(prepare=hide, other="typed_views_too")).splitlines()
    assert printed == ["True cuarray True", repr(b"\x09" * 4), repr(b"\x09" * 4)]
