"""Random sequences from their published definitions, apart from the library: arithmetic with Python's integers, one result at a time."""

from __future__ import annotations

from collections.abc import Iterator

MASK = 0xFFFFFFFF
MODULI = (2**32 - 209, 2**32 - 22853)

Bits = list[int]


def xorwow_start(seed: int) -> tuple[list[int], int]:
    """Return the words and the counter of a seed."""
    first = 1099087573 * (seed & MASK ^ 0xAAD26B49) & MASK
    second = 2591861531 * (seed >> 32 ^ 0xF7DCEFDD) & MASK
    words = [123456789 + first, 362436069 ^ first, 521288629 + second, 88675123 ^ second, 5783321 + first]
    return [word & MASK for word in words], 6615241 + first + second & MASK


def _step(words: list[int]) -> list[int]:
    first, *middle, last = words
    mixed = first ^ first >> 2
    return [*middle, last, (last ^ last << 4 ^ mixed ^ mixed << 1) & MASK]


def _as_bits(words: list[int]) -> int:
    return sum(word << 32 * index for index, word in enumerate(words))


def _as_words(bits: int) -> list[int]:
    return [bits >> 32 * index & MASK for index in range(5)]


def _image(columns: Bits, bits: int) -> int:
    result = 0
    for index, column in enumerate(columns):
        if bits >> index & 1:
            result ^= column
    return result


def xorwow(seed: int, sequence: int, count: int) -> list[int]:
    """Return results of one sequence; sequences are ``2**67`` steps apart."""
    words, counter = xorwow_start(seed)
    columns = [_as_bits(_step(_as_words(1 << index))) for index in range(160)]
    for _ in range(67):
        columns = [_image(columns, column) for column in columns]
    for _ in range(sequence):
        words = _as_words(_image(columns, _as_bits(words)))
    return [*_drawn(words, counter, count)]


def _drawn(words: list[int], counter: int, count: int) -> Iterator[int]:
    for _ in range(count):
        words = _step(words)
        counter += 362437
        yield words[-1] + counter & MASK


def mrg32k3a(seed: int, sequence: int, count: int) -> list[int]:
    """Return results from 1 to the first modulus; sequences are ``2**76`` steps apart."""
    states = [[12345] * 3, [12345] * 3]
    if seed:
        low, high = seed & MASK ^ 0x55555555, seed >> 32 ^ 0xAAAAAAAA
        for state, factors, modulus in zip(states, ((low, high, low), (high, low, high)), MODULI, strict=True):
            state[:] = [12345 * factor % modulus for factor in factors]
    rows = ([-810728, 1403580, 0], [-1370589, 0, 527612])
    for state, row, modulus in zip(states, rows, MODULI, strict=True):
        jump = _power([[0, 1, 0], [0, 0, 1], row], 2**76 * sequence, modulus)
        state[:] = [sum(a * b for a, b in zip(line, state, strict=True)) % modulus for line in jump]
    results = []
    for _ in range(count):
        latest = []
        for state, row, modulus in zip(states, rows, MODULI, strict=True):
            latest.append(sum(a * b for a, b in zip(row, state, strict=True)) % modulus)
            state[:] = [*state[1:], latest[-1]]
        results.append((latest[0] - latest[1]) % MODULI[0] or MODULI[0])
    return results


def _power(matrix: list[list[int]], exponent: int, modulus: int) -> list[list[int]]:
    result = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    while exponent:
        if exponent & 1:
            result = _product(result, matrix, modulus)
        matrix = _product(matrix, matrix, modulus)
        exponent >>= 1
    return result


def _product(a: list[list[int]], b: list[list[int]], modulus: int) -> list[list[int]]:
    return [[sum(a[i][k] * b[k][j] for k in range(3)) % modulus for j in range(3)] for i in range(3)]


def sobol(degree: int, inner: int, numbers: list[int], count: int) -> list[int]:
    """Return results of 32 bits from the polynomial and the initial numbers of a dimension, in the order of the Gray code."""
    numbers = list(numbers)
    for index in range(degree, 32):
        number = numbers[index - degree] ^ numbers[index - degree] << degree
        for back in range(1, degree):
            if inner >> degree - 1 - back & 1:
                number ^= numbers[index - back] << back
        numbers.append(number)
    results = []
    for index in range(count):
        gray, result = index ^ index >> 1, 0
        for bit, number in enumerate(numbers):
            if gray >> bit & 1:
                result ^= number << 31 - bit
        results.append(result)
    return results
