"""Masks (clauses I10, V0, X3): import, export, copies to ``numpy.ma``, filling, and masks of bits."""

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
def test_true_marks_valid_elements_for_every_mask_dtype(kind: str) -> None:
    array = cuarray.as_cuda_array(masked(cuarray.to_device(VALID.astype(kind))))
    host = array.copy_to_host()
    assert isinstance(host, np.ma.MaskedArray)
    np.testing.assert_array_equal(host.mask, ~VALID)
    np.testing.assert_array_equal(host.data, DATA)


@pytest.mark.parametrize(
    "valid", [np.array([True, False, True]), np.array([[True], [False]]), np.array(False), np.array([[[True]]])[0]]
)
def test_mask_is_broadcast_to_array_shape(valid: np.ndarray[Any, Any]) -> None:
    host = cuarray.as_cuda_array(masked(cuarray.to_device(valid))).copy_to_host()
    np.testing.assert_array_equal(np.ma.getmaskarray(host), ~np.broadcast_to(valid, DATA.shape))


def test_strided_mask_is_read() -> None:
    flags = cuarray.to_device(np.ascontiguousarray(VALID.T))
    interface = {**flags.__cuda_array_interface__, "shape": (2, 3), "strides": (1, 2)}
    host = cuarray.as_cuda_array(masked(Producer(interface, keeps=flags))).copy_to_host()
    np.testing.assert_array_equal(host.mask, ~VALID)


def test_bit_mask_is_unpacked_with_mask_format_bits() -> None:
    bits = cuarray.to_device(np.packbits(VALID, bitorder="little"))
    array = cuarray.as_cuda_array(masked(bits), mask_format="bits")
    np.testing.assert_array_equal(array.copy_to_host().mask, ~VALID)
    assert array.mask is not None
    assert array.mask.shape == DATA.shape, "the exported mask has one element for each element of the array"
    assert array.mask.typestr == "|b1"


def test_padding_of_bit_mask_is_ignored() -> None:
    buffer = np.zeros(64, np.uint8)
    buffer[:1] = np.packbits(VALID, bitorder="little")
    array = cuarray.as_cuda_array(masked(cuarray.to_device(buffer)), mask_format="bits")
    np.testing.assert_array_equal(array.copy_to_host().mask, ~VALID)


def test_mask_of_bit_field_type_is_read_as_bits() -> None:
    bits = cuarray.to_device(np.packbits(VALID, bitorder="little"))
    mask = Producer({**bits.__cuda_array_interface__, "shape": (6,), "typestr": "|t1"}, keeps=bits)
    np.testing.assert_array_equal(cuarray.as_cuda_array(masked(mask)).copy_to_host().mask, ~VALID)


def test_bit_mask_with_too_few_bits_is_refused() -> None:
    bits = cuarray.to_device(np.zeros(1, np.uint8))
    nine = foreign(cuarray.to_device(np.zeros(9)), mask=bits)
    with pytest.raises(ValueError, match=r"'mask'.*8 bits.*9 elements"):
        cuarray.as_cuda_array(nine, mask_format="bits")


def test_exported_interface_includes_mask() -> None:
    array = cuarray.as_cuda_array(masked(cuarray.to_device(VALID)))
    again = cuarray.as_cuda_array(Producer(array.__cuda_array_interface__, keeps=array))
    np.testing.assert_array_equal(again.copy_to_host().mask, ~VALID)


def test_unmasked_array_exports_no_mask() -> None:
    assert "mask" not in cuarray.to_device(DATA).__cuda_array_interface__
    assert cuarray.to_device(DATA).mask is None


def test_numpy_masked_array_round_trips() -> None:
    host = np.ma.MaskedArray(DATA, mask=~VALID)
    back = cuarray.to_device(host).copy_to_host()
    np.testing.assert_array_equal(back.mask, host.mask)
    np.testing.assert_array_equal(back.filled(-1), host.filled(-1))


def test_to_device_of_masked_array_copies_the_mask() -> None:
    array = cuarray.as_cuda_array(masked(cuarray.to_device(VALID)))
    copy = cuarray.to_device(array)
    assert copy.ptr != array.ptr
    np.testing.assert_array_equal(copy.copy_to_host().mask, ~VALID)


def test_filled_replaces_invalid_elements() -> None:
    array = cuarray.as_cuda_array(masked(cuarray.to_device(VALID)))
    filled = array.filled(-1)
    assert filled.mask is None
    np.testing.assert_array_equal(filled.copy_to_host(), np.where(VALID, DATA, -1))


def test_data_is_the_unmasked_array_over_the_same_memory() -> None:
    array = cuarray.as_cuda_array(masked(cuarray.to_device(VALID)))
    assert array.data.mask is None
    assert array.data.ptr == array.ptr
    np.testing.assert_array_equal(array.data.copy_to_host(), DATA)


def test_mask_ignore_imports_without_mask() -> None:
    array = cuarray.as_cuda_array(masked(object()), mask="ignore")
    assert array.mask is None
    np.testing.assert_array_equal(array.copy_to_host(), DATA)


def test_mask_error_refuses_only_masked_arrays() -> None:
    with pytest.raises(BufferError, match="mask"):
        cuarray.as_cuda_array(masked(cuarray.to_device(VALID)), mask="error")
    assert cuarray.as_cuda_array(cuarray.to_device(DATA), mask="error").mask is None


def test_mask_argument_applies_to_device_array_objects() -> None:
    own = cuarray.to_device(np.ma.MaskedArray(DATA, mask=~VALID))
    assert cuarray.as_cuda_array(own).mask is not None
    assert cuarray.as_cuda_array(own, mask="ignore").mask is None
    with pytest.raises(BufferError, match="mask"):
        cuarray.as_cuda_array(own, mask="error")


def test_mask_of_version_0_interface_is_ignored() -> None:
    array = cuarray.as_cuda_array(masked(cuarray.to_device(VALID), version=0))
    assert array.mask is None


class MasksItself:
    def __init__(self, array: cuarray.DeviceArray) -> None:
        self.array = array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self.array.__cuda_array_interface__, "mask": self}


def test_mask_with_a_mask_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'mask'.*mask itself"):
        cuarray.as_cuda_array(MasksItself(cuarray.to_device(DATA)))
    inner = foreign(cuarray.to_device(VALID), mask=cuarray.to_device(VALID))
    with pytest.raises(ValueError, match=r"'mask'.*mask itself"):
        cuarray.as_cuda_array(masked(inner))


@pytest.mark.parametrize("mask", [3, "mask", [True] * 6, Producer({}), Producer(None), Producer(describe(shape=(7,)))])
def test_object_that_is_not_a_mask_is_refused(mask: Any) -> None:
    with pytest.raises(ValueError, match="'mask'"):
        cuarray.as_cuda_array(masked(mask))


def test_exception_of_mask_attribute_is_the_cause(driver: str) -> None:
    class Raises:
        @property
        def __cuda_array_interface__(self) -> Any:
            raise ZeroDivisionError("by the mask")

    for read in (cuarray.as_cuda_array, cuarray.interface):
        with pytest.raises(ValueError, match=r"\['mask'\].*raised ZeroDivisionError") as raised:
            read(masked(Raises()))
        assert isinstance(raised.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("argument", [{"mask": "keep it"}, {"mask_format": "bytes"}])
def test_unknown_mask_arguments_are_refused(argument: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        cuarray.as_cuda_array(masked(None), **argument)


def test_copy_that_would_lose_the_mask_is_refused() -> None:
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


def test_copy_to_host_waits_for_home_stream_of_mask() -> None:
    stream = cuarray.stream()
    flags = cuarray.to_device(np.zeros_like(VALID), stream=stream)
    stream.synchronize()
    flags.copy_to_device(VALID, stream=stream)
    host = cuarray.as_cuda_array(masked(flags)).copy_to_host()
    np.testing.assert_array_equal(host.mask, ~VALID)


def test_repr_shows_the_mask() -> None:
    array = cuarray.as_cuda_array(masked(cuarray.to_device(VALID)))
    assert "masked" in repr(array)
    shown = cuarray.interface(array)
    assert shown.mask is not None
    assert shown.mask.typestr == "|b1"
    assert "mask" in repr(shown)


def test_masked_host_array_is_refused_as_copy_source(driver: str) -> None:
    """Copying it would lose the mask."""
    array = cuarray.to_device(DATA)
    with pytest.raises(BufferError, match="mask"):
        array.copy_to_device(np.ma.MaskedArray(DATA + 1, mask=~VALID))
    np.testing.assert_array_equal(array.copy_to_host(), DATA)


@pytest.mark.parametrize(
    "take", [np.asarray, np.asanyarray, np.ma.asarray, np.sum, lambda array: np.add(array, 1)], ids=range(5)
)
def test_numpy_conversion_of_masked_array_is_refused(take: Any) -> None:
    array = cuarray.as_cuda_array(masked(cuarray.to_device(VALID)))
    with pytest.raises(BufferError, match="would drop the mask"):
        take(array)
    assert np.sum(array.copy_to_host()) == np.ma.MaskedArray(DATA, ~VALID).sum()


def test_copy_of_unmasked_array_clears_the_mask_of_its_target() -> None:
    target = np.ma.MaskedArray(np.zeros((2, 3)), mask=~VALID)
    assert cuarray.to_device(DATA).copy_to_host(target) is target
    assert not np.ma.is_masked(target)
    np.testing.assert_array_equal(target, DATA)


@pytest.mark.parametrize("mask", [None, VALID], ids=["unmasked", "masked"])
def test_copy_to_target_with_hard_mask_is_refused(mask: Any) -> None:
    array = cuarray.as_cuda_array(masked(None if mask is None else cuarray.to_device(mask)))
    target = np.ma.MaskedArray(np.zeros((2, 3)), mask=True, hard_mask=True)
    with pytest.raises(BufferError, match=r"soften_mask\(\)"):
        array.copy_to_host(target)
    assert not target.data.any()
    assert target.mask.all()
    target.soften_mask()
    array.copy_to_host(target)
    np.testing.assert_array_equal(np.ma.getmaskarray(target), ~(VALID if mask is not None else np.ones_like(VALID)))
    # A hard mask that masks nothing is no obstacle.
    array.copy_to_host(np.ma.MaskedArray(np.zeros((2, 3)), hard_mask=True))


NESTED = np.dtype([("a", "<i4", (2,)), ("b", [("c", "<f8"), ("d", "S3")])])


@pytest.mark.parametrize("shape", [(), (3,), (2, 0)], ids=str)
def test_mask_of_whole_structures_round_trips(shape: tuple[int, ...]) -> None:
    invalid = (np.arange(int(np.prod(shape))) % 2 == 0).reshape(shape)
    host = np.ma.MaskedArray(np.zeros(shape, NESTED), mask=invalid)
    array = cuarray.to_device(host)
    assert array.mask is not None
    np.testing.assert_array_equal(array.mask.copy_to_host(), ~invalid)
    back = array.copy_to_host()
    assert back.dtype == NESTED
    np.testing.assert_array_equal(np.ma.getmaskarray(back), np.ma.getmaskarray(host))
    np.testing.assert_array_equal(np.ma.getmaskarray(array["b"]["c"].copy_to_host()), invalid)


def test_mask_of_single_fields_is_refused() -> None:
    host = np.ma.MaskedArray(np.zeros(2, NESTED), mask=[((1, 1), (1, 1)), ((0, 1), (0, 0))])
    with pytest.raises(BufferError, match="fields"):
        cuarray.to_device(host)


@pytest.mark.parametrize("typestr", ["<M8[s]", "<m8[s]", "|S4", "<U1", "|V4"])
def test_mask_of_type_without_truth_value_is_refused(typestr: str) -> None:
    with pytest.raises(ValueError, match=r"\['mask'\].*neither true nor false"):
        cuarray.as_cuda_array(masked(cuarray.to_device(np.zeros(3, typestr))))


def test_interfaces_with_different_masks_are_unequal() -> None:
    first, other = (Producer(describe(typestr="|b1", data=(address, False))) for address in (4096, 8192))
    assert cuarray.interface(describe(mask=first)) == cuarray.interface(describe(mask=first))
    assert cuarray.interface(describe(mask=first)) != cuarray.interface(describe(mask=other))
    assert cuarray.interface(describe(mask=first)) != cuarray.interface(describe())
