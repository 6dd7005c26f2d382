"""D7: a mask has an element for each element of the array.

cuDF exports a buffer of bytes whose *bits* say which elements are valid, padded to 64 bytes, and reads every mask that is neither
``t`` nor ``b`` so, a sound mask of bytes included. numba, CuPy, cuda.core, DALI and mpi4py refuse masks. PyTorch, JAX, Warp, PyArrow,
PyCUDA and RMM ignore them, and take invalid elements for valid ones.

The text: the elements of the mask are true or not true, which says which elements of the array are valid (I10).

cuarray: reads masks by the text, of any type with a truth value; a mask of the type ``t1`` is bits, for it says so; a buffer of
bytes that holds bits says nothing, so the user does: ``mask_format="bits"``. Without that, cuDF's mask is refused wherever
it does not fit. It never drops a mask unless told to, and exports one that everybody who heeds the text reads right.
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
    """A column with nulls: bytes of bits, the lowest first, padded to 64."""
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
    assert np.array_equal(host.mask, ~valid), "what is valid here is what numpy.ma does not mask"
    assert host.compressed().tolist() == VALUES[: valid.size][valid].tolist()


def test_cudfs_mask_is_refused_where_it_cannot_be_one(driver: str) -> None:
    with pytest.raises(ValueError, match=r"__cuda_array_interface__\['mask'\].*64"):
        cuarray.as_cuda_array(as_cudf_exports(VALUES, VALID))


def test_cudfs_mask_is_read_by_name(driver: str) -> None:
    assert_masked(cuarray.as_cuda_array(as_cudf_exports(VALUES, VALID), mask_format="bits"))


def test_many_bits(driver: str) -> None:
    valid = np.random.default_rng(7).integers(0, 2, 1000).astype(bool)
    array = cuarray.as_cuda_array(as_cudf_exports(np.arange(1000), valid), mask_format="bits")
    assert np.array_equal(array.copy_to_host().mask, ~valid)


def test_too_few_bits_are_refused(driver: str) -> None:
    producer = as_cudf_exports(VALUES, VALID)
    producer.__cuda_array_interface__["mask"].__cuda_array_interface__["shape"] = (1,)
    with pytest.raises(ValueError, match=r"\['mask'\].*8 bits.*10 elements"):
        cuarray.as_cuda_array(producer, mask_format="bits")


def test_bits_that_say_so_need_no_name(driver: str) -> None:
    """The type that was agreed on (numba issue 4130) and that nobody writes."""
    assert_masked(cuarray.as_cuda_array(as_cudf_exports(VALUES, VALID, "|t1")))


@pytest.mark.parametrize("dtype", ["?", "u1", "i1", "i4", "u8", "f4", "c8"])
def test_a_mask_by_the_text_is_elements(driver: str, dtype: str) -> None:
    """Bytes too, which cuDF would take for bits."""
    mask = foreign(cuarray.to_device(VALID.astype(dtype) * np.array(3 if dtype != "?" else True, dtype)))
    assert_masked(cuarray.as_cuda_array(foreign(cuarray.to_device(VALUES), mask=mask)))


def test_elements_without_a_truth_value_are_no_mask(driver: str) -> None:
    mask = foreign(cuarray.to_device(np.ones(10, "i4")), typestr="|V4")
    with pytest.raises(ValueError, match=r"__cuda_array_interface__\['mask'\]"):
        cuarray.as_cuda_array(foreign(cuarray.to_device(VALUES), mask=mask))


def test_where_bits_and_elements_both_fit_the_text_decides_unless_the_user_does(driver: str) -> None:
    """A column of 64 elements: cuDF's padded bits are as many bytes as it has elements."""
    values, valid = np.arange(PADDED), np.arange(PADDED) % 3 != 0
    producer = as_cudf_exports(values, valid)
    by_text = cuarray.as_cuda_array(producer).copy_to_host()
    assert np.array_equal(~by_text.mask, np.arange(PADDED) < PADDED // 8)
    by_name = cuarray.as_cuda_array(producer, mask_format="bits").copy_to_host()
    assert np.array_equal(~by_name.mask, valid)


def test_an_invalid_element_is_never_taken_for_a_valid_one(driver: str) -> None:
    array = cuarray.as_cuda_array(foreign(cuarray.to_device(VALUES), mask=cuarray.to_device(VALID)))
    assert_masked(array)
    assert array.filled(-1).copy_to_host().tolist() == np.where(VALID, VALUES, -1).tolist()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_only_a_user_leaves_a_mask_behind(driver: str, version: int) -> None:
    producer = foreign(cuarray.to_device(VALUES), mask=cuarray.to_device(VALID), version=version)
    assert_masked(cuarray.as_cuda_array(producer))
    array = cuarray.as_cuda_array(producer, mask="ignore")
    assert "mask" not in array.__cuda_array_interface__
    assert array.copy_to_host().tolist() == VALUES.tolist()
    with pytest.raises(BufferError, match="mask"):
        cuarray.as_cuda_array(producer, mask="error")


def test_there_is_no_mask_in_version_0(driver: str) -> None:
    array = cuarray.as_cuda_array(foreign(cuarray.to_device(VALUES), mask=object(), version=0))
    assert array.copy_to_host().tolist() == VALUES.tolist()


@pytest.mark.parametrize("mask_format", [None, "bits"])
def test_what_is_exported_is_a_mask_by_the_text(driver: str, mask_format: str | None) -> None:
    if mask_format == "bits":
        producer = as_cudf_exports(VALUES, VALID)
    else:
        producer = foreign(cuarray.to_device(VALUES), mask=cuarray.to_device(VALID))
    exported = cuarray.as_cuda_array(producer, mask_format=mask_format).__cuda_array_interface__["mask"]
    read = cuarray.as_cuda_array(exported)
    assert (read.shape, read.typestr) == (VALID.shape, "|b1")
    assert np.array_equal(read.copy_to_host(), VALID)
    assert_masked(cuarray.as_cuda_array(Producer(dict(producer.__cuda_array_interface__, mask=exported), producer)))


def test_the_peers_see_the_mask_and_refuse_it(
    numba: Any, strided_memory_view: Callable[..., Any], mpi_buffer: Callable[[object], Any]
) -> None:
    """Not one of them takes the elements for valid."""
    array = cuarray.as_cuda_array(foreign(cuarray.to_device(VALUES), mask=cuarray.to_device(VALID)))
    with pytest.raises(NotImplementedError, match="Masked arrays are not supported"):
        numba.as_cuda_array(array)
    with pytest.raises(BufferError, match="mask"):
        strided_memory_view(array, -1)
    with pytest.raises(BufferError, match="mask"):
        mpi_buffer(array)


def test_a_mask_that_is_none_is_no_mask(driver: str) -> None:
    assert cuarray.as_cuda_array(Producer(describe(mask=None))).mask is None
