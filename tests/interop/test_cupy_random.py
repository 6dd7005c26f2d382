"""CuPy's random numbers from the stand-in for cuRAND, with findings on."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from route import Library

from cuarray_sim.stand_ins import STAND_INS

if importlib.util.find_spec("cupy") is None:
    pytest.skip(
        "CuPy is not installed; `make peers-cupy` installs it into build/cupy, which PYTHONPATH must name",
        allow_module_level=True,
    )
if not any(each.name == "cuRAND" and (each.path / each.files[0]).is_file() for each in STAND_INS):
    pytest.skip("the package was built without cuRAND", allow_module_level=True)


@pytest.fixture
def cp(cupy: Library, simulator: str) -> Any:
    import cupy as module

    return module


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_uniform_and_normal_numbers_have_their_moments(cp: Any, dtype: Any) -> None:
    cp.random.seed(7)
    uniform, normal = (
        function(20_001, dtype=dtype).get() for function in (cp.random.random, cp.random.standard_normal)
    )
    assert uniform.dtype == normal.dtype == dtype
    assert ((uniform >= 0) & (uniform < 1)).all()
    assert abs(uniform.mean() - 0.5) < 0.02
    assert abs(normal.mean()) < 0.05
    assert abs(normal.std() - 1) < 0.05


def test_seed_gives_the_same_numbers_again(cp: Any) -> None:
    def drawn() -> list[np.ndarray]:
        cp.random.seed(11)
        state = cp.random.RandomState(3)
        made = (cp.random.rand(3), cp.random.randn(4, 2), cp.random.randint(0, 100, 50), state.uniform(0, 1, 5))
        return [each.get() for each in made]

    for first, second in zip(drawn(), drawn(), strict=True):
        np.testing.assert_array_equal(first, second)


def test_integers_and_choices_are_in_their_range(cp: Any) -> None:
    cp.random.seed(5)
    integers = cp.random.randint(3, 9, 2000).get()
    assert sorted(set(integers.tolist())) == [3, 4, 5, 6, 7, 8]
    assert set(cp.random.choice(4, 500).get().tolist()) == {0, 1, 2, 3}
    poisson = cp.random.poisson(3.0, 5000).get()
    assert abs(poisson.mean() - 3) < 0.15
    assert (cp.random.lognormal(0, 1, 100).get() > 0).all()


@pytest.mark.cuarray_sim(expect="data-race")
def test_numbers_that_another_stream_reads_without_a_wait_are_a_race(cp: Any) -> None:
    import cuarray_sim

    drawing, reading = cp.cuda.Stream(non_blocking=True), cp.cuda.Stream(non_blocking=True)
    state = cp.random.RandomState(1)
    with drawing:
        numbers = state.standard_normal(100, dtype=np.float32)
    with reading:
        numbers + 1
    cp.cuda.Device().synchronize()
    calls = {side["call"] for finding in cuarray_sim.findings()["findings"] for side in finding["sides"]}
    assert "curandGenerateNormal" in calls
