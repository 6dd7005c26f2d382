"""Faults on demand: one call fails, and has no other effect."""

from __future__ import annotations

import ctypes

import driver_probe
import pytest

import cuarray_sim

pytestmark = pytest.mark.usefixtures("simulator")


def allocate() -> int:
    """The result of one allocation of 64 bytes, which is freed at once."""
    pointer = ctypes.c_uint64()
    with driver_probe.primary_context():
        result = int(driver_probe.library().cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(64)))
        if result == 0:
            driver_probe.call("cuMemFree_v2", pointer)
    return result


@pytest.mark.parametrize(("error", "code"), [("CUDA_ERROR_OUT_OF_MEMORY", 2), (999, 999), (12345, 12345)])
def test_next_call_fails_once(error: str | int, code: int) -> None:
    cuarray_sim.fail_next("cuMemAlloc_v2", error)
    assert [allocate(), allocate()] == [code, 0]


def test_call_fails_after_the_given_number_of_calls() -> None:
    cuarray_sim.fail_next("cuMemAlloc_v2", "CUDA_ERROR_UNKNOWN", after=2)
    assert [allocate() for _ in range(4)] == [0, 0, 999, 0]


def test_failed_call_has_no_other_effect() -> None:
    before = cuarray_sim.statistics()["allocations"]
    cuarray_sim.fail_next("cuMemAlloc_v2", "CUDA_ERROR_UNKNOWN")
    allocate()
    assert cuarray_sim.statistics()["allocations"] == before


def test_several_faults_are_independent() -> None:
    for after in (0, 2):
        cuarray_sim.fail_next("cuMemAlloc_v2", "CUDA_ERROR_UNKNOWN", after=after)
    assert [allocate() for _ in range(4)] == [999, 0, 999, 0]


def test_clear_faults_returns_the_number_that_was_not_reached() -> None:
    assert cuarray_sim.clear_faults() == 0
    cuarray_sim.fail_next("cuMemAlloc_v2", "CUDA_ERROR_UNKNOWN")
    cuarray_sim.fail_next("cuMemAlloc_v2", "CUDA_ERROR_UNKNOWN", after=1)
    assert allocate() == 999
    assert cuarray_sim.clear_faults() == 1
    assert allocate() == 0


@pytest.mark.parametrize(
    ("call", "error", "after"),
    [
        ("cuMemAlloc", "CUDA_ERROR_UNKNOWN", 0),
        ("nothing", "CUDA_ERROR_UNKNOWN", 0),
        ("cuMemAlloc_v2", "CUDA_ERROR", 0),
        ("cuMemAlloc_v2", "", 0),
        ("cuMemAlloc_v2", -1, 0),
        ("cuMemAlloc_v2", "CUDA_ERROR_UNKNOWN", -1),
        ("cuMemAlloc_v2:1", "CUDA_ERROR_UNKNOWN", 0),
    ],
)
def test_unknown_call_or_result_is_a_value_error(call: str, error: str | int, after: int) -> None:
    with pytest.raises(ValueError, match="no such fault"):
        cuarray_sim.fail_next(call, error, after=after)
    assert cuarray_sim.clear_faults() == 0
