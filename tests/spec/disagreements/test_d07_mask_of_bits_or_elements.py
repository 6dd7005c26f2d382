"""D7: a mask has an element for each element of the array.

cuDF exports a buffer of bytes, padded to 64, whose *bits* mark the valid elements. It reads every mask of a type other than ``t``
and ``b`` in this way, including a correct mask of bytes. numba, CuPy, cuda.core, DALI and mpi4py refuse masks. PyTorch, JAX,
Warp, PyArrow, PyCUDA and RMM ignore them, and read invalid elements as valid.

The text: the elements of the mask are true or not true, which says which elements of the array are valid (I10).

cuarray: reads masks as the text defines them, with elements of any type that has a truth value. A mask of the type ``t1`` holds bits. A buffer
of bytes does not show that it holds bits, so the user passes ``mask_format="bits"``; otherwise cuDF's mask is refused if its shape does
not fit. A mask is dropped only on request. The export follows the text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from producers import Producer, describe, foreign

import cuarray

VALUES = np.arange(10, dtype="i8")
VALID = np.array([1, 0, 1, 1, 0, 0, 1, 1, 0, 1], bool)
PADDED = 64


def as_cudf_exports(values: np.ndarray[Any, Any], valid: np.ndarray[Any, Any], typestr: str = "|u1") -> Producer:
    """Return a column with nulls: its mask has bits packed into bytes, lowest bit first, padded to 64 bytes."""
    bits = np.zeros(-(-values.size // (8 * PADDED)) * PADDED, np.uint8)
    packed = np.packbits(valid, bitorder="little")
    bits[: packed.size] = packed
    memory = cuarray.to_device(bits)
    shape = (bits.size,) if typestr == "|u1" else (values.size,)
    mask = foreign(memory, shape=shape, typestr=typestr, version=1, strides=None)
    return foreign(cuarray.to_device(values), strides=values.strides, mask=mask)


def assert_masked(array: cuarray.DeviceArray, valid: np.ndarray[Any, Any] = VALID) -> None:
    host = array.copy_to_host()
    assert isinstance(host, np.ma.MaskedArray)
    assert np.array_equal(host.mask, ~valid), "valid elements are those that numpy.ma does not mask"
    assert host.compressed().tolist() == VALUES[: valid.size][valid].tolist()


def test_cudf_mask_of_wrong_shape_is_refused(driver: str) -> None:
    with pytest.raises(ValueError, match=r"__cuda_array_interface__\['mask'\].*64"):
        cuarray.as_cuda_array(as_cudf_exports(VALUES, VALID))


def test_cudf_mask_is_read_with_mask_format_bits(driver: str) -> None:
    assert_masked(cuarray.as_cuda_array(as_cudf_exports(VALUES, VALID), mask_format="bits"))


def test_mask_of_a_thousand_bits_is_read(driver: str) -> None:
    valid = np.random.default_rng(7).integers(0, 2, 1000).astype(bool)
    array = cuarray.as_cuda_array(as_cudf_exports(np.arange(1000), valid), mask_format="bits")
    assert np.array_equal(array.copy_to_host().mask, ~valid)


def test_mask_with_too_few_bits_is_refused(driver: str) -> None:
    producer = as_cudf_exports(VALUES, VALID)
    producer.__cuda_array_interface__["mask"].__cuda_array_interface__["shape"] = (1,)
    with pytest.raises(ValueError, match=r"\['mask'\].*8 bits.*10 elements"):
        cuarray.as_cuda_array(producer, mask_format="bits")


def test_mask_of_type_t1_is_read_as_bits(driver: str) -> None:
    """numba issue 4130 agreed on this type, but no library writes it."""
    assert_masked(cuarray.as_cuda_array(as_cudf_exports(VALUES, VALID, "|t1")))


@pytest.mark.parametrize("dtype", ["?", "u1", "i1", "i4", "u8", "f4", "c8"])
def test_mask_of_elements_is_read_for_each_type(driver: str, dtype: str) -> None:
    """A mask of bytes (`u1`, `i1`) has an element in each byte, although cuDF would read its bits."""
    mask = foreign(cuarray.to_device(VALID.astype(dtype) * np.array(3 if dtype != "?" else True, dtype)))
    assert_masked(cuarray.as_cuda_array(foreign(cuarray.to_device(VALUES), mask=mask)))


def test_mask_of_void_elements_is_refused(driver: str) -> None:
    mask = foreign(cuarray.to_device(np.ones(10, "i4")), typestr="|V4")
    with pytest.raises(ValueError, match=r"__cuda_array_interface__\['mask'\]"):
        cuarray.as_cuda_array(foreign(cuarray.to_device(VALUES), mask=mask))


def test_ambiguous_mask_is_read_as_elements_without_mask_format(driver: str) -> None:
    """A cuDF column of 64 elements has a mask of 64 bytes."""
    values, valid = np.arange(PADDED), np.arange(PADDED) % 3 != 0
    producer = as_cudf_exports(values, valid)
    by_text = cuarray.as_cuda_array(producer).copy_to_host()
    assert np.array_equal(~by_text.mask, np.arange(PADDED) < PADDED // 8)
    by_option = cuarray.as_cuda_array(producer, mask_format="bits").copy_to_host()
    assert np.array_equal(~by_option.mask, valid)


def test_invalid_elements_are_masked_and_filled(driver: str) -> None:
    array = cuarray.as_cuda_array(foreign(cuarray.to_device(VALUES), mask=cuarray.to_device(VALID)))
    assert_masked(array)
    assert array.filled(-1).copy_to_host().tolist() == np.where(VALID, VALUES, -1).tolist()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_mask_is_dropped_only_on_request(driver: str, version: int) -> None:
    producer = foreign(cuarray.to_device(VALUES), mask=cuarray.to_device(VALID), version=version)
    assert_masked(cuarray.as_cuda_array(producer))
    array = cuarray.as_cuda_array(producer, mask="ignore")
    assert "mask" not in array.__cuda_array_interface__
    assert array.copy_to_host().tolist() == VALUES.tolist()
    with pytest.raises(BufferError, match="mask"):
        cuarray.as_cuda_array(producer, mask="error")


def test_mask_is_ignored_in_version_0(driver: str) -> None:
    array = cuarray.as_cuda_array(foreign(cuarray.to_device(VALUES), mask=object(), version=0))
    assert array.copy_to_host().tolist() == VALUES.tolist()


@pytest.mark.parametrize("mask_format", [None, "bits"])
def test_exported_mask_has_bool_elements(driver: str, mask_format: str | None) -> None:
    if mask_format == "bits":
        producer = as_cudf_exports(VALUES, VALID)
    else:
        producer = foreign(cuarray.to_device(VALUES), mask=cuarray.to_device(VALID))
    exported = cuarray.as_cuda_array(producer, mask_format=mask_format).__cuda_array_interface__["mask"]
    read = cuarray.as_cuda_array(exported)
    assert (read.shape, read.typestr) == (VALID.shape, "|b1")
    assert np.array_equal(read.copy_to_host(), VALID)
    assert_masked(cuarray.as_cuda_array(Producer(dict(producer.__cuda_array_interface__, mask=exported), producer)))


def test_peers_refuse_a_masked_array(
    numba: Any, strided_memory_view: Callable[..., Any], mpi_buffer: Callable[[object], Any]
) -> None:
    array = cuarray.as_cuda_array(foreign(cuarray.to_device(VALUES), mask=cuarray.to_device(VALID)))
    with pytest.raises(NotImplementedError, match="Masked arrays are not supported"):
        numba.as_cuda_array(array)
    with pytest.raises(BufferError, match="mask"):
        strided_memory_view(array, -1)
    with pytest.raises(BufferError, match="mask"):
        mpi_buffer(array)


def test_mask_none_means_no_mask(driver: str) -> None:
    assert cuarray.as_cuda_array(Producer(describe(mask=None))).mask is None
