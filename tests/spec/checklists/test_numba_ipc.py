"""Checklist 4B, items 67 to 71: arrays shared between processes, from numba-cuda's test suite.

Each test's name has the item's number. More tests are in `package/test_ipc.py`.
"""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from other_process import run_in_other_process
from producers import foreign

import cuarray

VARIANTS = list(itertools.product([None, slice(3, None), slice(3, 8), slice(None, 8)], [False, True]))
READ = "with handle as array: result = array.copy_to_host()"


def variant(index: slice | None, is_foreign: bool) -> Any:
    """Ten numbers or a slice of them, directly or imported as another library's array."""
    array = cuarray.to_device(np.arange(10, dtype=np.intp))
    if index is not None:
        array = array[index]
    return cuarray.as_cuda_array(foreign(array)) if is_foreign else array


def test_4b_67_other_process_reads_same_data(driver_kind: str) -> None:
    array = variant(None, False)
    assert run_in_other_process(READ, handle=array.get_ipc_handle()).tolist() == list(range(10))


@pytest.mark.parametrize(("index", "is_foreign"), VARIANTS)
def test_4b_68_pickled_ipc_handle_keeps_size_and_bytes(driver_kind: str, index: slice | None, is_foreign: bool) -> None:
    array = variant(index, is_foreign)
    handle = array.get_ipc_handle()
    again = pickle.loads(pickle.dumps(handle))
    assert (again.nbytes, again.handle) == (handle.nbytes, handle.handle) == (array.nbytes, again.handle)
    assert again.owner is None


@pytest.mark.parametrize(("index", "is_foreign"), VARIANTS)
def test_4b_69_other_process_reads_slices_and_imported_arrays(
    driver_kind: str, index: slice | None, is_foreign: bool
) -> None:
    array = variant(index, is_foreign)
    expected = array.copy_to_host()
    assert np.array_equal(run_in_other_process(READ, handle=array.get_ipc_handle()), expected)


def test_4b_70_ipc_handle_is_a_reentrant_context_manager(driver_kind: str) -> None:
    """Numba refuses to open a handle twice. The driver counts openings, so cuarray can open it twice and close it twice."""
    program = """
with handle as first:
    with handle as second:
        same = first.ptr == second.ptr
    result = (same, first.copy_to_host().tolist())
"""
    assert run_in_other_process(program, handle=variant(slice(7, None), False).get_ipc_handle()) == (True, [7, 8, 9])


def test_4b_71_opened_array_is_copied_to_every_device(driver_kind: str) -> None:
    """Numba stages this copy through the host; cuarray uses the driver's copy between devices."""
    program = """
import ctypes
count = ctypes.c_int()
with handle as array:
    driver_probe.call("cuDeviceGetCount", ctypes.byref(count))
    copies = [cuarray.to_device(array, device=device) for device in range(count.value)]
    result = [(copy.device, copy.copy_to_host().tolist()) for copy in copies]
    del copies
"""
    result = run_in_other_process(program, {"CUARRAY_SIM_DEVICES": "3"}, handle=variant(None, False).get_ipc_handle())
    assert result == [(device, list(range(10))) for device in range(len(result))]
    assert len(result) == 3 or driver_kind == "real"
