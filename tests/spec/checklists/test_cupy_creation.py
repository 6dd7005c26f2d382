"""Checklist 4C, items 32 to 40: arrays made from other libraries' arrays, and structured types, from CuPy's test suites.

Each test's name has the item's number. If CuPy refuses what the interface allows, the test shows that cuarray accepts it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from producers import Producer, describe, foreign

import cuarray

versions = pytest.mark.parametrize("version", [0, 1, 2, 3])


def imported(host: Any, **entries: Any) -> cuarray.DeviceArray:
    """The import of another library's array with the content of a host array."""
    return cuarray.as_cuda_array(foreign(cuarray.to_device(host), **entries))


@versions
@pytest.mark.parametrize("dtype", ["?", "i1", "<u8", "<f2", "<c16", "S3", "<U2"])
def test_4c_32_import_converts_back_to_numpy(driver_kind: str, version: int, dtype: str) -> None:
    host = np.arange(6).reshape(2, 3).astype(dtype)
    array = imported(host, version=version)
    for back in (array.copy_to_host(), np.asarray(array), np.array(array)):
        assert type(back) is np.ndarray
        assert back.dtype == host.dtype
        assert np.array_equal(back, host)


@pytest.mark.parametrize("dtype", [">i2", ">f4", ">c16", ">M8[s]"])
def test_4c_33_big_endian_array_is_imported(driver_kind: str, dtype: str) -> None:
    """CuPy refuses the type because its kernels cannot read it; the interface has it, and copies keep it."""
    host = np.arange(5, dtype="i8").astype(dtype)
    array = imported(host)
    assert array.typestr == dtype
    assert array.copy_to_host().tobytes() == host.tobytes()
    assert array.copy_to_host().tolist() == host.tolist()
    # A host array of the other byte order is converted.
    native = cuarray.to_device(np.zeros(5, host.dtype.newbyteorder("=")))
    native[:] = host
    assert native.copy_to_host().tolist() == host.tolist()


times = pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
kinds = pytest.mark.parametrize("kind", ["M8", "m8"])


@times
@kinds
def test_4c_34_datetimes_and_timedeltas_are_imported(driver_kind: str, kind: str, unit: str) -> None:
    host = np.array([0, 1, -5, "NaT"], f"{kind}[{unit}]")
    array = imported(host)
    assert array.typestr == f"<{kind}[{unit}]"
    back = array.copy_to_host()
    assert back.dtype == host.dtype
    assert np.array_equal(back.view("i8"), host.view("i8"))


STRUCTURED: list[Any] = [
    [("a", "<i4"), ("b", "<f8")],
    [("a", "?"), ("b", "<c8"), ("c", "S5")],
    [("inner", [("x", "<f4"), ("y", "<f4")]), ("n", "<i8", (2, 3))],
]


@pytest.mark.parametrize("fields", STRUCTURED)
def test_4c_35_structured_types_are_imported(driver_kind: str, fields: Any) -> None:
    dtype = np.dtype(fields)
    host = np.frombuffer(np.arange(3 * dtype.itemsize, dtype=np.uint8).tobytes(), dtype)
    array = imported(host)
    assert array.dtype == dtype
    assert array.copy_to_host().tobytes() == host.tobytes()


@times
@kinds
def test_4c_36_datetimes_are_viewed_as_int64(driver_kind: str, kind: str, unit: str) -> None:
    array = imported(np.arange(4).astype(f"{kind}[{unit}]"))
    numbers = array.view("<i8")
    assert numbers.ptr == array.ptr
    assert numbers.copy_to_host().tolist() == [0, 1, 2, 3]
    numbers[2] = 9
    assert array.copy_to_host()[2] == np.array(9, f"{kind}[{unit}]")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_4c_37_masked_array_is_imported_or_refused_on_request(driver_kind: str, version: int) -> None:
    """CuPy refuses masked arrays; cuarray imports them, and refuses them only with `mask="error"`."""
    valid = cuarray.to_device(np.array([True, False, True]))
    back = imported(np.arange(3), version=version, mask=foreign(valid)).copy_to_host()
    assert np.ma.getmaskarray(back).tolist() == [False, True, False]
    with pytest.raises(BufferError, match="masked arrays are not accepted here"):
        cuarray.as_cuda_array(foreign(cuarray.to_device(np.arange(3)), version=version, mask=valid), mask="error")


def test_4c_38_array_of_more_than_2_gib_has_correct_attributes() -> None:
    """No element is read, so the memory need not exist."""
    count = 5 * 10**8
    array = cuarray.as_cuda_array(Producer(describe(shape=(count,), typestr="<f8")))
    assert (array.size, array.nbytes) == (count, 8 * count)
    assert array[-1:].ptr - array.ptr == 8 * (count - 1)
    low, high = cuarray.interface(array).byte_range
    assert high - low == array.nbytes > 2**31
    assert array.reshape(1000, -1).strides == (8 * count // 1000, 8)
    assert (array[::-1].strides, array[::-1].ptr) == ((-8,), array[-1:].ptr)


def test_4c_38_elements_beyond_2_gib_are_indexed(driver_kind: str) -> None:
    """The elements share one place (stride 0), so only the indices exceed 32 bits."""
    count = 5 * 10**8
    array = imported(np.array([2.5]), shape=(count,), strides=(0,))
    assert array[count - 3 :].copy_to_host().tolist() == [2.5] * 3
    assert array[count - 1] == array[-count] == 2.5
    with pytest.raises(IndexError, match=str(count)):
        array[count]


@pytest.mark.parametrize("dtype", ["O", [("a", "<i4"), ("b", "O")], [("inner", [("x", "O")])]])
def test_4c_39_python_objects_are_refused(driver_kind: str, dtype: Any) -> None:
    """CuPy allows one case, an import; cuarray refuses it as well."""
    host = np.zeros(2, dtype)
    with pytest.raises(ValueError, match="Python objects"):
        cuarray.to_device(host)
    with pytest.raises(ValueError, match="Python objects"):
        cuarray.device_array(2, dtype)
    entries = {key: host.__array_interface__[key] for key in ("typestr", "descr")}
    with pytest.raises(ValueError, match="Python objects"):
        cuarray.as_cuda_array(Producer(describe(**entries)))


@pytest.mark.parametrize(
    "fields", [[("a", "u1"), ("b", "<f8")], [("a", "<f8"), ("b", "u1")], [("a", "u1"), ("b", "<i4"), ("c", "u1")]]
)
def test_4c_40_padded_structures_are_imported(driver_kind: str, fields: Any) -> None:
    """CuPy's item has padding only between fields; this test also has it at the end."""
    dtype = np.dtype(fields, align=True)
    assert dtype.itemsize > sum(np.dtype(kind).itemsize for _, kind in fields)
    host = np.zeros(3, dtype)
    for name in dtype.names or ():
        host[name] = [1, 2, 3]
    array = imported(host)
    assert array.itemsize == dtype.itemsize
    back = array.copy_to_host()
    for name in dtype.names or ():
        assert (back.dtype[name], back.dtype.fields[name][1]) == (dtype[name], dtype.fields[name][1])  # type: ignore[index]
        assert back[name].tolist() == array[name].copy_to_host().tolist() == [1, 2, 3]
