"""Masks (clauses I10, V0, X3): read, kept, copied to ``numpy.ma``, filled, exported; bits by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from producers import Producer, describe, foreign

import cuarray

pytestmark = pytest.mark.usefixtures("driver")

DATA = np.arange(6.0).reshape(2, 3)
VALID = np.array([[True, False, True], [True, True, False]])


def masked(mask: Any, **entries: Any) -> Producer:
    return foreign(cuarray.to_device(DATA), mask=mask, **entries)


@pytest.mark.parametrize("kind", ["?", "u1", "i2", "i8", "f4", "f8", "c8"])
def test_true_is_valid_in_any_type_with_a_truth_value(kind: str) -> None:
    array = cuarray.as_cuda_array(masked(cuarray.to_device(VALID.astype(kind))))
    host = array.copy_to_host()
    assert isinstance(host, np.ma.MaskedArray)
    np.testing.assert_array_equal(host.mask, ~VALID)
    np.testing.assert_array_equal(host.data, DATA)


@pytest.mark.parametrize(
    "valid", [np.array([True, False, True]), np.array([[True], [False]]), np.array(False), np.array([[[True]]])[0]]
)
def test_the_mask_is_broadcast_to_the_shape(valid: np.ndarray[Any, Any]) -> None:
    host = cuarray.as_cuda_array(masked(cuarray.to_device(valid))).copy_to_host()
    np.testing.assert_array_equal(np.ma.getmaskarray(host), ~np.broadcast_to(valid, DATA.shape))


def test_a_mask_of_any_layout_is_read() -> None:
    flags = cuarray.to_device(np.ascontiguousarray(VALID.T))
    interface = {**flags.__cuda_array_interface__, "shape": (2, 3), "strides": (1, 2)}
    host = cuarray.as_cuda_array(masked(Producer(interface, keeps=flags))).copy_to_host()
    np.testing.assert_array_equal(host.mask, ~VALID)


def test_bits_are_unpacked_when_they_are_named() -> None:
    bits = cuarray.to_device(np.packbits(VALID, bitorder="little"))
    array = cuarray.as_cuda_array(masked(bits), mask_format="bits")
    np.testing.assert_array_equal(array.copy_to_host().mask, ~VALID)
    assert array.mask is not None
    assert array.mask.shape == DATA.shape, "what is exported is a mask that everybody can read"
    assert array.mask.typestr == "|b1"


def test_a_padded_buffer_of_bits_is_read_as_far_as_the_array_goes() -> None:
    buffer = np.zeros(64, np.uint8)
    buffer[:1] = np.packbits(VALID, bitorder="little")
    array = cuarray.as_cuda_array(masked(cuarray.to_device(buffer)), mask_format="bits")
    np.testing.assert_array_equal(array.copy_to_host().mask, ~VALID)


def test_a_bit_field_says_itself_that_it_is_bits() -> None:
    bits = cuarray.to_device(np.packbits(VALID, bitorder="little"))
    mask = Producer({**bits.__cuda_array_interface__, "shape": (6,), "typestr": "|t1"}, keeps=bits)
    np.testing.assert_array_equal(cuarray.as_cuda_array(masked(mask)).copy_to_host().mask, ~VALID)


def test_too_few_bits_are_refused() -> None:
    bits = cuarray.to_device(np.zeros(1, np.uint8))
    nine = foreign(cuarray.to_device(np.zeros(9)), mask=bits)
    with pytest.raises(ValueError, match=r"'mask'.*8 bits.*9 elements"):
        cuarray.as_cuda_array(nine, mask_format="bits")


def test_the_export_carries_the_mask() -> None:
    array = cuarray.as_cuda_array(masked(cuarray.to_device(VALID)))
    again = cuarray.as_cuda_array(Producer(array.__cuda_array_interface__, keeps=array))
    np.testing.assert_array_equal(again.copy_to_host().mask, ~VALID)


def test_an_array_without_a_mask_exports_none() -> None:
    assert "mask" not in cuarray.to_device(DATA).__cuda_array_interface__
    assert cuarray.to_device(DATA).mask is None


def test_a_masked_array_of_numpy_goes_out_and_comes_back() -> None:
    host = np.ma.MaskedArray(DATA, mask=~VALID)
    back = cuarray.to_device(host).copy_to_host()
    np.testing.assert_array_equal(back.mask, host.mask)
    np.testing.assert_array_equal(back.filled(-1), host.filled(-1))


def test_a_copy_of_a_masked_array_is_masked() -> None:
    array = cuarray.as_cuda_array(masked(cuarray.to_device(VALID)))
    copy = cuarray.to_device(array)
    assert copy.ptr != array.ptr
    np.testing.assert_array_equal(copy.copy_to_host().mask, ~VALID)


def test_filled_puts_the_value_where_elements_are_not_valid() -> None:
    array = cuarray.as_cuda_array(masked(cuarray.to_device(VALID)))
    filled = array.filled(-1)
    assert filled.mask is None
    np.testing.assert_array_equal(filled.copy_to_host(), np.where(VALID, DATA, -1))


def test_data_is_the_array_without_its_mask() -> None:
    array = cuarray.as_cuda_array(masked(cuarray.to_device(VALID)))
    assert array.data.mask is None
    assert array.data.ptr == array.ptr
    np.testing.assert_array_equal(array.data.copy_to_host(), DATA)


def test_ignore_reads_the_array_as_if_it_had_no_mask() -> None:
    array = cuarray.as_cuda_array(masked(object()), mask="ignore")
    assert array.mask is None
    np.testing.assert_array_equal(array.copy_to_host(), DATA)


def test_error_refuses_an_array_with_a_mask_and_no_other() -> None:
    with pytest.raises(BufferError, match="mask"):
        cuarray.as_cuda_array(masked(cuarray.to_device(VALID)), mask="error")
    assert cuarray.as_cuda_array(cuarray.to_device(DATA), mask="error").mask is None


def test_ignore_and_error_hold_for_our_own_arrays_too() -> None:
    ours = cuarray.to_device(np.ma.MaskedArray(DATA, mask=~VALID))
    assert cuarray.as_cuda_array(ours).mask is not None
    assert cuarray.as_cuda_array(ours, mask="ignore").mask is None
    with pytest.raises(BufferError, match="mask"):
        cuarray.as_cuda_array(ours, mask="error")


def test_version_0_has_no_mask() -> None:
    array = cuarray.as_cuda_array(masked(cuarray.to_device(VALID), version=0))
    assert array.mask is None


class MasksItself:
    def __init__(self, array: cuarray.DeviceArray) -> None:
        self.array = array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self.array.__cuda_array_interface__, "mask": self}


def test_a_mask_with_a_mask_is_refused_also_if_it_is_itself() -> None:
    with pytest.raises(ValueError, match=r"'mask'.*mask itself"):
        cuarray.as_cuda_array(MasksItself(cuarray.to_device(DATA)))
    inner = foreign(cuarray.to_device(VALID), mask=cuarray.to_device(VALID))
    with pytest.raises(ValueError, match=r"'mask'.*mask itself"):
        cuarray.as_cuda_array(masked(inner))


@pytest.mark.parametrize("mask", [3, "mask", [True] * 6, Producer({}), Producer(None), Producer(describe(shape=(7,)))])
def test_what_is_no_mask_is_refused(mask: Any) -> None:
    with pytest.raises(ValueError, match="'mask'"):
        cuarray.as_cuda_array(masked(mask))


@pytest.mark.parametrize("argument", [{"mask": "keep it"}, {"mask_format": "bytes"}])
def test_unknown_words_are_refused(argument: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        cuarray.as_cuda_array(masked(None), **argument)


def test_a_copy_never_loses_the_mask_silently() -> None:
    array = cuarray.as_cuda_array(masked(cuarray.to_device(VALID)))
    with pytest.raises(BufferError, match="lose the mask"):
        array.copy_to_host(np.zeros((2, 3)))
    with pytest.raises(BufferError, match="masked"):
        array.copy_to_device(DATA)
    with pytest.raises(BufferError, match="mask"):
        cuarray.to_device(DATA).copy_to_device(array)
    target = np.ma.MaskedArray(np.zeros((2, 3)), mask=False)
    assert array.copy_to_host(target) is target
    np.testing.assert_array_equal(target.mask, ~VALID)


def test_a_mask_on_a_stream_is_waited_for() -> None:
    stream = cuarray.stream()
    flags = cuarray.to_device(np.zeros_like(VALID), stream=stream)
    stream.synchronize()
    flags.copy_to_device(VALID, stream=stream)
    host = cuarray.as_cuda_array(masked(flags)).copy_to_host()
    np.testing.assert_array_equal(host.mask, ~VALID)


def test_the_mask_is_shown() -> None:
    array = cuarray.as_cuda_array(masked(cuarray.to_device(VALID)))
    assert "masked" in repr(array)
    shown = cuarray.interface(array)
    assert shown.mask is not None
    assert shown.mask.typestr == "|b1"
    assert "mask" in repr(shown)
