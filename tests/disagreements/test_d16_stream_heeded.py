"""D16: a stream that is given is heeded.

PyTorch, cuDF, pylibcudf, RMM, Warp, PyArrow, PyCUDA and the captured globals of numba's kernels never look at ``stream``. (mpi4py neither,
but says so and tells its users what to do, as the text allows.)

The text: the consumer synchronizes on the given stream before it touches the data, or enqueues its work there (S2). Who
is told none has nothing to wait for (S1).

cuarray: every way in which it takes another library's array comes after the work in that array's stream: imports wait; copies, with or
without a stream of their own, are put behind it, without blocking the host where the copy itself does not. The stream of a mask
counts too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import driver_probe
import numpy as np
import pytest
from producers import Producer, foreign

import cuarray


class Late:
    """An array whose elements become 7 only when its stream is let go: until then they are 0."""

    def __init__(self, stream: driver_probe.ForeignStream, hold: driver_probe.Held) -> None:
        self.memory, self.hold = cuarray.to_device(np.zeros(4, np.uint8)), hold
        driver_probe.fill(self.memory.ptr, 7, 4, stream.handle)
        self.producer = foreign(self.memory, stream=stream.handle)


@pytest.fixture
def late(foreign_stream: driver_probe.ForeignStream) -> Iterator[Late]:
    with driver_probe.held(foreign_stream.handle) as hold:
        yield Late(foreign_stream, hold)


def copied_into_new(producer: Producer) -> Any:
    target = cuarray.to_device(np.zeros(4, np.uint8))
    target.copy_to_device(producer)
    return target.copy_to_host()


def copied_in_the_targets_stream(producer: Producer) -> Any:
    target = cuarray.to_device(np.zeros(4, np.uint8), stream=cuarray.stream())
    target.copy_to_device(producer)
    return target.copy_to_host()


TAKE: dict[str, Callable[[Producer], Any]] = {
    "as_cuda_array": lambda obj: cuarray.as_cuda_array(obj).copy_to_host(),
    "from_cuda_array_interface": lambda obj: cuarray.from_cuda_array_interface(
        obj.__cuda_array_interface__, obj
    ).copy_to_host(),
    "to_device": lambda obj: cuarray.to_device(obj).copy_to_host(),
    "copy_to_device": copied_into_new,
    "copy_to_device, in the target's stream": copied_in_the_targets_stream,
    "numpy.asarray": lambda obj: np.asarray(cuarray.as_cuda_array(obj)),
    "not waited for on import, copied to the host": lambda obj: cuarray.as_cuda_array(obj, sync=False).copy_to_host(),
}


@pytest.mark.parametrize("take", TAKE.values(), ids=list(TAKE))
def test_what_is_taken_is_what_the_stream_has_written(late: Late, take: Callable[[Producer], Any]) -> None:
    late.hold.let_go_soon()
    assert take(late.producer).tolist() == [7] * 4


def test_a_copy_in_a_stream_waits_there_and_not_here(late: Late) -> None:
    stream = cuarray.stream()
    target = cuarray.to_device(np.zeros(4, np.uint8))
    target.copy_to_device(late.producer, stream=stream)
    assert late.hold.is_held, "the host waited"
    assert not stream.query(), "the copy did not wait"
    late.hold.let_go()
    stream.synchronize()
    assert target.copy_to_host().tolist() == [7] * 4


def test_writing_into_it_comes_after_its_work(late: Late) -> None:
    """A copy *to* the array, which the fill must not overwrite."""
    array = cuarray.as_cuda_array(late.producer, sync=False)
    late.hold.let_go_soon()
    array.copy_to_device(np.full(4, 9, np.uint8))
    assert array.copy_to_host().tolist() == [9] * 4


def test_the_stream_of_a_mask_is_heeded(late: Late) -> None:
    """Until its stream is let go, the mask says that nothing is valid."""
    values = foreign(cuarray.to_device(np.arange(4)), mask=late.producer)
    late.hold.let_go_soon()
    host = cuarray.as_cuda_array(values).copy_to_host()
    assert not late.hold.is_held
    assert not np.ma.getmaskarray(host).any()


def test_who_is_told_no_stream_waits_for_nothing(late: Late) -> None:
    """The same memory without a stream, and of a version that has none: no work of anybody's is waited for."""
    for entries in ({"stream": None}, {"version": 2}):
        cuarray.as_cuda_array(
            foreign(late.memory, **{"stream": late.producer.__cuda_array_interface__["stream"], **entries})
        )
    assert late.hold.is_held
