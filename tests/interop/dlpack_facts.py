"""Tests of DLPack exchange between cuarray and any library with tensors. A test file adds the library as a fixture."""

from __future__ import annotations

import gc
import weakref
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
import pytest
from cases import Case, cases
from driver import Driver
from facts import Refused
from library import Array, Library
from pending import pending_in

import cuarray

every_case = pytest.mark.parametrize("case", cases(), ids=str)


class Tensors(Protocol):
    """The methods for tensors that a `Library` adds for these tests."""

    lacks: set[str]

    def make(self, case: Case, stream: Any = None) -> Array: ...
    def stream(self) -> Any: ...

    def tensor(self, array: Any, stream: Any = None) -> Array:
        """Import an array of cuarray as a tensor, for work in `stream`."""

    def current(self, stream: Any) -> AbstractContextManager[Any]:
        """Make a stream the library's current stream."""


def described(array: Any) -> tuple[Any, ...]:
    return array.shape, array.strides, array.dtype


class DLPackFacts:
    @every_case
    def test_cuarray_imports_tensor_in_place(self, library: Tensors, case: Case) -> None:
        if case.layout in library.lacks:
            with pytest.raises(Refused):
                library.make(case)
            return
        made = library.make(case)
        imported = cuarray.from_dlpack(made.held)
        assert imported.ptr == made.address
        assert described(imported) == (case.shape, case.strides, case.numpy_type)
        np.testing.assert_array_equal(imported.copy_to_host(), case.values())

    @every_case
    def test_library_imports_cuarray_array_in_place(self, own: Library, library: Tensors, case: Case) -> None:
        made = own.make(case)
        if case.layout in library.lacks:
            with pytest.raises(Refused):
                library.tensor(made.held)
            return
        imported = library.tensor(made.held)
        assert imported.address == made.address
        assert described(imported) == (case.shape, case.strides, case.numpy_type)
        np.testing.assert_array_equal(imported.read(), case.values())

    @pytest.mark.parametrize("how", [{"stream": 1}, {"stream": -1}, {"copy": True}], ids=str)
    def test_import_follows_stream_and_copy_arguments(self, library: Tensors, how: dict[str, Any]) -> None:
        made = library.make(Case("float32", (2, 3), "C"))
        imported = cuarray.from_dlpack(made.held, **how)
        assert (imported.ptr == made.address) == ("copy" not in how)
        np.testing.assert_array_equal(imported.copy_to_host(), made.read())

    def test_cuarray_memory_is_freed_with_the_librarys_tensor(self, library: Tensors) -> None:
        array = cuarray.to_device(np.arange(5))
        memory = weakref.ref(array.owner)
        imported = library.tensor(array)
        del array
        gc.collect()
        assert memory() is not None
        assert imported.read().tolist() == [0, 1, 2, 3, 4]
        del imported
        gc.collect()
        assert memory() is None

    def test_cuarray_waits_for_the_librarys_pending_work(self, library: Tensors, driver: Driver) -> None:
        with pending_in(library, driver) as (made, stream, expected):
            with library.current(stream):
                imported = cuarray.from_dlpack(made.held, stream=cuarray.stream())
            np.testing.assert_array_equal(imported.copy_to_host(), expected)

    def test_library_waits_for_cuarrays_pending_work(self, own: Library, library: Tensors, driver: Driver) -> None:
        with pending_in(own, driver) as (made, _, expected):
            reading = library.stream()
            np.testing.assert_array_equal(library.tensor(made.held, reading).read(reading), expected)
