"""The stand-in for cuFFT transforms as NumPy does, in all types, ranks and layouts, and touches no other byte."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from fft_probe import DTYPES, FORWARD, GAP, INVERSE, SUCCESS, TYPES, Fft, at, close, half, sides, transformed

SIZES = [
    [1],
    [2],
    [3],
    [64],
    [97],
    [120],
    [1009],
    [1, 1],
    [4, 6],
    [5, 7],
    [17, 32],
    [1, 9],
    [9, 1],
    [2, 3, 4],
    [8, 1, 5],
    [7, 11, 13],
]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_transform_is_that_of_numpy_for_each_type_and_rank(fft: Fft, kind: str, sizes: list[int]) -> None:
    for batch, direction in itertools.product((1, 3), (FORWARD, INVERSE)):
        source, source_type, target, target_type = sides(sizes, kind)
        values = fft.random([batch, *source], source_type)
        put, result = fft.put(values), np.zeros([batch, *target], target_type)
        place = fft.memory(result.nbytes)
        plan = fft.plan(sizes, kind, batch)
        assert fft.execute(plan, kind, put, place, direction) == SUCCESS
        close(fft.get(place, result), transformed(values, sizes, kind, direction))
        # Also the input of a transform to real numbers is kept.
        np.testing.assert_array_equal(fft.get(put, values), values)


@pytest.mark.parametrize("sizes", [[2**15], [200, 300], [40, 50, 60]], ids=str)
@pytest.mark.parametrize("kind", ["C2C", "D2Z", "C2R"])
def test_transform_that_several_threads_compute_is_that_of_numpy(fft: Fft, kind: str, sizes: list[int]) -> None:
    source, source_type, target, target_type = sides(sizes, kind)
    values, result = fft.random([3, *source], source_type), np.zeros([3, *target], target_type)
    put, place = fft.put(values), fft.memory(result.nbytes)
    assert fft.execute(fft.plan(sizes, kind, 3), kind, put, place) == SUCCESS
    close(fft.get(place, result), transformed(values, sizes, kind))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("sizes", [[8], [9], [4, 6], [3, 5], [2, 3, 7]], ids=str)
def test_transform_in_place_pads_the_rows_of_real_numbers(fft: Fft, kind: str, sizes: list[int]) -> None:
    source, source_type, target, target_type = sides(sizes, kind)
    batch, real = 2, "C2C" not in kind and "Z2Z" not in kind
    values = fft.random([batch, *source], source_type)
    row = 2 * half(sizes)[-1] if real else sizes[-1]
    expected = transformed(values, sizes, kind)

    def padded(shape: list[int], dtype: Any) -> np.ndarray:
        is_real = np.dtype(dtype).kind == "f"
        return np.full([batch, *shape[:-1], row if is_real else shape[-1]], GAP, dtype)

    before, after = padded(source, source_type), padded(target, target_type)
    before[..., : source[-1]] = values
    place = fft.put(before)
    assert fft.execute(fft.plan(sizes, kind, batch), kind, place, place) == SUCCESS
    result = fft.get(place, after)
    close(result[..., : target[-1]], expected)
    if np.dtype(target_type).kind == "f":
        # The padding has the bytes of the input.
        np.testing.assert_array_equal(result[..., sizes[-1] :], before.view(target_type)[..., sizes[-1] :])


def embedded(fft: Fft, shape: Sequence[int], dtype: Any, embed: Sequence[int], step: int, distance: int) -> Any:
    """An array in the advanced layout: all elements of its memory, and the places of its own."""
    batch, *sizes = shape
    place = np.zeros(1, np.int64)
    for at_axis, size in enumerate(sizes):
        place = place[..., None] * (embed[at_axis] if at_axis else 1) + np.arange(size)
    places = np.arange(batch).reshape(-1, *[1] * len(sizes)) * distance + place.reshape(1, *sizes) * step
    memory = np.full(int(places.max()) + 3, GAP, dtype)
    memory[places] = fft.random(shape, dtype)
    return memory, places


LAYOUTS = [
    ([6], [6], 2, 12, [6], 1, 6),
    ([6], [9], 1, 9, [8], 3, 30),
    ([6], [6], 4, 1, [6], 4, 1),
    ([6], [6], 1, 2, [6], 1, 8),
    ([4, 6], [4, 7], 1, 28, [5, 9], 1, 45),
    ([4, 6], [4, 6], 3, 1, [4, 6], 1, 24),
    ([4, 6], [9, 8], 2, 200, [4, 6], 5, 1),
    ([2, 3, 4], [2, 5, 6], 1, 60, [3, 3, 4], 2, 90),
    ([2, 3, 4], [2, 3, 4], 1, 24, [2, 3, 5], 1, 40),
]
"""The sizes; the embedding, the step and the distance of the input and of the output."""


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: "-".join(str(each) for each in layout))
@pytest.mark.parametrize("wide", [False, True], ids=["int", "long"])
def test_layout_with_gaps_is_read_and_written_without_them(fft: Fft, kind: str, layout: Any, wide: bool) -> None:
    sizes, inembed, istride, idist, onembed, ostride, odist = layout
    batch = 3
    source, source_type, target, target_type = sides(sizes, kind)
    memory, places = embedded(fft, [batch, *source], source_type, inembed, istride, idist)
    after, after_places = embedded(fft, [batch, *target], target_type, onembed, ostride, odist)
    values = memory[places]
    number = ctypes.c_longlong if wide else ctypes.c_int
    lists = [(number * len(sizes))(*each) for each in (sizes, inembed, onembed)]
    plan, size = fft.create(), ctypes.c_size_t()
    make = fft.library.cufftMakePlanMany64 if wide else fft.library.cufftMakePlanMany
    status = make(
        plan,
        len(sizes),
        lists[0],
        lists[1],
        number(istride),
        number(idist),
        lists[2],
        number(ostride),
        number(odist),
        TYPES[kind],
        number(batch),
        ctypes.byref(size),
    )
    assert status == SUCCESS
    put, place = fft.put(memory), fft.put(after)
    assert fft.execute(plan, kind, put, place, INVERSE) == SUCCESS
    result = fft.get(place, after)
    close(result[after_places], transformed(values, sizes, kind, INVERSE))
    gaps = np.ones(len(after), bool)
    gaps[after_places] = False
    assert (result[gaps] == GAP).all()


def test_arrays_of_the_input_may_overlap(fft: Fft) -> None:
    """Windows that share elements are read as they are."""
    signal = fft.random([40], np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(signal, 16)[::8]
    handle, n = ctypes.c_int(), (ctypes.c_int * 1)(16)
    status = fft.library.cufftPlanMany(ctypes.byref(handle), 1, n, n, 1, 8, n, 1, 9, TYPES["R2C"], len(windows))
    assert status == SUCCESS
    result = np.zeros((len(windows), 9), np.complex64)
    put, place = fft.put(signal), fft.memory(result.nbytes)
    assert fft.execute(fft.keep(handle.value), "R2C", put, place) == SUCCESS
    close(fft.get(place, result), np.fft.rfft(windows, axis=-1))


def xt_plan(
    fft: Fft, sizes: list[int], types: tuple[int, int, int], batch: int = 1, step: int | None = None
) -> tuple[int, int]:
    """Make a plan by `cufftXtMakePlanMany`; return its status and its number."""
    plan, size = fft.create(), ctypes.c_size_t()
    n = (ctypes.c_longlong * len(sizes))(*sizes)
    wide = ctypes.c_longlong
    embed = None if step is None else n
    source, target, execution = types
    distance = wide(sizes[-1] * (step or 1))
    arguments = [embed, wide(step or 1), distance, source, embed, wide(step or 1), distance, target]
    status = fft.library.cufftXtMakePlanMany(
        plan, len(sizes), n, *arguments, wide(batch), ctypes.byref(size), execution
    )
    return status, plan


R_32F, R_64F, R_16F, C_32F, C_64F, C_16F, R_16BF, C_16BF = 0, 1, 2, 4, 5, 6, 14, 15


@pytest.mark.parametrize("types", [(C_32F, C_32F, C_32F), (R_64F, C_64F, C_64F), (C_32F, R_32F, C_32F)], ids=str)
def test_plan_by_types_of_data_transforms(fft: Fft, types: tuple[int, int, int]) -> None:
    letters = {R_32F: "R", C_32F: "C", R_64F: "D", C_64F: "Z"}
    kind = f"{letters[types[0]]}2{letters[types[1]]}"
    source, source_type, target, target_type = sides([6, 10], kind)
    values, result = fft.random([2, *source], source_type), np.zeros([2, *target], target_type)
    status, plan = xt_plan(fft, [6, 10], types, 2)
    assert status == SUCCESS
    put, place = fft.put(values), fft.memory(result.nbytes)
    assert fft.library.cufftXtExec(plan, at(put), at(place), INVERSE) == SUCCESS
    close(fft.get(place, result), transformed(values, [6, 10], kind, INVERSE))


@pytest.mark.parametrize(
    ("dtype", "real", "number", "tolerance"),
    [(np.float16, R_16F, C_16F, 1e-3), (ml_dtypes.bfloat16, R_16BF, C_16BF, 8e-3)],
    ids=["half", "bfloat16"],
)
def test_numbers_of_16_bits_are_transformed(fft: Fft, dtype: Any, real: int, number: int, tolerance: float) -> None:
    parts = fft.rng.standard_normal((2, 8, 16, 2)).astype(dtype)
    values = parts[..., 0].astype(np.float64) + 1j * parts[..., 1].astype(np.float64)
    put, place = fft.put(parts), fft.memory(parts.nbytes)
    status, plan = xt_plan(fft, [8, 16], (number, number, number), 2)
    assert status == SUCCESS
    assert fft.library.cufftXtExec(plan, at(put), at(place), FORWARD) == SUCCESS
    result = fft.get(place, parts).astype(np.float64)
    close(result[..., 0] + 1j * result[..., 1], np.fft.fftn(values, axes=(1, 2)), tolerance)

    status, plan = xt_plan(fft, [16], (real, number, number), 4)
    assert status == SUCCESS
    values = fft.rng.standard_normal((4, 16)).astype(dtype)
    target = np.zeros((4, 9, 2), dtype)
    put, place = fft.put(values), fft.memory(target.nbytes)
    assert fft.library.cufftXtExec(plan, at(put), at(place), FORWARD) == SUCCESS
    result = fft.get(place, target).astype(np.float64)
    close(result[..., 0] + 1j * result[..., 1], np.fft.rfft(values.astype(np.float64)), tolerance)

    status, plan = xt_plan(fft, [16], (number, real, number), 4)
    assert status == SUCCESS
    assert fft.library.cufftXtExec(plan, at(place), at(put), INVERSE) == SUCCESS
    close(fft.get(put, values).astype(np.float64) / 16, values.astype(np.float64), tolerance)


def test_plans_of_one_two_and_three_dimensions_transform(fft: Fft) -> None:
    size = ctypes.c_size_t()
    for sizes in ([6], [4, 6], [3, 4, 6]):
        rank, handle = len(sizes), ctypes.c_int()
        batch = [2] if rank == 1 else []
        arguments = [*sizes, TYPES["C2C"], *batch]
        assert getattr(fft.library, f"cufftPlan{rank}d")(ctypes.byref(handle), *arguments) == SUCCESS
        other = fft.create()
        assert getattr(fft.library, f"cufftMakePlan{rank}d")(other, *arguments, ctypes.byref(size)) == SUCCESS
        values = fft.random([*batch, *sizes], DTYPES["C"])
        put = fft.put(values)
        for plan in (fft.keep(handle.value), other):
            place = fft.memory(values.nbytes)
            assert fft.execute(plan, "C2C", put, place) == SUCCESS
            close(fft.get(place, values), transformed(values, sizes, "C2C"))
