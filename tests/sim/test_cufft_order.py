"""The stand-in for cuFFT keeps the order of streams, and names its arguments in findings."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import driver_probe
import numpy as np
import pytest
from device_probe import order, second_stream
from fft_probe import FORWARD, NO_WORKSPACE, SUCCESS, Fft, at, close

NAMES = ["idata", "odata"]


def sides_of(findings: Any, call: str) -> list[Any]:
    return [side for finding in findings for side in finding["sides"] if side["call"] == call]


def write(address: int, stream: ctypes.c_void_p, size: int = 64) -> None:
    driver_probe.call("cuMemsetD8Async", ctypes.c_uint64(address), ctypes.c_ubyte(1), ctypes.c_size_t(size), stream)


@pytest.fixture
def arrays(fft: Fft) -> tuple[int, np.ndarray, list[int]]:
    """A plan of 8 complex numbers, their values, and the addresses of the input and of the output."""
    values = fft.random([8], np.complex64)
    return fft.plan([8], "C2C"), values, [fft.put(values), fft.put(values)]


@pytest.mark.parametrize("index", range(2), ids=NAMES)
@pytest.mark.cuarray_sim(expect="data-race")
def test_write_before_the_call_without_a_wait_is_a_race(
    fft: Fft, arrays: Any, index: int, schedule: str, findings_of: Any
) -> None:
    plan, _, addresses = arrays
    with second_stream() as other:
        write(addresses[index], other)
        assert fft.execute(plan, "C2C", *addresses) == SUCCESS
    found = sides_of(findings_of(), "cufftExecC2C")
    assert {(side["detail"], side["access"]) for side in found} == {
        (f"argument {NAMES[index]}", ["read", "write"][index])
    }
    assert {Path(side["site"]["user"]["file"]).name for side in found} == {"fft_probe.py"}


@pytest.mark.parametrize("index", range(2), ids=NAMES)
def test_write_before_the_call_with_a_wait_has_no_findings(fft: Fft, arrays: Any, index: int, schedule: str) -> None:
    plan, _, addresses = arrays
    with second_stream() as other:
        write(addresses[index], other)
        order(other, fft.stream)
        assert fft.execute(plan, "C2C", *addresses) == SUCCESS


@pytest.mark.parametrize("index", range(2), ids=NAMES)
@pytest.mark.cuarray_sim(expect="data-race")
def test_write_after_the_call_without_a_wait_is_a_race(
    fft: Fft, arrays: Any, index: int, schedule: str, findings_of: Any
) -> None:
    plan, _, addresses = arrays
    with second_stream() as other:
        assert fft.execute(plan, "C2C", *addresses) == SUCCESS
        write(addresses[index], other)
    found = sides_of(findings_of(), "cufftExecC2C")
    assert {side["detail"] for side in found} == {f"argument {NAMES[index]}"}


@pytest.mark.parametrize("index", range(2), ids=NAMES)
def test_write_after_the_call_with_a_wait_has_no_findings(fft: Fft, arrays: Any, index: int, schedule: str) -> None:
    plan, values, addresses = arrays
    with second_stream() as other:
        assert fft.execute(plan, "C2C", *addresses) == SUCCESS
        order(fft.stream, other)
        write(addresses[index], other)
        driver_probe.call("cuStreamSynchronize", other)
        if index == 0:
            close(fft.get(addresses[1], values), np.fft.fft(values))


@pytest.mark.cuarray_sim(expect="data-race")
def test_transform_in_place_without_a_wait_is_a_race_of_both_arguments(fft: Fft, arrays: Any, findings_of: Any) -> None:
    plan, _, addresses = arrays
    with second_stream() as other:
        write(addresses[0], other)
        assert fft.execute(plan, "C2C", addresses[0], addresses[0]) == SUCCESS
    found = sides_of(findings_of(), "cufftExecC2C")
    assert {side["detail"] for side in found} == {"argument idata", "argument odata"}


def test_transform_in_place_with_a_wait_has_no_findings(fft: Fft, arrays: Any) -> None:
    plan, _, addresses = arrays
    with second_stream() as other:
        write(addresses[0], other)
        order(other, fft.stream)
        assert fft.execute(plan, "C2C", addresses[0], addresses[0]) == SUCCESS


@pytest.mark.cuarray_sim(expect="uninitialized-read")
def test_input_that_nothing_wrote_is_found(fft: Fft, arrays: Any, findings_of: Any) -> None:
    plan, values, addresses = arrays
    assert fft.execute(plan, "C2C", fft.memory(values.nbytes), addresses[1]) == SUCCESS
    fft.get(addresses[1], values)
    assert [each["sides"][0]["detail"] for each in findings_of()] == ["argument idata"]


def test_output_that_nothing_wrote_is_no_finding(fft: Fft, arrays: Any) -> None:
    plan, values, addresses = arrays
    place = fft.memory(values.nbytes)
    assert fft.execute(plan, "C2C", addresses[0], place) == SUCCESS
    close(fft.get(place, values), np.fft.fft(values))


def test_gaps_of_a_layout_may_be_written_by_another_stream(fft: Fft) -> None:
    """Rows of 4 in 6 elements: another stream writes the last two of each."""
    handle, n, embed = ctypes.c_int(), (ctypes.c_int * 1)(4), (ctypes.c_int * 1)(6)
    status = fft.library.cufftPlanMany(ctypes.byref(handle), 1, n, embed, 1, 6, embed, 1, 6, 0x29, 3)
    assert status == SUCCESS
    values = fft.random([3, 6], np.complex64)
    put = fft.put(values)
    with second_stream() as other:
        for row in range(3):
            write(put + row * 48 + 32, other, 16)
        assert fft.execute(fft.keep(handle.value), "C2C", put, put) == SUCCESS
        driver_probe.call("cuStreamSynchronize", other)
        close(fft.get(put, values)[:, :4], np.fft.fft(values[:, :4]))


def test_nothing_waits_for_the_stream(fft: Fft, arrays: Any) -> None:
    """A plan is made, executed and destroyed behind work that cannot end."""
    _, values, addresses = arrays
    handle, n = ctypes.c_int(), (ctypes.c_int * 1)(8)
    with driver_probe.held(fft.stream.value):
        status = fft.library.cufftPlanMany(ctypes.byref(handle), 1, n, None, 1, 0, None, 1, 0, 0x29, 1)
        assert status == SUCCESS
        assert fft.library.cufftSetStream(handle.value, fft.stream) == SUCCESS
        assert fft.execute(handle.value, "C2C", *addresses) == SUCCESS
        assert fft.library.cufftDestroy(handle.value) == SUCCESS
    # Also the work of a destroyed plan ends.
    close(fft.get(addresses[1], values), np.fft.fft(values))


def test_graph_transforms_again_at_each_launch(fft: Fft, arrays: Any) -> None:
    plan, values, addresses = arrays
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    driver_probe.call("cuStreamBeginCapture_v2", fft.stream, 0)
    assert fft.execute(plan, "C2C", addresses[0], addresses[0]) == SUCCESS
    driver_probe.call("cuStreamEndCapture", fft.stream, ctypes.byref(graph))
    driver_probe.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_uint64(0))
    driver_probe.call("cuGraphDestroy", graph)
    np.testing.assert_array_equal(fft.get(addresses[0], values), values)
    for _ in range(2):
        driver_probe.call("cuGraphLaunch", executable, fft.stream)
    # Two transforms reverse the order of all elements but the first.
    close(fft.get(addresses[0], values), 8 * np.roll(values[::-1], 1))
    driver_probe.call("cuGraphExecDestroy", executable)


def work_area(fft: Fft, plan: int) -> int:
    """Give a plan a work area of its own."""
    size = ctypes.c_size_t()
    assert fft.library.cufftGetSize(plan, ctypes.byref(size)) == SUCCESS
    area = fft.memory(size.value)
    assert fft.library.cufftSetWorkArea(plan, at(area)) == SUCCESS
    return area


@pytest.mark.cuarray_sim(expect="data-race")
def test_plans_of_two_streams_that_share_a_work_area_race(fft: Fft, arrays: Any, findings_of: Any) -> None:
    plan, values, addresses = arrays
    second = fft.plan([8], "C2C")
    area = work_area(fft, plan)
    assert fft.library.cufftSetWorkArea(second, at(area)) == SUCCESS
    with second_stream() as other:
        assert fft.library.cufftSetStream(second, other) == SUCCESS
        assert fft.execute(plan, "C2C", *addresses) == SUCCESS
        assert fft.execute(second, "C2C", addresses[0], fft.memory(values.nbytes)) == SUCCESS
    assert {side["detail"] for side in sides_of(findings_of(), "cufftExecC2C")} == {"argument workArea"}


def test_plans_of_two_streams_with_their_own_work_areas_have_no_findings(fft: Fft, arrays: Any) -> None:
    plan, values, addresses = arrays
    second = fft.plan([8], "C2C")
    work_area(fft, plan)
    work_area(fft, second)
    with second_stream() as other:
        assert fft.library.cufftSetStream(second, other) == SUCCESS
        assert fft.execute(plan, "C2C", *addresses) == SUCCESS
        assert fft.execute(second, "C2C", addresses[0], fft.memory(values.nbytes)) == SUCCESS


def test_plan_without_allocation_needs_a_work_area(fft: Fft, arrays: Any) -> None:
    _, values, addresses = arrays
    plan, size, n = fft.create(), ctypes.c_size_t(), (ctypes.c_int * 1)(8)
    assert fft.library.cufftSetAutoAllocation(plan, 0) == SUCCESS
    status = fft.library.cufftMakePlanMany(plan, 1, n, None, 1, 0, None, 1, 0, 0x29, 1, ctypes.byref(size))
    assert (status, size.value) == (SUCCESS, 64)
    assert fft.library.cufftExecC2C(plan, at(addresses[0]), at(addresses[1]), FORWARD) == NO_WORKSPACE
    area = work_area(fft, plan)
    assert fft.library.cufftExecC2C(plan, at(addresses[0]), at(addresses[1]), FORWARD) == SUCCESS
    close(fft.get(addresses[1], values), np.fft.fft(values))
    # The contents of the work area mean nothing.
    assert (fft.get(area, np.zeros(64, np.uint8)) == 255).all()
