"""Awkward arrays: the dictionary, the memory and the elements on the host agree, for every layout."""

from __future__ import annotations

import numpy as np
import pytest

import cuarray
from cuarray.check import parts
from cuarray.testing import ARRAYS, Array, array, assert_same_memory
from cuarray.testing.fixtures import awkward_array  # noqa: F401


def test_memory_has_the_elements_of_the_host(driver: str, awkward_array: Array) -> None:  # noqa: F811
    assert parts.read_by_the_text(awkward_array) == awkward_array.host.tobytes()


def test_cuarray_imports_the_memory(driver: str, awkward_array: Array) -> None:  # noqa: F811
    imported = cuarray.as_cuda_array(awkward_array, mask="ignore")
    assert np.array_equal(imported.copy_to_host(), awkward_array.host)
    assert (imported.shape, imported.dtype) == (awkward_array.host.shape, awkward_array.host.dtype)
    assert imported.readonly == awkward_array.readonly
    if awkward_array.mask is None:
        assert_same_memory(awkward_array, imported)


def test_interface_is_legal(driver: str, awkward_array: Array) -> None:  # noqa: F811
    from cuarray.inspection import Report

    assert [str(each) for each in Report.of(awkward_array).deviations] == []


def test_copy_into_array_changes_its_elements_only(driver: str, awkward_array: Array) -> None:  # noqa: F811
    if awkward_array.readonly or awkward_array.name.startswith(("broadcast", "overlapping")):
        pytest.skip("the elements cannot be written one by one")
    imported = cuarray.as_cuda_array(awkward_array, mask="ignore")
    values = np.full_like(awkward_array.host, 1)
    imported.copy_to_device(values)
    assert np.array_equal(awkward_array.current(), values)
    awkward_array.assert_only_elements_changed()


@pytest.mark.parametrize(
    ("name", "offset", "what"),
    [
        ("sliced", 4, "a byte that belongs to no element was written, 4 bytes from the first element"),
        ("C-order", -1, "was written, -1 bytes from the first element"),
        ("C-order", 48, "was written, 48 bytes from the first element"),
        ("reversed-1d", 4, "was written, 4 bytes from the first element"),
        ("read-only", 0, "an element of a read-only array was written, 0 bytes"),
    ],
)
def test_write_outside_of_the_elements_is_found(driver: str, name: str, offset: int, what: str) -> None:
    written = array(name)
    parts.write_bytes(written.__cuda_array_interface__["data"][0] + offset, b"\0" if name != "read-only" else b"\xff")
    with pytest.raises(AssertionError, match=what):
        written.assert_only_elements_changed()


def test_mask_has_both_values(driver: str) -> None:
    masked = array("masked")
    assert masked.mask is not None
    assert (
        cuarray.as_cuda_array(masked.__cuda_array_interface__["mask"]).copy_to_host().tolist() == masked.mask.tolist()
    )
    assert {*masked.mask.flat} == {True, False}


def test_pending_array_names_its_stream(driver: str) -> None:
    assert array("pending").__cuda_array_interface__["stream"] > 2


def test_unknown_name_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="'round' is no awkward array; the names are C-order, "):
        array("round")


def test_every_layout_of_the_kit_has_an_array() -> None:
    from cuarray.check import cases

    layouts = {*cases.LAYOUTS, *cases.REVERSED, *cases.BROADCAST, *(f"empty-{name}" for name in cases.EMPTY)}
    assert layouts <= set(ARRAYS)


def test_package_imports_without_the_test_libraries() -> None:
    import driver_probe

    program = (
        "import sys\nsys.modules.update(numpy=None, pytest=None, hypothesis=None)\n"
        "import cuarray.testing\nprint(len(cuarray.testing.ARRAYS) > 20)"
    )
    assert driver_probe.run_python(program).strip() == "True"
