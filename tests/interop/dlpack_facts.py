"""Tests of DLPack exchange between cuarray and any library with tensors. A test file adds the library as a fixture."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from cases import Case, cases
from pending import pending_in
from route import Array, Library, current

import cuarray
from cuarray.check import NotClaimed

every_case = pytest.mark.parametrize("case", cases(), ids=str)


def tensor(library: Library, made: Array, stream: Any = None) -> Array:
    """Import an array as a tensor, for work in `stream`."""
    return library.take(made.held, made.case, stream, by="from_dlpack")


class DLPackFacts:
    @every_case
    def test_cuarray_imports_tensor_in_place(self, library: Library, case: Case) -> None:
        if library.lacks(case):
            with pytest.raises(NotClaimed):
                library.make(case)
            return
        made = library.make(case)
        imported = cuarray.from_dlpack(made.held)
        assert imported.ptr == made.address
        assert (imported.shape, imported.strides, imported.dtype) == (case.shape, case.strides, case.numpy_type)
        np.testing.assert_array_equal(imported.copy_to_host(), case.values())

    @every_case
    def test_library_imports_cuarray_array_in_place(self, own: Library, library: Library, case: Case) -> None:
        made = own.make(case)
        if library.lacks(case):
            with pytest.raises(NotClaimed):
                tensor(library, made)
            return
        imported = tensor(library, made)
        assert imported.address == made.address
        assert imported.layout == (case.shape, case.strides, case.numpy_type)
        np.testing.assert_array_equal(imported.read(), case.values())

    @pytest.mark.parametrize("how", [{"stream": 1}, {"stream": -1}, {"copy": True}], ids=str)
    def test_import_follows_stream_and_copy_arguments(self, library: Library, how: dict[str, Any]) -> None:
        made = library.make(Case("float32", (2, 3), "C"))
        imported = cuarray.from_dlpack(made.held, **how)
        assert (imported.ptr == made.address) == ("copy" not in how)
        np.testing.assert_array_equal(imported.copy_to_host(), made.read())

    def test_cuarray_memory_is_freed_with_the_librarys_tensor(self, own: Library, library: Library) -> None:
        made = own.make(Case("int64", (5,), "C"))
        memory = weakref.ref(made.held.owner)
        imported = tensor(library, made)
        del made
        gc.collect()
        assert memory() is not None
        assert imported.read().tolist() == [1, 2, 3, 4, 5]
        del imported
        gc.collect()
        assert memory() is None

    def test_cuarray_waits_for_the_librarys_pending_work(self, library: Library) -> None:
        with pending_in(library) as (made, stream, expected):
            with current(stream):
                imported = cuarray.from_dlpack(made.held, stream=cuarray.stream())
            np.testing.assert_array_equal(imported.copy_to_host(), expected)

    def test_library_waits_for_cuarrays_pending_work(self, own: Library, library: Library) -> None:
        with pending_in(own) as (made, _, expected):
            reading = library.stream()
            np.testing.assert_array_equal(tensor(library, made, reading).read(reading), expected)
