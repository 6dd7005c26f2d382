"""``wmma``: whole matrices in memory are loaded, multiplied and stored, in every shape, type and layout."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from kernel_modules import Module, by_capability, loaded
from matrix_fragments import ELEMENTS
from matrix_layouts import LANES
from test_matrices import accumulators, assert_near
from wmma_cases import WORDS, Product, cases, kernel

CASES = list(cases())
TEXTS = by_capability((case.since, kernel(case)) for case in CASES)


@pytest.fixture(scope="module")
def modules(driver_kind: str) -> Iterator[dict[int, Module]]:
    with loaded(TEXTS) as found:
        yield found


def positions(case: Product, one: str) -> np.ndarray:
    """Return the number of each element's first bit in memory."""
    _, shape, row, bits = case.matrices()[one]
    first, second = np.indices(shape)
    return (first * case.leading(one) + second if row == "row" else second * case.leading(one) + first) * bits


def in_memory(case: Product, one: str, elements: np.ndarray) -> np.ndarray:
    bits = case.matrices()[one][3]
    words = [0] * WORDS
    for at, element in zip(positions(case, one).flat, elements.flat, strict=True):
        words[at // 64] |= (int(element) & (1 << bits) - 1) << int(at) % 64
    return np.array(words, np.uint64)


def from_memory(case: Product, one: str, words: np.ndarray) -> np.ndarray:
    bits = case.matrices()[one][3]
    found = [int(words[at // 64]) >> int(at) % 64 & (1 << bits) - 1 for at in positions(case, one).flat]
    return np.array(found, np.uint64).reshape(case.matrices()[one][1])


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_product_of_matrices_in_memory(modules: dict[int, Module], name: str) -> None:
    [case] = [case for case in CASES if case.name == name]
    if case.since not in modules:
        pytest.skip("instructions of a later compute capability")
    numbers = np.random.default_rng(len(name))
    m, n, k = case.size
    for exact in (True, False):
        a, a_bits = ELEMENTS[case.element].draw(numbers, (m, k), exact)
        b, b_bits = ELEMENTS[case.element].draw(numbers, (k, n), exact)
        c, c_bits = accumulators(numbers, case.c, exact, (m, n))
        arrays = [in_memory(case, one, bits) for one, bits in zip("abc", (a_bits, b_bits, c_bits), strict=True)]
        *_, results = modules[case.since].run(case.name, [*arrays, np.zeros(WORDS, np.uint64)], LANES)
        bits = from_memory(case, "d", results)
        assert (in_memory(case, "d", bits) == results).all(), "the store wrote between the rows"
        if case.c != "s32":
            assert_near(case.d, bits, a, b.T, c, exact)
            continue
        operation = np.bitwise_xor if "xor" in case.after else np.bitwise_and
        sums = c + (operation(a[:, :, None], b[None]).sum(axis=1) if case.element == "b1" else a @ b)
        expected = np.clip(sums, -(2**31), 2**31 - 1) if "satfinite" in case.after else sums
        assert (bits == (expected & 0xFFFFFFFF).astype(np.uint64)).all()
