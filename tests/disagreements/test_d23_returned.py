"""Arrays that go to and fro between libraries: no chain of owners grows."""

from __future__ import annotations

import gc
from typing import Any

import driver_probe
import numpy as np
import pytest

import cuarray

pytestmark = pytest.mark.usefixtures("driver")


def depth(array: Any) -> int:
    """How many owners there are, one behind the other."""
    links = 0
    while array is not None:
        if isinstance(array, cuarray.DeviceArray):
            array = array.owner
        else:
            data = getattr(array, "gpu_data", None)
            array = getattr(data, "owner", None)
            if array is data:
                array = None
        links += 1
    return links


def test_a_thousand_rounds(numba: Any) -> None:
    host = np.arange(6, dtype=np.float32)
    array = cuarray.to_device(host)
    first = depth(array)
    for _ in range(1000):
        array = cuarray.as_cuda_array(numba.as_cuda_array(array))
    assert depth(array) == first
    assert depth(numba.as_cuda_array(array)) == first + 1
    assert np.array_equal(array.copy_to_host(), host)


def test_a_part_comes_back_as_a_view(numba: Any) -> None:
    array = cuarray.to_device(np.arange(12.0).reshape(3, 4))
    part = cuarray.as_cuda_array(numba.as_cuda_array(array)[1:, ::2])
    assert part.owner is array.owner
    assert part.copy_to_host().tolist() == [[4, 6], [8, 10]]
    # It shares what is pending.
    stream = cuarray.stream()
    driver_probe.fill(part.ptr, 0, 8, stream.handle)
    part.record_stream(stream)
    assert array.__cuda_array_interface__["stream"] is not None
    assert array.copy_to_host()[1, 0] == 0


def test_the_memory_is_kept(numba: Any) -> None:
    array = cuarray.to_device(np.arange(4))
    back = cuarray.as_cuda_array(numba.as_cuda_array(array))
    del array
    gc.collect()
    assert back.copy_to_host().tolist() == [0, 1, 2, 3]


def test_read_only_survives(numba: Any) -> None:
    from producers import foreign

    memory = cuarray.to_device(np.arange(4))
    locked = cuarray.as_cuda_array(foreign(memory, data=(memory.ptr, True)))
    assert cuarray.as_cuda_array(numba.as_cuda_array(locked)).readonly


def test_a_borrow_that_is_over_is_over_for_what_came_back(numba: Any) -> None:
    array = cuarray.to_device(np.arange(4))
    with cuarray.borrow(array, cuarray.stream()) as lent:
        back = cuarray.as_cuda_array(numba.as_cuda_array(lent))
        assert back.stream == lent.stream
    with pytest.raises(BufferError, match="given back"):
        back.copy_to_host()


def test_what_has_something_of_its_own_is_kept(numba: Any) -> None:
    ours = cuarray.to_device(np.arange(4))
    bound = numba.as_cuda_array(ours).bind(numba.stream())
    assert cuarray.as_cuda_array(bound).owner is bound, "it keeps its stream"
    theirs = numba.to_device(np.arange(4))
    assert cuarray.as_cuda_array(theirs).owner is theirs, "it keeps its memory"

    class Subclass(type(theirs)):  # type: ignore[misc]
        pass

    other = numba.as_cuda_array(ours)
    other.__class__ = Subclass
    assert cuarray.as_cuda_array(other).owner is other, "who knows what that keeps"
