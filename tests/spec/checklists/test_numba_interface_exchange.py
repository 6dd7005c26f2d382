"""Checklist 4A, items 1 to 6, 20 to 22 and 24 to 34: exchange of arrays, from numba-cuda's test suite of the interface.

Each test's name has the item's number. Items about both sides are tested with numba as the other library, in both directions. If
numba refuses something that is possible, the test shows numba's error beside the result of cuarray.
"""

from __future__ import annotations

import gc
import itertools
import weakref
from collections.abc import Callable
from typing import Any

import driver_probe
import numpy as np
import pytest
from producers import Producer, foreign

import cuarray


def test_4a_1_is_cuda_array_agrees_with_numba(numba: Any) -> None:
    array = cuarray.to_device(np.arange(3.0))
    wrapper = foreign(array)
    for one in (array, wrapper, cuarray.as_cuda_array(wrapper), numba.device_array(3)):
        assert cuarray.is_cuda_array(one)
        assert numba.is_cuda_array(one)
    for other in (np.arange(3.0), [1, 2], None):
        assert not cuarray.is_cuda_array(other)
        with pytest.raises(TypeError, match="__cuda_array_interface__"):
            cuarray.as_cuda_array(other)  # type: ignore[arg-type]


def test_4a_2_import_shares_pointer_and_values(numba: Any) -> None:
    host = np.arange(10.0)
    numba_array, cuarray_array = numba.to_device(host), cuarray.to_device(host)
    for original, imported in (
        (numba_array.__cuda_array_interface__["data"][0], cuarray.as_cuda_array(numba_array)),
        (cuarray_array.ptr, numba.as_cuda_array(cuarray_array)),
    ):
        assert imported.__cuda_array_interface__["data"] == (original, False)
        assert np.array_equal(imported.copy_to_host(), host)


def test_4a_3_import_keeps_numba_array_alive(numba: Any) -> None:
    pending = numba.current_context().memory_manager.deallocations
    pending.clear()
    original = numba.to_device(np.arange(10.0))
    imported = cuarray.as_cuda_array(original)
    del original
    gc.collect()
    assert len(pending) == 0
    assert np.array_equal(imported.copy_to_host(), np.arange(10.0))


def test_4a_3_import_by_numba_keeps_cuarray_memory_alive(numba: Any) -> None:
    original = cuarray.to_device(np.arange(10.0))
    memory = weakref.ref(original.owner)
    imported = numba.as_cuda_array(original)
    del original
    gc.collect()
    assert memory() is not None
    assert np.array_equal(imported.copy_to_host(), np.arange(10.0))
    del imported
    gc.collect()
    assert memory() is None


def test_4a_4_dropping_last_import_frees_numba_memory_once(numba: Any) -> None:
    pending = numba.current_context().memory_manager.deallocations
    pending.clear()
    original = numba.to_device(np.arange(10.0))
    first, second = cuarray.as_cuda_array(original), cuarray.as_cuda_array(original)
    view = second[2:]
    del original, first, second
    gc.collect()
    assert len(pending) == 0
    del view
    gc.collect()
    assert len(pending) == 1


def test_4a_5_write_through_import_reaches_original(numba: Any) -> None:
    """A copy takes the place of the item's kernel, because cuarray launches none."""
    numba_array, cuarray_array = numba.to_device(np.zeros(5)), cuarray.to_device(np.zeros(5))
    cuarray.as_cuda_array(numba_array).copy_to_device(np.arange(5.0))
    numba.as_cuda_array(cuarray_array).copy_to_device(np.arange(5.0))
    assert numba_array.copy_to_host().tolist() == cuarray_array.copy_to_host().tolist() == [0, 1, 2, 3, 4]


def test_4a_6_fortran_order_is_kept(numba: Any) -> None:
    host = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    into, out = cuarray.as_cuda_array(numba.to_device(host)), numba.as_cuda_array(cuarray.to_device(host))
    assert into.is_f_contiguous()
    assert not into.is_c_contiguous()
    assert out.is_f_contiguous()
    assert np.array_equal(into.copy_to_host(), host)
    assert np.array_equal(out.copy_to_host(), host)
    assert into.strides == out.strides == host.strides


def test_4a_20_reversed_array_is_copied(numba: Any) -> None:
    """Numba cannot copy reversed arrays; cuarray copies its own and numba's."""
    host = np.arange(6.0)
    cuarray_array = cuarray.to_device(host)
    with pytest.raises(NotImplementedError, match="negative strides"):
        numba.as_cuda_array(cuarray_array[::-1]).copy_to_host()
    numba_array = numba.to_device(host)[::-1]
    with pytest.raises(NotImplementedError, match="negative strides"):
        numba_array.copy_to_host()
    assert np.array_equal(cuarray_array[::-1].copy_to_host(), host[::-1])
    assert np.array_equal(cuarray.as_cuda_array(numba_array).copy_to_host(), host[::-1])


def test_4a_21_masked_array_is_imported_or_refused_on_request(numba: Any) -> None:
    """Numba refuses masked arrays; cuarray imports them, and refuses them only with `mask="error"`."""
    host = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    masked = cuarray.to_device(host)
    with pytest.raises(NotImplementedError, match="Masked arrays are not supported"):
        numba.as_cuda_array(masked)
    with pytest.raises(BufferError, match="masked arrays are not accepted here"):
        cuarray.as_cuda_array(foreign(masked), mask="error")
    back = cuarray.as_cuda_array(foreign(masked)).copy_to_host()
    assert np.ma.getmaskarray(back).tolist() == [False, True, False]
    assert back.compressed().tolist() == [1, 3]


def test_4a_4_dropping_last_import_by_numba_frees_memory_once(numba: Any, frees: Any) -> None:
    original = cuarray.to_device(np.arange(10.0))
    first, second = numba.as_cuda_array(original), numba.as_cuda_array(original)
    view = second[2:]
    account = frees()
    del original, first, second
    gc.collect()
    assert account.count == 0
    assert view.copy_to_host().tolist() == list(range(2, 10))
    del view
    gc.collect()
    assert account.count == 1


@pytest.mark.parametrize("shape", [0, (0, 3), (2, 0)])
def test_4a_22_empty_array_has_pointer_0(numba: Any, shape: Any) -> None:
    array = cuarray.device_array(shape)
    assert array.__cuda_array_interface__["data"][0] == 0
    for imported in (numba.as_cuda_array(array), cuarray.as_cuda_array(numba.device_array(shape))):
        assert imported.__cuda_array_interface__["data"][0] == 0
        assert imported.size == 0


@pytest.mark.parametrize("shape", [(), 5, (2, 3), (2, 3, 4), (1, 4)])
def test_4a_24_contiguous_array_exports_strides_none(driver_kind: str, shape: Any) -> None:
    array = cuarray.device_array(shape)
    assert array.__cuda_array_interface__["strides"] is None
    assert cuarray.as_cuda_array(foreign(array)).__cuda_array_interface__["strides"] is None


@pytest.mark.parametrize("key", [np.s_[::2], np.s_[:, 1:], np.s_[:, ::-1], np.s_[:, 0]])
def test_4a_25_strided_array_exports_its_strides(driver_kind: str, key: Any) -> None:
    host = np.zeros((4, 6))
    assert cuarray.to_device(host)[key].__cuda_array_interface__["strides"] == host[key].strides
    assert cuarray.to_device(host).T.__cuda_array_interface__["strides"] == host.T.strides


@pytest.mark.parametrize("explicit", [False, True], ids=["None", "explicit"])
def test_4a_26_27_import_of_contiguous_array_with_and_without_strides(numba: Any, explicit: bool) -> None:
    host = np.arange(6.0).reshape(2, 3)
    cuarray_array, numba_array = cuarray.to_device(host), numba.to_device(host)
    for original, read in ((numba_array, cuarray.as_cuda_array), (cuarray_array, numba.as_cuda_array)):
        strides = host.strides if explicit else None
        imported = read(foreign(original, strides=strides))
        assert imported.strides == host.strides
        assert imported.__cuda_array_interface__["strides"] is None
        assert np.array_equal(imported.copy_to_host(), host)


def exporters(numba: Any, kind: str) -> list[tuple[Callable[..., Any], Callable[[], Any]]]:
    """The constructors of arrays in one kind of memory, with those of streams, in both libraries."""
    name = f"{kind}_array"
    return [(getattr(cuarray, name), cuarray.stream), (getattr(numba, name), numba.stream)]


def assert_no_stream_is_exported(numba: Any, kind: str) -> None:
    for make, _ in exporters(numba, kind):
        array = make(10)
        assert array.__cuda_array_interface__["stream"] is None
        assert cuarray.as_cuda_array(array).stream is None


def assert_creation_stream_is_exported(numba: Any, kind: str) -> None:
    for make, make_stream in exporters(numba, kind):
        stream = make_stream()
        handle = stream.__cuda_stream__()[1]
        array = make(10, stream=stream)
        assert array.__cuda_array_interface__["stream"] == handle
        assert int(numba.as_cuda_array(array).stream) == handle
        imported = cuarray.as_cuda_array(array)
        assert imported.stream is not None
        assert imported.stream.handle == handle


@pytest.mark.parametrize("kind", ["device", "mapped"])
def test_4a_28_array_without_stream_exports_none(numba: Any, kind: str) -> None:
    assert_no_stream_is_exported(numba, kind)


def test_4a_29_managed_array_without_stream_exports_none(numba: Any) -> None:
    assert_no_stream_is_exported(numba, "managed")


@pytest.mark.parametrize("kind", ["device", "mapped"])
def test_4a_30_creation_stream_is_exported(numba: Any, kind: str) -> None:
    assert_creation_stream_is_exported(numba, kind)


def test_4a_31_creation_stream_of_managed_array_is_exported(numba: Any) -> None:
    assert_creation_stream_is_exported(numba, "managed")


@pytest.mark.parametrize("entries", [{"stream": None}, {"version": 2}])
def test_4a_32_import_without_stream_has_no_home_stream(numba: Any, entries: dict[str, Any]) -> None:
    for original in (cuarray.device_array(3), numba.device_array(3)):
        assert cuarray.as_cuda_array(foreign(original, **entries)).stream is None


def test_4a_33_imported_stream_is_external(numba: Any) -> None:
    numba_array, cuarray_array = numba.stream(), cuarray.stream()
    into = cuarray.as_cuda_array(numba.device_array(3, stream=numba_array))
    assert into.stream == cuarray.external_stream(int(numba_array))
    assert "external" in repr(into.stream)
    out = numba.as_cuda_array(cuarray.device_array(3, stream=cuarray_array))
    assert out.stream.external
    assert int(out.stream) == cuarray_array.handle


@pytest.mark.parametrize(("with_stream", "enabled"), list(itertools.product([False, True], repeat=2)))
def test_4a_34_import_waits_once_for_exported_stream(
    driver_kind: str, waits: Any, with_stream: bool, enabled: bool
) -> None:
    stream = cuarray.stream() if with_stream else None
    obj = Producer(cuarray.device_array(3, stream=stream).__cuda_array_interface__, keeps=stream)
    expected = int(with_stream and enabled)
    cuarray.config.sync = enabled
    for read in (
        cuarray.as_cuda_array,
        lambda obj: cuarray.from_cuda_array_interface(obj.__cuda_array_interface__, owner=obj),
    ):
        account = waits()
        read(obj)
        assert account.count == expected
        account = waits()
        read(obj) if not enabled else cuarray.as_cuda_array(obj, sync=False)
        assert account.count == 0


def test_4a_34_import_waits_for_work_in_exported_stream(driver_kind: str) -> None:
    stream = cuarray.stream()
    array = cuarray.to_device(np.zeros(4, np.uint8), stream=stream)
    with driver_probe.held(stream.handle) as hold:
        cuarray.as_cuda_array(foreign(array), sync=False)
        assert hold.is_held, "an import with sync=False has waited"
        hold.release_soon()
        cuarray.as_cuda_array(foreign(array))
        assert not hold.is_held, "an import did not wait"
