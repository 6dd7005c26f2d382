"""Arguments over the same memory: a function acquires several for reading, or one for writing."""

from __future__ import annotations

import numpy as np
import pytest
import typed_views
from producers import Producer

import cuarray


@pytest.fixture
def array(driver: str) -> cuarray.DeviceArray:
    return cuarray.to_device(np.zeros((4, 6), np.float32))


def test_one_array_as_two_written_arguments_is_an_error(array, home, elsewhere):
    with pytest.raises(
        BufferError, match=r"for writing: its elements \(shape \(4, 6\).*live guard for writing \(shape \(4, 6\)"
    ):
        typed_views.both_written(array, array, home, elsewhere)
    # The error has released the first argument.
    typed_views.both_written(array, cuarray.to_device(np.zeros(3, np.float32)), home, elsewhere)


def test_one_array_as_a_read_and_a_written_argument_is_an_error(array, home):
    with pytest.raises(BufferError, match="live guard for reading"):
        typed_views.read_and_written(array, array, home)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.s_[:2], np.s_[2:]),
        (np.s_[:, ::2], np.s_[:, 1::2]),
        (np.s_[:, :3], np.s_[:, 3:]),
        (np.s_[0:0], np.s_[:]),
    ],
)
def test_views_without_common_elements_may_both_be_written(array, home, elsewhere, one, other):
    typed_views.both_written(array[one], array[other], home, elsewhere)


def test_overlapping_views_are_an_error(array, home, elsewhere):
    with pytest.raises(BufferError, match=r"shape \(2, 6\)"):
        typed_views.both_written(array[1:3], array[2:4], home, elsewhere)


def test_objects_of_two_libraries_over_one_memory_are_an_error(array, home, elsewhere):
    same_memory = Producer(array.__cuda_array_interface__ | {"stream": None}, keeps=array)
    with pytest.raises(BufferError, match="share memory"):
        typed_views.both_written(array, same_memory, home, elsewhere)
