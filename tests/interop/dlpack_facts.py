"""What holds of DLPack between cuarray and any library with tensors, both ways; a test file adds the library."""

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
    """What a `Library` has beside, for tensors."""

    lacks: set[str]

    def make(self, case: Case, stream: Any = None) -> Array: ...
    def stream(self) -> Any: ...

    def tensor(self, array: Any, stream: Any = None) -> Array:
        """The tensor of an array of ours, for work in `stream`."""

    def current(self, stream: Any) -> AbstractContextManager[Any]:
        """Makes a stream the one in which the library works."""


def described(array: Any) -> tuple[Any, ...]:
    return array.shape, array.strides, array.dtype


class DLPackFacts:
    @every_case
    def test_into_cuarray(self, library: Tensors, case: Case) -> None:
        if case.layout in library.lacks:
            with pytest.raises(Refused):
                library.make(case)
            return
        made = library.make(case)
        taken = cuarray.from_dlpack(made.held)
        assert taken.ptr == made.address
        assert described(taken) == (case.shape, case.strides, case.numpy_type)
        np.testing.assert_array_equal(taken.copy_to_host(), case.values())

    @every_case
    def test_from_cuarray(self, own: Library, library: Tensors, case: Case) -> None:
        made = own.make(case)
        if case.layout in library.lacks:
            with pytest.raises(Refused):
                library.tensor(made.held)
            return
        taken = library.tensor(made.held)
        assert taken.address == made.address
        assert described(taken) == (case.shape, case.strides, case.numpy_type)
        np.testing.assert_array_equal(taken.read(), case.values())

    @pytest.mark.parametrize("how", [{"stream": 1}, {"stream": -1}, {"copy": True}], ids=str)
    def test_what_is_asked_for(self, library: Tensors, how: dict[str, Any]) -> None:
        made = library.make(Case("float32", (2, 3), "C"))
        taken = cuarray.from_dlpack(made.held, **how)
        assert (taken.ptr == made.address) == ("copy" not in how)
        np.testing.assert_array_equal(taken.copy_to_host(), made.read())

    def test_our_memory_goes_with_the_last_of_theirs(self, library: Tensors) -> None:
        array = cuarray.to_device(np.arange(5))
        memory = weakref.ref(array.owner)
        taken = library.tensor(array)
        del array
        gc.collect()
        assert memory() is not None
        assert taken.read().tolist() == [0, 1, 2, 3, 4]
        del taken
        gc.collect()
        assert memory() is None

    def test_their_pending_work_is_waited_for(self, library: Tensors, driver: Driver) -> None:
        with pending_in(library, driver) as (made, stream, expected):
            with library.current(stream):
                taken = cuarray.from_dlpack(made.held, stream=cuarray.stream())
            np.testing.assert_array_equal(taken.copy_to_host(), expected)

    def test_our_pending_work_is_waited_for(self, own: Library, library: Tensors, driver: Driver) -> None:
        with pending_in(own, driver) as (made, _, expected):
            reading = library.stream()
            np.testing.assert_array_equal(library.tensor(made.held, reading).read(reading), expected)
