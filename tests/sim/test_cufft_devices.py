"""Transforms on several devices by the stand-in for cuFFT: the parts of each device, and the checks of descriptors."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import driver_probe
import numpy as np
import pytest
from divided_fft import (
    INPLACE,
    INPUT,
    INPUT_SHUFFLED,
    ON_DEVICE,
    OUTPUT,
    SHUFFLED,
    TO_DEVICE,
    Descriptor,
    Factors,
    Inner,
    pointer,
    set_gpus,
)
from fft_probe import (
    FORWARD,
    INVALID_DEVICE,
    INVALID_PLAN,
    INVALID_SIZE,
    INVALID_TYPE,
    INVALID_VALUE,
    INVERSE,
    NO_WORKSPACE,
    NOT_SUPPORTED,
    SUCCESS,
    TYPES,
    Fft,
    at,
    close,
)

import cuarray_sim


@pytest.mark.parametrize("form", [INPLACE, INPUT_SHUFFLED], ids=["natural", "shuffled"])
@pytest.mark.parametrize(("kind", "devices"), [("C2C", [0, 1]), ("Z2Z", [1, 0]), ("C2C", [0, 1, 1, 0])])
def test_result_of_one_dimension_lies_in_strings(
    fft: Fft, divided: Any, kind: str, devices: list[int], form: int
) -> None:
    plan = divided([256], kind, devices=devices)
    values = fft.random([256], np.complex64 if kind == "C2C" else np.complex128)
    descriptor = plan.put(form, values)
    assert plan.execute(descriptor) == SUCCESS
    assert descriptor.contents.subFormat == SHUFFLED
    expected, factors = np.fft.fft(values), Factors()
    assert fft.library.cufftXtQueryPlan(plan.plan, ctypes.byref(factors), 0) == SUCCESS
    # The formula of the manual: substrings of a string start `factor1` elements apart.
    place = np.arange(256)
    string, inside = place >> factors.string_shift, place & factors.string_mask
    substring, element = inside >> factors.substring_shift, inside & factors.substring_mask
    index = string * factors.substring + substring * factors.factor1 + element
    assert sorted(index) == list(place)
    plan.has(descriptor, np.split(expected[index].astype(values.dtype), len(devices)))
    close(plan.get(descriptor, values), expected)
    # A permuted result is not the input of one dimension, until a copy has ordered it.
    assert plan.execute(descriptor) == INVALID_TYPE
    natural = plan.memory(INPLACE)
    assert plan.copy(natural, descriptor, ON_DEVICE) == SUCCESS
    plan.has(natural, np.split(expected.astype(values.dtype), len(devices)))
    assert plan.execute(natural, direction=INVERSE) == SUCCESS
    close(plan.get(natural, values) / 256, values)


@pytest.mark.parametrize("sizes", [[33, 50], [32, 35, 33]], ids=["2d", "3d"])
@pytest.mark.parametrize("devices", [[0, 1], [1, 0, 1]], ids=["two", "three"])
def test_first_dimension_is_divided_before_and_second_one_after(
    fft: Fft, divided: Any, sizes: list[int], devices: list[int]
) -> None:
    plan = divided(sizes, "Z2Z", devices=devices)
    values = fft.random(sizes, np.complex128)
    descriptor = plan.put(INPLACE, values)
    plan.has(descriptor, [np.ascontiguousarray(part) for part in np.array_split(values, len(devices))])
    assert plan.execute(descriptor) == SUCCESS
    assert descriptor.contents.subFormat == SHUFFLED
    result = np.fft.fftn(values)
    plan.has(descriptor, [np.ascontiguousarray(part) for part in np.array_split(result, len(devices), axis=1)])
    close(plan.get(descriptor, values), result)
    # A transform of the permuted result ends in the natural order.
    assert plan.execute(descriptor, direction=INVERSE) == SUCCESS
    assert descriptor.contents.subFormat == INPLACE
    close(plan.get(descriptor, values) / math.prod(sizes), values)
    shuffled = plan.memory(SHUFFLED)
    assert plan.copy(shuffled, descriptor, ON_DEVICE) == SUCCESS
    close(plan.get(shuffled, values) / math.prod(sizes), values)


def test_volume_of_real_numbers_is_transformed_in_place_and_back(fft: Fft, divided: Any) -> None:
    sizes = [32, 34, 33]
    there, back = divided(sizes, "R2C"), divided(sizes, "C2R")
    padded = fft.random([32, 34, 34], np.float32)
    values = padded[:, :, :33]
    descriptor = there.put(INPLACE, padded)
    assert there.execute(descriptor) == SUCCESS
    assert descriptor.contents.subFormat == SHUFFLED
    close(there.get(descriptor, np.empty([32, 34, 17], np.complex64)), np.fft.rfftn(values))
    assert there.execute(descriptor) == INVALID_TYPE
    assert back.execute(descriptor) == SUCCESS
    assert descriptor.contents.subFormat == INPLACE
    close(back.get(descriptor, padded)[:, :, :33] / np.float32(math.prod(sizes)), values)
    assert back.execute(descriptor) == INVALID_TYPE


def test_whole_transforms_of_a_batch_are_divided(fft: Fft, divided: Any) -> None:
    plan = divided([5, 6], "C2C", batch=5)
    values = fft.random([5, 5, 6], np.complex64)
    descriptor = plan.put(INPLACE, values)
    assert plan.execute(descriptor) == SUCCESS
    # The first devices have one more, and the order is natural.
    expected = np.fft.fft2(values).astype(values.dtype)
    plan.has(descriptor, [expected[:3], expected[3:]])
    close(plan.get(descriptor, values), expected)
    assert plan.copy(plan.memory(INPLACE), descriptor, ON_DEVICE) == NOT_SUPPORTED
    real = divided([9], "D2Z", batch=3)
    numbers = fft.random([3, 9], np.float64)
    source, target = real.put(INPUT, numbers), real.memory(OUTPUT)
    assert real.execute(source, target) == SUCCESS
    close(real.get(target, np.empty([3, 5], np.complex128)), np.fft.rfft(numbers))


def test_descriptor_that_the_program_makes_is_used(fft: Fft, divided: Any) -> None:
    plan = divided([64], "C2C")
    values = fft.random([64], np.complex64)
    inner = Inner(nGPUs=2, GPUs=(0, 1))
    for device in range(2):
        address = ctypes.c_uint64()
        with driver_probe.primary_context(device):
            driver_probe.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(256))
        inner.data[device], inner.size[device] = address.value, 256
    own = Descriptor(descriptor=ctypes.pointer(inner), subFormat=INPLACE)
    assert plan.copy(ctypes.byref(own), pointer(values), TO_DEVICE) == SUCCESS
    assert plan.execute(ctypes.byref(own)) == SUCCESS
    assert own.subFormat == SHUFFLED
    close(plan.get(ctypes.byref(own), values), np.fft.fft(values))
    for device in range(2):
        with driver_probe.primary_context(device):
            driver_probe.call("cuMemFree_v2", ctypes.c_uint64(inner.data[device]))


def test_devices_and_sizes_are_checked(fft: Fft, divided: Any) -> None:
    library = fft.library
    assert set_gpus(fft, fft.create(), [0, 99]) == INVALID_DEVICE
    assert set_gpus(fft, fft.create(), [0] * 17) == INVALID_VALUE
    assert library.cufftXtSetGPUs(fft.create(), 2, None) == INVALID_VALUE
    assert set_gpus(fft, fft.plan([64], "C2C"), [0, 1]) == INVALID_PLAN
    size = (ctypes.c_size_t * 3)()
    for devices, number, kind, batch, expected in (
        ([0, 1], 60, "C2C", 1, INVALID_SIZE),
        ([0, 1], 32, "C2C", 1, INVALID_SIZE),
        ([0, 1, 0], 64, "C2C", 1, INVALID_VALUE),
        ([0, 1], 64, "R2C", 1, NOT_SUPPORTED),
        ([0, 1, 0], 7, "R2C", 2, SUCCESS),
    ):
        plan = fft.create()
        assert set_gpus(fft, plan, devices) == SUCCESS
        assert library.cufftMakePlan1d(plan, number, TYPES[kind], batch, size) == expected, (devices, number, kind)
    strided, n, embed = fft.create(), (ctypes.c_int * 1)(8), (ctypes.c_int * 1)(9)
    assert set_gpus(fft, strided, [0, 1]) == SUCCESS
    arguments = [1, n, embed, 1, 9, embed, 1, 9, TYPES["C2C"], 2, size]
    assert library.cufftMakePlanMany(strided, *arguments) == NOT_SUPPORTED


def test_descriptors_are_checked(fft: Fft, divided: Any) -> None:
    plan, values = divided([64], "C2C"), fft.random([64], np.complex64)
    descriptor, other = plan.put(INPLACE, values), plan.memory(INPLACE)
    library, inner = fft.library, descriptor.contents.descriptor.contents
    assert plan.execute(descriptor, other) == INVALID_VALUE
    assert plan.execute(descriptor, direction=0) == INVALID_VALUE
    assert plan.execute(descriptor, kind="Z2Z") == INVALID_TYPE
    assert plan.execute(None) == INVALID_VALUE
    assert library.cufftExecC2C(plan.plan, at(inner.data[0]), at(inner.data[0]), FORWARD) == INVALID_PLAN
    assert library.cufftXtExecDescriptorC2C(fft.plan([64], "C2C"), descriptor, descriptor, FORWARD) == INVALID_PLAN
    assert plan.copy(descriptor, None, TO_DEVICE) == INVALID_VALUE
    assert plan.copy(descriptor, pointer(values), 3) == INVALID_VALUE
    for changes in (
        {"nGPUs": 1},
        {"nGPUs": -1},
        {"nGPUs": 65},
        {"GPUs": (1, 0)},
        {"size": (256, 255)},
        {"data": (inner.data[0], None)},
    ):
        changed = Inner(nGPUs=2, GPUs=(0, 1), data=inner.data, size=inner.size)
        for name, value in changes.items():
            setattr(changed, name, value)
        wrong = Descriptor(descriptor=ctypes.pointer(changed), subFormat=INPLACE)
        assert plan.execute(ctypes.byref(wrong)) == INVALID_VALUE, changes
        assert plan.copy(ctypes.byref(wrong), pointer(values), TO_DEVICE) == INVALID_VALUE, changes
    for form in (-1, 5, 6, 7):
        wrong = Descriptor(descriptor=descriptor.contents.descriptor, subFormat=form)
        assert plan.execute(ctypes.byref(wrong)) in (INVALID_VALUE, INVALID_TYPE)
        assert library.cufftXtMalloc(plan.plan, ctypes.byref(ctypes.c_void_p()), form) == INVALID_VALUE
    assert plan.execute(ctypes.byref(Descriptor(subFormat=INPLACE))) == INVALID_VALUE
    assert plan.execute(ctypes.byref(Descriptor(version=7, descriptor=descriptor.contents.descriptor))) == INVALID_VALUE
    factors = Factors()
    for number, kind, to in (
        (plan.plan, 1, ctypes.byref(factors)),
        (plan.plan, 0, None),
        (divided([8], "C2C", batch=2).plan, 0, ctypes.byref(factors)),
        (fft.plan([64], "C2C"), 0, ctypes.byref(factors)),
    ):
        assert library.cufftXtQueryPlan(number, to, kind) == INVALID_VALUE
    # Nothing has changed by the calls that failed.
    np.testing.assert_array_equal(plan.get(descriptor, values), values)


def test_each_device_has_a_work_area(fft: Fft, divided: Any) -> None:
    plan = divided([6], "Z2Z", batch=5)
    # The complex numbers of a device, rounded up.
    assert list(plan.work) == [240, 240]
    sizes = (ctypes.c_size_t * 2)()
    assert fft.library.cufftGetSize(plan.plan, sizes) == SUCCESS
    assert fft.library.cufftGetSize1d(plan.plan, 6, TYPES["Z2Z"], 5, sizes) == SUCCESS
    assert list(sizes) == [240, 240]
    assert fft.library.cufftSetAutoAllocation(plan.plan, 0) == SUCCESS
    descriptor = plan.put(INPLACE, fft.random([5, 6], np.complex128))
    assert plan.execute(descriptor) == NO_WORKSPACE
    areas = []
    for device in range(2):
        with driver_probe.primary_context(device):
            address = ctypes.c_uint64()
            driver_probe.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(240))
            areas.append(address.value)
    assert fft.library.cufftXtSetWorkArea(plan.plan, (ctypes.c_void_p * 2)(areas[0], None)) == SUCCESS
    assert plan.execute(descriptor) == NO_WORKSPACE
    assert fft.library.cufftXtSetWorkArea(plan.plan, (ctypes.c_void_p * 2)(*areas)) == SUCCESS
    assert plan.execute(descriptor) == SUCCESS
    for device, area in enumerate(areas):
        with driver_probe.primary_context(device):
            driver_probe.call("cuStreamSynchronize", fft.stream)
            driver_probe.call("cuMemFree_v2", ctypes.c_uint64(area))


def test_descriptors_at_random_never_crash(fft: Fft, divided: Any) -> None:
    plans = [divided([64], "C2C"), divided([32, 33], "Z2Z"), divided([32, 32, 32], "R2C"), divided([5], "C2R", batch=3)]
    host = np.zeros(1 << 18, np.complex64)
    choose = lambda values: values[int(fft.rng.integers(len(values)))]  # noqa: E731
    seen = set()
    for _ in range(600):
        plan = choose(plans)
        descriptor = plan.put(choose([INPLACE, INPLACE, INPUT, OUTPUT, SHUFFLED]), host)
        inner = descriptor.contents.descriptor.contents
        sizes = [choose([inner.size[0], 0, 1, 2**63, 2**64 - 1]), inner.size[1]]
        made = Inner(
            version=choose([0, 1]),
            nGPUs=choose([2, 2, 2, 2, 0, -1, 2**31 - 1]),
            GPUs=(0, choose([1, 1, 1, 0, -1])),
            data=(choose([inner.data[0], inner.data[0], None, 8]), inner.data[1]),
            size=(*sizes,),
        )
        own = Descriptor(
            version=choose([0, 0, 0, -1]), descriptor=ctypes.pointer(made), subFormat=choose([*range(-1, 8)])
        )
        other = choose([own, own, descriptor.contents])
        seen.add(plan.execute(ctypes.byref(own), ctypes.byref(other), choose([-1, 1, 1, 0])))
        seen.add(plan.copy(ctypes.byref(other), ctypes.byref(own), ON_DEVICE))
        seen.add(plan.copy(ctypes.byref(own), pointer(host), TO_DEVICE))
        plan.descriptors.pop()
        driver_probe.call("cuStreamSynchronize", fft.stream)
        assert fft.library.cufftXtFree(descriptor) == SUCCESS
    assert {SUCCESS, INVALID_VALUE, INVALID_TYPE} <= seen
    cuarray_sim.clear_findings()
