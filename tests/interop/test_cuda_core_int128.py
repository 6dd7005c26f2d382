"""Integers of 128 bits in CUDA C++, compiled by NVRTC, agree with Python's integers.

NVRTC compiles divisions to chains of instructions with carry that mix subtractions and additions.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import cuarray

SOURCE = "\n".join(
    f'extern "C" __global__ void {sign}_{name}(const {ty} *a, const {ty} *b, {ty} *out) {{\n'
    f"    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x; out[i] = {text};\n}}"
    for sign, ty in (("unsigned", "unsigned __int128"), ("signed", "__int128"))
    for name, text in (
        ("div", "a[i] / b[i]"),
        ("mod", "a[i] % b[i]"),
        ("mul", "a[i] * b[i]"),
        ("add", "a[i] + b[i]"),
        ("sub", "a[i] - b[i]"),
        ("less", "a[i] < b[i]"),
        ("shift", "a[i] >> (unsigned)(b[i] & 127)"),
    )
)
COUNT = 2000


def quotient(a: int, b: int) -> int:
    """Divide as C does: round toward zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


EXPECTED: dict[str, Callable[[int, int], int]] = {
    "div": quotient,
    "mod": lambda a, b: a - b * quotient(a, b),
    "mul": lambda a, b: a * b,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "less": lambda a, b: int(a < b),
    "shift": lambda a, b: a >> (b & 127),
}


@pytest.fixture(scope="module")
def kernels(driver_kind: str) -> Iterator[Any]:
    pytest.importorskip("cuda.core")
    from cuda.core import Device, Program, ProgramOptions

    device = Device(0)
    device.set_current()
    yield Program(SOURCE, "c++", ProgramOptions(arch=f"sm_{device.arch}", device_int128=True)).compile("ptx")


def operand(generator: random.Random) -> int:
    """Return a number of 1 to 128 random bits. Its low or high half is often all zeros or ones."""
    value = generator.getrandbits(generator.randint(1, 128)) or 1
    half = (1 << 64) - 1
    changes: list[Callable[[int], int]] = [lambda v: v, lambda v: v & ~half, lambda v: v | half, lambda v: v & half]
    return generator.choice(changes)(value) or 1


def words(values: list[int]) -> np.ndarray:
    return np.array([value >> shift & (1 << 64) - 1 for value in values for shift in (0, 64)], np.uint64)


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("sign", ["unsigned", "signed"])
def test_128_bit_arithmetic_agrees_with_python(kernels: Any, device: Any, stream: Any, sign: str, name: str) -> None:
    from cuda.core import LaunchConfig, launch

    generator = random.Random(f"{sign} {name}")
    first, second = ([operand(generator) for _ in range(COUNT)] for _ in range(2))
    signed = sign == "signed"
    a, b = ([value - (1 << 128) if signed and value >> 127 else value for value in values] for values in (first, second))
    arrays = [cuarray.to_device(words(values)) for values in (first, second, [0] * COUNT)]
    launch(stream, LaunchConfig(grid=20, block=100), kernels.get_kernel(f"{sign}_{name}"), *(array.ptr for array in arrays))
    stream.sync()
    result = arrays[2].copy_to_host()
    got = [int(low) | int(high) << 64 for low, high in result.reshape(-1, 2)]
    wrong = [
        f"{name}({one}, {other}) = {value:#x}, not {expected:#x}"
        for one, other, value in zip(a, b, got, strict=True)
        if value != (expected := EXPECTED[name](one, other) & (1 << 128) - 1)
    ]
    assert not wrong, f"{len(wrong)} of {COUNT}: {wrong[0]}"
