"""CuPy's transforms by the stand-in for cuFFT, and the races that they show."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from route import Library

import cuarray_sim

if importlib.util.find_spec("cupy") is None:
    pytest.skip(
        "CuPy is not installed; `make peers-cupy` installs it into build/cupy, which PYTHONPATH must name",
        allow_module_level=True,
    )


@pytest.fixture
def cp(cupy: Library, simulator: str) -> Iterator[Any]:
    import cupy as module

    yield module
    # Plans keep their work areas.
    module.fft.config.clear_plan_cache()


COMPLEX = ["fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "hfft", "irfft", "irfftn"]
REAL = ["fft", "rfft", "rfft2", "rfftn", "ihfft"]


@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
@pytest.mark.parametrize(
    ("name", "is_complex"), [*((name, True) for name in COMPLEX), *((name, False) for name in REAL)]
)
def test_transforms_are_those_of_numpy(cp: Any, name: str, is_complex: bool, single: bool) -> None:
    rng = np.random.default_rng(1)
    for shape in ((8, 9), (3, 4, 10)):
        values = rng.standard_normal(shape)
        if is_complex:
            values = values + 1j * rng.standard_normal(shape)
        values = values.astype((np.complex64 if is_complex else np.float32) if single else values.dtype)
        several = name.endswith(("2", "n"))
        for options in ({}, {"norm": "ortho"}, {"axes": (0, 1)} if several else {"axis": 0}):
            result = getattr(cp.fft, name)(cp.asarray(values), **options).get()
            expected = getattr(np.fft, name)(values, **options)
            tolerance = 1e-4 if single else 1e-11
            np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


def test_shifted_and_planned_transforms_are_those_of_numpy(cp: Any) -> None:
    values = np.arange(10.0)
    np.testing.assert_array_equal(cp.fft.fftshift(cp.asarray(values)).get(), np.fft.fftshift(values))
    np.testing.assert_allclose(cp.fft.fftfreq(10).get(), np.fft.fftfreq(10))
    cufft = cp.cuda.cufft
    plan = cufft.Plan1d(5, cufft.CUFFT_Z2Z, 2)
    source = cp.arange(10, dtype=complex)
    target = cp.empty_like(source)
    plan.fft(source, target, cufft.CUFFT_FORWARD)
    np.testing.assert_allclose(target.get().reshape(2, 5), np.fft.fft(values.reshape(2, 5)), atol=1e-12)


@pytest.mark.cuarray_sim(expect="data-race")
def test_transform_in_another_stream_without_a_wait_is_a_race(cp: Any) -> None:
    values = cp.ones(16, complex)
    cp.cuda.Device().synchronize()
    first, second = (cp.cuda.Stream(non_blocking=True) for _ in range(2))
    with first:
        values *= 2
    with second:
        cp.fft.fft(values)
    (found,) = cuarray_sim.findings()["findings"]
    sides = {side["call"]: side["detail"] for side in found["sides"]}
    assert sides["cufftExecZ2Z"] == "argument idata"


def test_transform_in_another_stream_after_a_wait_has_no_findings(cp: Any) -> None:
    values = cp.ones(16, complex)
    cp.cuda.Device().synchronize()
    first, second = (cp.cuda.Stream(non_blocking=True) for _ in range(2))
    with first:
        values *= 2
    second.wait_event(first.record())
    with second:
        result = cp.fft.fft(values)
    second.synchronize()
    np.testing.assert_array_equal(result.get(), [32, *[0] * 15])


@pytest.mark.cuarray_sim(expect="data-race")
def test_cached_plan_of_two_streams_has_one_work_area(cp: Any) -> None:
    """CuPy keeps a plan with its work area for each shape, also if the streams of two calls have no order."""
    values = cp.ones(16, complex)
    cp.cuda.Device().synchronize()
    for stream in [cp.cuda.Stream(non_blocking=True) for _ in range(2)]:
        with stream:
            cp.fft.fft(values)
    (found,) = cuarray_sim.findings()["findings"]
    assert {side["detail"] for side in found["sides"]} == {"argument workArea"}
