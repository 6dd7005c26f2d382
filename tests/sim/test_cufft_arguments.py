"""The stand-in for cuFFT checks its arguments, and keeps what is set."""

from __future__ import annotations

import ctypes
from typing import Any

import driver_probe
import numpy as np
import pytest
from fft_probe import (
    EXEC_FAILED,
    FORWARD,
    INVALID_DEVICE,
    INVALID_PLAN,
    INVALID_SIZE,
    INVALID_TYPE,
    INVALID_VALUE,
    NOT_SUPPORTED,
    SUCCESS,
    Fft,
    at,
    close,
)

import cuarray_sim

C2C, R2C = 0x29, 0x2A


def test_arguments_of_plans_are_checked(fft: Fft) -> None:
    handle, size = ctypes.c_int(-7), ctypes.c_size_t(9)
    to = ctypes.byref(handle)
    library = fft.library
    for nx, kind, batch, expected in (
        (0, C2C, 1, INVALID_SIZE),
        (-1, C2C, 1, INVALID_SIZE),
        (8, C2C, 0, INVALID_SIZE),
        (8, C2C, -1, INVALID_SIZE),
        (8, 0, 1, INVALID_TYPE),
        (8, -1, 1, INVALID_TYPE),
    ):
        assert library.cufftPlan1d(to, nx, kind, batch) == expected
        plan = fft.create()
        assert library.cufftMakePlan1d(plan, nx, kind, batch, ctypes.byref(size)) == expected
        assert library.cufftGetSize1d(plan, nx, kind, batch, ctypes.byref(size)) == expected
        assert library.cufftEstimate1d(nx, kind, batch, ctypes.byref(size)) == expected
    assert library.cufftPlan1d(None, 8, C2C, 1) == INVALID_VALUE
    assert library.cufftCreate(None) == INVALID_VALUE
    assert library.cufftMakePlan1d(fft.create(), 8, C2C, 1, None) == INVALID_VALUE
    n = (ctypes.c_int * 3)(8, 8, 8)
    negative = (ctypes.c_int * 3)(8, -8, 8)
    for arguments, expected in (
        ((0, n, None, 1, 0, None, 1, 0), INVALID_VALUE),
        ((4, n, None, 1, 0, None, 1, 0), INVALID_VALUE),
        ((3, None, None, 1, 0, None, 1, 0), INVALID_VALUE),
        ((3, negative, None, 1, 0, None, 1, 0), INVALID_SIZE),
        ((3, n, n, 0, 512, n, 1, 512), INVALID_VALUE),
        ((3, n, n, 1, 512, n, -1, 512), INVALID_VALUE),
        ((3, n, n, 1, -512, n, 1, 512), INVALID_VALUE),
        ((3, n, negative, 1, 512, n, 1, 512), INVALID_VALUE),
    ):
        assert library.cufftPlanMany(to, *arguments, C2C, 2) == expected, arguments
    # Nothing is written by a call that fails.
    assert (handle.value, size.value) == (-7, 9)


def test_arguments_of_transforms_are_checked(fft: Fft) -> None:
    values = fft.random([8], np.complex64)
    put, plan = fft.put(values), fft.plan([8], "C2C")
    library = fft.library
    for source, target, direction, expected in (
        (None, at(put), FORWARD, INVALID_VALUE),
        (at(put), None, FORWARD, INVALID_VALUE),
        (at(put), at(put), 0, INVALID_VALUE),
        (at(put), at(put), 2, INVALID_VALUE),
        (at(put, 4), at(put), FORWARD, INVALID_VALUE),
        (at(put), at(put, 4), FORWARD, INVALID_VALUE),
        (at(0x1230), at(put), FORWARD, EXEC_FAILED),
        (at(put), at(0x1230), FORWARD, EXEC_FAILED),
        (at(values.ctypes.data & ~15), at(put), FORWARD, EXEC_FAILED),
        (at(put), at(values.ctypes.data & ~15), FORWARD, EXEC_FAILED),
        (at(put, 8), at(put), FORWARD, EXEC_FAILED),
        (at(put), at(put, 8), FORWARD, EXEC_FAILED),
    ):
        assert library.cufftExecC2C(plan, source, target, direction) == expected
    assert library.cufftExecZ2Z(plan, at(put), at(put), FORWARD) == INVALID_TYPE
    assert library.cufftExecR2C(plan, at(put), at(put)) == INVALID_TYPE
    assert library.cufftExecC2C(fft.create(), at(put), at(put), FORWARD) == INVALID_PLAN
    np.testing.assert_array_equal(fft.get(put, values), values)
    cuarray_sim.clear_findings()


@pytest.mark.parametrize("number", [0, -2, 123456, 2**31 - 1])
def test_number_that_is_no_plan_is_refused(fft: Fft, number: int) -> None:
    library, size = fft.library, ctypes.c_size_t()
    put = fft.put(np.zeros(8, np.complex64))
    assert library.cufftDestroy(number) == INVALID_PLAN
    assert library.cufftSetStream(number, None) == INVALID_PLAN
    assert library.cufftSetWorkArea(number, None) == INVALID_PLAN
    assert library.cufftSetAutoAllocation(number, 1) == INVALID_PLAN
    assert library.cufftGetSize(number, ctypes.byref(size)) == INVALID_PLAN
    assert library.cufftMakePlan1d(number, 8, C2C, 1, ctypes.byref(size)) == INVALID_PLAN
    assert library.cufftExecC2C(number, at(put), at(put), FORWARD) == INVALID_PLAN
    assert library.cufftXtExec(number, at(put), at(put), FORWARD) == INVALID_PLAN


def test_plan_is_made_and_destroyed_once(fft: Fft) -> None:
    plan, size = fft.create(), ctypes.c_size_t()
    assert fft.library.cufftGetSize(plan, ctypes.byref(size)) == INVALID_PLAN
    assert fft.library.cufftMakePlan1d(plan, 8, C2C, 3, ctypes.byref(size)) == SUCCESS
    assert size.value == 8 * 3 * 8
    assert fft.library.cufftMakePlan1d(plan, 8, C2C, 3, ctypes.byref(size)) == INVALID_PLAN
    assert fft.library.cufftDestroy(plan) == SUCCESS
    assert fft.library.cufftDestroy(plan) == INVALID_PLAN
    major = int(fft.library._name.rpartition(".")[2])
    assert fft.library.cufftDestroy(-1) == (SUCCESS if major == 12 else INVALID_PLAN)


def test_all_functions_name_the_same_size_of_the_work_area(fft: Fft) -> None:
    library = fft.library
    n, wide = (ctypes.c_int * 2)(6, 10), (ctypes.c_longlong * 2)(6, 10)
    big = ctypes.c_longlong
    plan, made = fft.create(), fft.plan([6, 10], "R2C")
    basic, basic_64 = (None, 1, 0), (None, big(1), big(0))
    many = (2, n, *basic, *basic, R2C, 1)
    for name, *arguments in (
        ("GetSize", made),
        ("Estimate2d", 6, 10, R2C),
        ("GetSize2d", plan, 6, 10, R2C),
        ("EstimateMany", *many),
        ("GetSizeMany", plan, *many),
        ("GetSizeMany64", plan, 2, wide, *basic_64, *basic_64, R2C, big(1)),
        ("MakePlan2d", plan, 6, 10, R2C),
        ("XtSetWorkAreaPolicy", plan, 0),
    ):
        size = ctypes.c_size_t()
        assert getattr(library, f"cufft{name}")(*arguments, ctypes.byref(size)) == SUCCESS
        assert size.value == 480, name
    size = ctypes.c_size_t()
    arguments = [plan, 2, wide, *basic_64, 0, *basic_64, 4, big(1), ctypes.byref(size), 4]
    assert library.cufftXtGetSizeMany(*arguments) == SUCCESS
    assert size.value == 480


def test_types_that_do_not_fit_together_are_refused(fft: Fft) -> None:
    size, n, big = ctypes.c_size_t(), (ctypes.c_longlong * 1)(8), ctypes.c_longlong

    def status(types: tuple[int, int, int], n: Any = n, embed: Any = None, step: int = 1) -> int:
        source, target, execution = types
        layout = [embed, big(step), big(8)]
        arguments = [*layout, source, *layout, target, big(1), ctypes.byref(size), execution]
        return fft.library.cufftXtMakePlanMany(fft.create(), 1, n, *arguments)

    for types in ((4, 5, 4), (4, 4, 5), (0, 0, 4), (0, 4, 0), (4, 0, 0), (3, 4, 4), (99, 4, 4), (6, 4, 4)):
        assert status(types) == INVALID_TYPE, types
    # Documented: 16-bit transforms have powers of two as sizes, and no strides of real numbers.
    assert status((6, 6, 6), (ctypes.c_longlong * 1)(12)) == NOT_SUPPORTED
    assert status((2, 6, 6), n, n, 2) == NOT_SUPPORTED
    assert status((6, 6, 6), n, n, 2) == SUCCESS


def test_version_and_properties_are_those_of_the_library(fft: Fft) -> None:
    library, number, long = fft.library, ctypes.c_int(), ctypes.c_longlong()
    major = int(library._name.rpartition(".")[2])
    assert library.cufftGetVersion(ctypes.byref(number)) == SUCCESS
    assert number.value // 1000 == major
    parts = []
    for part in range(3):
        assert library.cufftGetProperty(part, ctypes.byref(number)) == SUCCESS
        parts.append(number.value)
    assert parts[0] == major
    assert library.cufftGetProperty(3, ctypes.byref(number)) == INVALID_VALUE
    assert library.cufftGetVersion(None) == INVALID_VALUE
    plan = fft.create()
    value = ctypes.c_longlong
    assert library.cufftSetPlanPropertyInt64(plan, 1, value(1)) == SUCCESS
    assert library.cufftGetPlanPropertyInt64(plan, 1, ctypes.byref(long)) == SUCCESS
    assert long.value == 1
    assert library.cufftResetPlanProperty(plan, 1) == SUCCESS
    assert library.cufftGetPlanPropertyInt64(plan, 1, ctypes.byref(long)) == SUCCESS
    assert long.value == 0
    assert library.cufftSetPlanPropertyInt64(plan, 1, value(2)) == INVALID_VALUE
    assert library.cufftSetPlanPropertyInt64(plan, 77, value(1)) == NOT_SUPPORTED
    assert library.cufftSetPlanPropertyInt64(plan, 3, value(1)) == (SUCCESS if major == 12 else NOT_SUPPORTED)
    made = fft.plan([8], "C2C")
    assert library.cufftSetPlanPropertyInt64(made, 1, value(1)) == NOT_SUPPORTED


def test_function_that_is_not_there_says_so_once(fft: Fft, capfd: pytest.CaptureFixture[str]) -> None:
    plan = fft.plan([8], "C2C")
    for _ in range(2):
        assert fft.library.cufftXtSetCallback(plan, None, 0, None) == NOT_SUPPORTED
        assert fft.library.cufftXtClearCallback(plan, 0) == NOT_SUPPORTED
    text = capfd.readouterr().err
    assert text.count("cufftXtSetCallback is not supported: libcufft.so.1") <= 1
    assert text.count("cufftXtClearCallback is not supported") <= 1


def test_descriptor_of_one_device_is_copied_and_transformed(fft: Fft) -> None:
    library, plan = fft.library, fft.create()
    zero, absent = (ctypes.c_int * 1)(0), (ctypes.c_int * 1)(99)
    size, descriptor = ctypes.c_size_t(), ctypes.c_void_p()
    assert library.cufftXtSetGPUs(plan, 1, absent) == INVALID_DEVICE
    assert library.cufftXtSetGPUs(plan, 0, zero) == INVALID_VALUE
    assert library.cufftXtSetGPUs(plan, 1, zero) == SUCCESS
    assert library.cufftMakePlan1d(plan, 16, C2C, 2, ctypes.byref(size)) == SUCCESS
    assert library.cufftXtMalloc(plan, ctypes.byref(descriptor), 2) == SUCCESS
    values = fft.random([2, 16], np.complex64)
    host = np.zeros_like(values)
    source, target = (each.ctypes.data_as(ctypes.c_void_p) for each in (values, host))
    assert library.cufftXtMemcpy(plan, descriptor, source, 0) == SUCCESS
    assert library.cufftXtExecDescriptorC2C(plan, descriptor, descriptor, FORWARD) == SUCCESS
    driver_probe.call("cuStreamSynchronize", fft.stream)
    assert library.cufftXtMemcpy(plan, target, descriptor, 1) == SUCCESS
    close(host, np.fft.fft(values))
    assert library.cufftXtMemcpy(plan, target, source, 1) == INVALID_VALUE
    assert library.cufftXtExecDescriptorC2C(plan, source, descriptor, FORWARD) == INVALID_VALUE
    assert library.cufftXtExecDescriptorZ2Z(plan, descriptor, descriptor, FORWARD) == INVALID_TYPE
    assert library.cufftXtFree(descriptor) == SUCCESS
    assert library.cufftXtFree(descriptor) == INVALID_VALUE


@pytest.mark.parametrize("wide", [False, True], ids=["int", "long"])
def test_arguments_of_plans_at_random_never_crash(fft: Fft, wide: bool) -> None:
    """Plans of any arguments are made or refused, and executed on memory that holds few of them."""
    limit = 63 if wide else 31
    number = ctypes.c_longlong if wide else ctypes.c_int
    make = fft.library.cufftMakePlanMany64 if wide else fft.library.cufftMakePlanMany
    put, size = fft.put(np.zeros(4096, np.complex128)), ctypes.c_size_t()
    sizes = [-(2**limit), -1, 0, *[1, 2, 3, 5, 8] * 3, 64, 1 << 20, 2**31 - 1, 2**limit - 1]
    choose = lambda values: values[int(fft.rng.integers(len(values)))]  # noqa: E731
    types = {0x29: "C2C", 0x2A: "R2C", 0x2C: "C2R", 0x69: "Z2Z", 0x6A: "D2Z", 0x6C: "Z2D", 7: ""}
    seen: set[tuple[str, int]] = set()
    for _ in range(1500):
        plan, kind, rank = fft.create(), choose(list(types)), choose([-1, 0, 1, 1, 2, 2, 3, 3, 4])
        lists = [(number * 4)(*[choose(sizes) for _ in range(4)]) for _ in range(3)]
        n, inembed, onembed = [choose([each, each, each, each, None]) for each in lists]
        layout = [number(choose([-1, 0, *[1, 2, 3] * 3, 1 << 30, 2**limit - 1])) for _ in range(4)]
        batch = number(choose([-1, 0, *[1, 2, 7] * 3, 1 << 20, 2**limit - 1]))
        arguments = [n, inembed, *layout[:2], onembed, *layout[2:], kind, batch]
        status = make(plan, rank, *arguments, choose([ctypes.byref(size)] * 5 + [None]))
        seen.add(("make", status))
        source, target = (choose([None, *[at(put)] * 5, at(put, 1024), at(put, 3), at(0x1000)]) for _ in range(2))
        function = getattr(fft.library, f"cufftExec{types[kind] or 'C2C'}")
        seen.add(("execute", function(plan, source, target, choose([-1, 1, 0]))))
        fft.library.cufftDestroy(fft.plans.pop())
    driver_probe.call("cuStreamSynchronize", fft.stream)
    assert {status for step, status in seen if step == "make"} == {SUCCESS, INVALID_TYPE, INVALID_VALUE, INVALID_SIZE}
    executed = {status for step, status in seen if step == "execute"}
    assert {SUCCESS, INVALID_PLAN, INVALID_VALUE, EXEC_FAILED} <= executed
    assert executed <= {SUCCESS, INVALID_PLAN, INVALID_VALUE, INVALID_SIZE, EXEC_FAILED, 2}
    cuarray_sim.clear_findings()
