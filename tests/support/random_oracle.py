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


MTGP32_SETS = {
    0: (88, 19, 5, (0xABA4D62C, 0xBB076F87, 0x22000000, 0x95BA), (0x6100000, 0x25D80000, 0x282C0000, 0x3302DE00)),
    1: (84, 15, 12, (0x9A975707, 0x75C21B11, 0x15500019, 0xD269), (0x646C00, 0x810F000, 0x37028000, 0x505E00)),
    63: (40, 15, 8, (0xF0F1FA2B, 0xC095CBF9, 0x84C003F6, 0x41B7), (0xF4800, 0xC47000, 0x1EC000, 0xC01D9E00)),
    191: (40, 11, 9, (0x212F4AF4, 0xF0432CAF, 0x11D00BF5, 0x755F), (0x8528000, 0x70084000, 0x196000, 0x24FE00)),
}
"""Sets of the published parameters: the pick-up position, two shifts, and the rows 1, 2, 4 and 8 of both tables."""


def mtgp32(seed: int, sequence: int, count: int) -> list[int]:
    """Return results of one sequence, whose parameters are the set of this number."""
    position, first, second, recursion, tempering = MTGP32_SETS[sequence]
    hidden = recursion[2] ^ recursion[3] << 16 & MASK
    fill = hidden + (hidden >> 16) & MASK
    words = [(fill + (fill >> 8) & 0xFF) * 0x01010101] * 351
    words[:2] = [(seed ^ seed >> 32) + sequence + 1 & MASK, hidden]
    for index in range(1, 351):
        before = words[index - 1]
        words[index] ^= 1812433253 * (before ^ before >> 30) + index & MASK
    results = []
    for index in range(count):
        mixed = words[index] & 0xFFF80000 ^ words[index + 1]
        mixed ^= mixed << first & MASK
        mixed ^= words[index + position] >> second
        words.append(mixed ^ _row(recursion, mixed))
        helper = words[index + position - 1]
        helper ^= helper >> 16
        results.append(words[-1] ^ _row(tempering, helper ^ helper >> 8))
    return results


def _row(rows: tuple[int, ...], index: int) -> int:
    """Return the row of a table with 16 rows, which are sums of four."""
    result = 0
    for bit, row in enumerate(rows):
        if index >> bit & 1:
            result ^= row
    return result
