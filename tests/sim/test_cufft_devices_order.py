"""The order of transforms on several devices by the stand-in for cuFFT."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import divided_fft
import driver_probe
import numpy as np
import pytest
from device_probe import second_stream
from divided_fft import INPLACE, Divided, Factors
from fft_probe import INVERSE, SUCCESS, Fft, close


def test_transform_without_a_stream_is_synchronous_and_follows_the_default_streams(fft: Fft, divided: Any) -> None:
    plan, values = divided([64], "C2C"), fft.random([64], np.complex64)
    assert fft.library.cufftSetStream(plan.plan, None) == SUCCESS
    descriptor = plan.put(INPLACE, values)
    address = descriptor.contents.descriptor.contents.data[1]
    with driver_probe.primary_context(1):
        fill(address, ctypes.c_void_p())
    assert plan.execute(descriptor) == SUCCESS
    values[32:] = 0
    with driver_probe.primary_context(1), second_stream() as other:
        expected = np.fft.fft(values)
        close(plan.get(descriptor, values), expected)
        fill(address, other)


def test_default_streams_of_the_other_devices_follow_a_transform_in_a_stream(fft: Fft, divided: Any) -> None:
    plan, values = divided([64], "C2C"), fft.random([64], np.complex64)
    descriptor = plan.put(INPLACE, values)
    assert plan.execute(descriptor) == SUCCESS
    address = descriptor.contents.descriptor.contents.data[1]
    with driver_probe.primary_context(1):
        fill(address, ctypes.c_void_p())
    assert not plan.get(descriptor, values)[fft_indices(fft, plan)].any()


def fft_indices(fft: Fft, plan: Divided) -> np.ndarray:
    """The indices of the elements of the second device."""
    factors = Factors()
    assert fft.library.cufftXtQueryPlan(plan.plan, ctypes.byref(factors), 0) == SUCCESS
    index = np.arange(factors.size)
    return index[(index & factors.factor1_mask) >= factors.factor1 // 2]


def fill(address: int, stream: ctypes.c_void_p) -> None:
    driver_probe.call("cuMemsetD8Async", ctypes.c_uint64(address), ctypes.c_ubyte(0), ctypes.c_size_t(256), stream)


def fill_beside(fft: Fft, plan: Divided, descriptor: Any, device: int, is_before: bool, waits: bool) -> None:
    """Transform, and write the memory of a device in another stream of it, before or after the transform."""
    address = descriptor.contents.descriptor.contents.data[device]
    with driver_probe.primary_context(device), second_stream() as other:
        streams = [(0, fft.stream), (device, other)]
        for step in range(2):
            if (step == 0) == is_before:
                fill(address, other)
            else:
                assert plan.execute(descriptor) == SUCCESS
            if step == 0 and waits:
                wait(*(streams[::-1] if is_before else streams))
        driver_probe.call("cuStreamSynchronize", other)
    driver_probe.call("cuStreamSynchronize", fft.stream)


def wait(first: tuple[int, ctypes.c_void_p], second: tuple[int, ctypes.c_void_p]) -> None:
    """Let a stream of a device wait for one of another device."""
    event = ctypes.c_void_p()
    with driver_probe.primary_context(first[0]):
        driver_probe.call("cuEventCreate", ctypes.byref(event), 2)
        driver_probe.call("cuEventRecord", event, first[1])
    with driver_probe.primary_context(second[0]):
        driver_probe.call("cuStreamWaitEvent", second[1], event, 0)
    driver_probe.call("cuEventDestroy_v2", event)


@pytest.mark.parametrize("device", range(2))
@pytest.mark.parametrize("is_before", [False, True], ids=["after", "before"])
@pytest.mark.cuarray_sim(expect="data-race")
def test_other_stream_of_each_device_without_a_wait_is_a_race(
    fft: Fft, divided: Any, findings_of: Any, is_before: bool, device: int
) -> None:
    plan = divided([64], "C2C")
    descriptor = plan.put(INPLACE, fft.random([64], np.complex64))
    fill_beside(fft, plan, descriptor, device, is_before, waits=False)
    calls = [side for each in findings_of() for side in each["sides"] if side["call"] == "cufftXtExecDescriptorC2C"]
    # A write before the transform races with its read, too.
    assert {side["detail"] for side in calls} == {"argument output", *(["argument input"] if is_before else [])}
    assert {Path(side["site"]["user"]["file"]).name for side in calls} == {Path(divided_fft.__file__).name}


@pytest.mark.parametrize("device", range(2))
@pytest.mark.parametrize("is_before", [False, True], ids=["after", "before"])
def test_other_stream_of_each_device_with_a_wait_has_no_findings(
    fft: Fft, divided: Any, is_before: bool, device: int
) -> None:
    plan = divided([64], "C2C")
    descriptor = plan.put(INPLACE, fft.random([64], np.complex64))
    fill_beside(fft, plan, descriptor, device, is_before, waits=True)


def test_graph_transforms_on_both_devices_at_each_launch(fft: Fft, divided: Any) -> None:
    plan, values = divided([32, 32], "C2C"), fft.random([32, 32], np.complex64)
    descriptor = plan.put(INPLACE, values)
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    driver_probe.call("cuStreamBeginCapture_v2", fft.stream, 0)
    assert plan.execute(descriptor) == SUCCESS
    assert plan.execute(descriptor, direction=INVERSE) == SUCCESS
    driver_probe.call("cuStreamEndCapture", fft.stream, ctypes.byref(graph))
    driver_probe.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_uint64(0))
    driver_probe.call("cuGraphDestroy", graph)
    for _ in range(2):
        driver_probe.call("cuGraphLaunch", executable, fft.stream)
    close(plan.get(descriptor, values) / 2**20, values)
    driver_probe.call("cuGraphExecDestroy", executable)
