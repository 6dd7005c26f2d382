"""D16: the consumer waits for the exported stream.

PyTorch, cuDF, pylibcudf, RMM, Warp, PyArrow, PyCUDA and the captured globals of numba's kernels ignore ``stream``. mpi4py ignores it
too, but documents it with a workaround, as the text allows.

The text: the consumer synchronizes on the given stream before it touches the data, or enqueues its work there (S2). Without a
stream there is nothing to wait for (S1).

cuarray: each import and copy of another library's array is ordered after the work in that array's stream. Imports wait. Copies are
enqueued after that work, and do not block the host if the copy itself does not. The stream of a mask is included.
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
    """An array of zeros with a pending fill, which sets the elements to 7 when its stream is released."""

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
    "as_cuda_array without a wait, copied to the host": lambda obj: cuarray.as_cuda_array(
        obj, sync=False
    ).copy_to_host(),
}


@pytest.mark.parametrize("take", TAKE.values(), ids=list(TAKE))
def test_consumer_reads_elements_written_by_pending_work(late: Late, take: Callable[[Producer], Any]) -> None:
    late.hold.release_soon()
    assert take(late.producer).tolist() == [7] * 4


def test_copy_in_a_stream_waits_without_blocking_the_host(late: Late) -> None:
    stream = cuarray.stream()
    target = cuarray.to_device(np.zeros(4, np.uint8))
    target.copy_to_device(late.producer, stream=stream)
    assert late.hold.is_held, "the host waited"
    assert not stream.query(), "the copy did not wait"
    late.hold.release()
    stream.synchronize()
    assert target.copy_to_host().tolist() == [7] * 4


def test_copy_into_imported_array_runs_after_pending_fill(late: Late) -> None:
    array = cuarray.as_cuda_array(late.producer, sync=False)
    late.hold.release_soon()
    array.copy_to_device(np.full(4, 9, np.uint8))
    assert array.copy_to_host().tolist() == [9] * 4


def test_import_waits_for_the_stream_of_a_mask(late: Late) -> None:
    """Until its stream is released, the mask marks all elements as invalid."""
    values = foreign(cuarray.to_device(np.arange(4)), mask=late.producer)
    late.hold.release_soon()
    host = cuarray.as_cuda_array(values).copy_to_host()
    assert not late.hold.is_held
    assert not np.ma.getmaskarray(host).any()


def test_import_without_a_stream_does_not_wait(late: Late) -> None:
    """Neither if the stream is None, nor for a version without streams."""
    for entries in ({"stream": None}, {"version": 2}):
        cuarray.as_cuda_array(
            foreign(late.memory, **{"stream": late.producer.__cuda_array_interface__["stream"], **entries})
        )
    assert late.hold.is_held
