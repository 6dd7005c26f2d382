"""The stand-in for cuRAND gives the sequences of the published algorithms, in cuRAND's order, and its distributions."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest
from random_oracle import MODULI, MTGP32_SETS, mrg32k3a, mtgp32, sobol, xorwow
from random_probe import (
    BEST,
    DEFAULT,
    DYNAMIC,
    LEGACY,
    MRG32K3A,
    MT19937,
    MTGP32,
    NOT_INITIALIZED,
    OUT_OF_RANGE,
    PHILOX,
    PSEUDO,
    SCRAMBLED32,
    SCRAMBLED64,
    SEEDED,
    SOBOL32,
    SOBOL64,
    SUCCESS,
    XORWOW,
    Random,
)

SEED = 0x1234_5678_9ABC_DEF0


@pytest.mark.parametrize("order", [None, DEFAULT, LEGACY, DYNAMIC])
def test_xorwow_takes_turns_among_4096_sequences(random: Random, order: int | None) -> None:
    found = random.results(random.generator(XORWOW, seed=SEED, order=order), "", 4096 * 3 + 5)
    for sequence in (0, 1, 2, 4):
        assert found[sequence::4096].tolist() == xorwow(SEED, sequence, 4)


@pytest.mark.parametrize(("order", "sequences"), [(DEFAULT, 81920), (LEGACY, 4096)])
def test_mrg32k3a_takes_turns_among_its_sequences(random: Random, order: int, sequences: int) -> None:
    found = random.results(random.generator(MRG32K3A, seed=SEED, order=order), "", sequences + 3)
    doubles = random.results(random.generator(MRG32K3A, seed=SEED, order=order), "UniformDouble", sequences + 3)
    for sequence in (0, 2, 1000, sequences - 1):
        expected = mrg32k3a(SEED, sequence, 2)[: 2 if sequence < 3 else 1]
        assert found[sequence::sequences].tolist() == [int(each * 1.000000048662) for each in expected]
        np.testing.assert_allclose(doubles[sequence::sequences], np.array(expected) / MODULI[0], rtol=1e-15)


def test_philox_takes_four_results_of_each_of_65536_sequences(random: Random) -> None:
    found = random.results(random.generator(PHILOX, seed=SEED), "", 4 * 65536 + 8)
    for index in (0, 1, 777, 65535, 65536, 65537):
        counter = [index // 65536, index % 65536]
        assert found[4 * index : 4 * index + 4].tolist() == philox(counter, SEED)


def philox(counter: list[int], key: int) -> list[int]:
    mask = 0xFFFFFFFF
    x = [counter[0] & mask, counter[0] >> 32, counter[1] & mask, counter[1] >> 32]
    keys = [key & mask, key >> 32]
    for _ in range(10):
        first, second = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [second >> 32 ^ x[1] ^ keys[0], second & mask, first >> 32 ^ x[3] ^ keys[1], first & mask]
        keys = [keys[0] + 0x9E3779B9 & mask, keys[1] + 0xBB67AE85 & mask]
    return x


def test_mt19937_is_the_sequence_of_numpy(random: Random) -> None:
    found = random.results(random.generator(MT19937, seed=1234), "", 5000)
    expected = np.random.RandomState(1234).randint(0, 2**32, 5000, dtype=np.uint32)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("order", "sequences"), [(None, 192), (BEST, 192), (DEFAULT, 192), (DYNAMIC, 192), (LEGACY, 64)]
)
def test_mtgp32_takes_turns_of_256_results_among_its_sequences(
    random: Random, order: int | None, sequences: int
) -> None:
    found = random.results(random.generator(MTGP32, seed=SEED, order=order), "", 256 * (2 * sequences + 2))
    turns = found.reshape(-1, 256)
    for sequence in (each for each in MTGP32_SETS if each < sequences):
        expected = mtgp32(SEED, sequence, 768)
        assert turns[sequence::sequences].ravel().tolist() == expected[: 256 * len(turns[sequence::sequences])]


# Degree, inner coefficients and initial numbers of the published file, by dimension.
DIRECTIONS = {
    2: (1, 0, [1]),
    3: (2, 1, [1, 3]),
    4: (3, 1, [1, 3, 1]),
    5: (3, 2, [1, 1, 1]),
    8: (5, 2, [1, 1, 5, 5, 17]),
}


@pytest.mark.parametrize("offset", [0, 37])
def test_sobol_has_the_directions_of_joe_and_kuo_one_dimension_after_the_other(random: Random, offset: int) -> None:
    found = random.results(random.generator(SOBOL32, dimensions=8, offset=offset), "", 8 * 100).reshape(8, 100)
    for dimension, (degree, inner, numbers) in DIRECTIONS.items():
        assert found[dimension - 1].tolist() == sobol(degree, inner, numbers, 100 + offset)[offset:]
    wide = random.results(random.generator(SOBOL64, dimensions=8, offset=offset), "LongLong", 8 * 100)
    np.testing.assert_array_equal(wide.reshape(8, 100) >> np.uint64(32), found)


def test_directions_are_those_that_generators_use(random: Random, random_library: ctypes.CDLL) -> None:
    vectors = ctypes.POINTER(ctypes.c_uint32 * (32 * 20000))()
    assert random_library.curandGetDirectionVectors32(ctypes.byref(vectors), 101) == SUCCESS
    directions = np.frombuffer(vectors.contents, np.uint32).reshape(20000, 32)
    found = random.results(random.generator(SOBOL32, dimensions=20000), "", 20000 * 2).reshape(20000, 2)
    np.testing.assert_array_equal(found[:, 1], directions[:, 0])
    # Each direction has one bit more than the one before it.
    low = directions & -directions.astype(np.int64)
    assert (low == 1 << np.arange(31, -1, -1)).all()


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_scrambled_sobol_is_made_of_the_directions_and_constants_for_kernels(
    random: Random, random_library: ctypes.CDLL, dtype: type[np.unsignedinteger]
) -> None:
    """Kernels compute the same results from them by `curand_init`."""
    bits, dimensions, count = np.dtype(dtype).itemsize * 8, 20_000, 5
    directions = tables(
        random_library, f"DirectionVectors{bits}", dtype, (dimensions, bits), 102 if bits == 32 else 104
    )
    shifts = tables(random_library, f"ScrambleConstants{bits}", dtype, (dimensions,))
    plain = tables(random_library, f"DirectionVectors{bits}", dtype, (dimensions, bits), 101 if bits == 32 else 103)
    kind, name = (SCRAMBLED32, "") if bits == 32 else (SCRAMBLED64, "LongLong")
    found = random.results(random.generator(kind, dimensions=dimensions, offset=3), name, dimensions * count)
    for index in range(count):
        gray, expected = (index + 3) ^ (index + 3) >> 1, shifts.copy()
        for bit in range(4):
            if gray >> bit & 1:
                expected ^= directions[:, bit]
        np.testing.assert_array_equal(found.reshape(dimensions, count)[:, index], expected)
    # The matrices are triangular: the highest bit of each direction remains.
    assert ((directions ^ plain) < np.minimum(directions, plain)).all()
    assert len(np.unique(shifts)) > dimensions - 5


def tables(
    library: ctypes.CDLL, name: str, dtype: type[np.unsignedinteger], shape: tuple[int, ...], *choice: int
) -> np.ndarray:
    """A list that the library returns."""
    address = ctypes.c_void_p()
    assert getattr(library, f"curandGet{name}")(ctypes.byref(address), *choice) == SUCCESS
    assert address.value
    values = (ctypes.c_char * (int(np.prod(shape)) * np.dtype(dtype).itemsize)).from_address(address.value)
    return np.frombuffer(values, dtype).reshape(shape)


@pytest.mark.parametrize("kind", [*PSEUDO, SOBOL32, SCRAMBLED32])
@pytest.mark.parametrize("name", ["", "Uniform", "UniformDouble", "Normal", "NormalDouble", "Poisson"])
def test_parts_are_the_whole(random: Random, kind: int, name: str) -> None:
    arguments = {"N": (1.0, 2.0), "P": (3.5,)}.get(name[:1], ())
    whole = random.results(random.generator(kind), name, 90_000, *arguments)
    generator = random.generator(kind)
    parts = [random.results(generator, name, count, *arguments) for count in (2, 98, 4096, 70_000, 15_804)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("kind", [XORWOW, MRG32K3A, PHILOX, SOBOL32, SOBOL64, SCRAMBLED32, SCRAMBLED64])
def test_offset_skips_results(random: Random, kind: int) -> None:
    name = "LongLong" if kind in (SOBOL64, SCRAMBLED64) else ""
    whole = random.results(random.generator(kind), name, 9000)
    np.testing.assert_array_equal(random.results(random.generator(kind, offset=5001), name, 3999), whole[5001:])


def test_doubles_and_pairs_take_more_steps_of_their_sequences(random: Random) -> None:
    """Doubles take two steps and pairs of normal results two, so later results of their sequences come later."""
    generator = random.generator(XORWOW, seed=5)
    random.results(generator, "UniformDouble", 3)
    random.results(generator, "Normal", 4)
    words = random.results(generator, "", 2 * 4096 - 5)
    assert words[4096 - 5 : 4096].tolist() == [xorwow(5, sequence, 3)[2] for sequence in range(5)]
    assert words[4096] == xorwow(5, 5, 2)[1]


def test_uniform_results_are_made_of_the_words(random: Random) -> None:
    words = random.results(random.generator(XORWOW), "", 8192)
    expected = words.astype(np.float32) * np.float32(2**-32) + np.float32(2**-33)
    np.testing.assert_array_equal(random.results(random.generator(XORWOW), "Uniform", 8192), expected)
    bits = words[:4096].astype(np.uint64) ^ words[4096:].astype(np.uint64) << np.uint64(21)
    found = random.results(random.generator(XORWOW), "UniformDouble", 4096)
    np.testing.assert_array_equal(found, bits.astype(np.float64) * 2.0**-53 + 2.0**-54)


@pytest.mark.parametrize("kind", [*PSEUDO, SOBOL32, SOBOL64, SCRAMBLED32, SCRAMBLED64])
@pytest.mark.parametrize("name", ["Uniform", "UniformDouble", "Normal", "NormalDouble", "LogNormal", "LogNormalDouble"])
def test_results_have_their_distribution(random: Random, kind: int, name: str) -> None:
    count, mean, deviation = 200_000, 0.25, 0.5
    arguments = () if "Uniform" in name else (mean, deviation)
    found = random.results(random.generator(kind), name, count, *arguments).astype(np.float64)
    assert np.isfinite(found).all()
    if "Uniform" in name:
        assert found.min() > 0
        assert found.max() <= 1
        probabilities = found
    else:
        standard = ((np.log(found) if "Log" in name else found) - mean) / deviation
        probabilities = np.array([0.5 * math.erfc(-each / math.sqrt(2)) for each in standard])
        assert abs(standard.mean()) < 0.01
        assert abs(standard.std() - 1) < 0.01
        assert abs((standard**3).mean()) < 0.03
        assert abs((standard**4).mean() - 3) < 0.1
    ordered = np.sort(probabilities)
    distance = np.abs(ordered - (np.arange(count) + 0.5) / count).max()
    # The test of Kolmogorov and Smirnov at a level of 0.001; quasi-random results are far below.
    assert distance < 1.95 / math.sqrt(count)


@pytest.mark.parametrize("kind", [*PSEUDO, SOBOL32, SCRAMBLED32, SCRAMBLED64])
@pytest.mark.parametrize("mean", [0.01, 3.5, 60.0, 400_000.0])
def test_poisson_results_have_their_distribution(random: Random, kind: int, mean: float) -> None:
    count = 100_000
    found = random.results(random.generator(kind), "Poisson", count, mean).astype(np.float64)
    assert abs(found.mean() - mean) < 5 * math.sqrt(mean / count)
    assert abs(found.var() / mean - 1) < 5 * math.sqrt((2 + 1 / mean) / count)
    if mean < 100:
        values = np.arange(200)
        chances = np.exp(values * math.log(mean) - mean - np.array([math.lgamma(each + 1) for each in values]))
        counts = np.bincount(found.astype(int), minlength=200)[:200]
        assert (np.abs(counts - count * chances) < 5 * np.sqrt(count * chances) + 5).all()


def test_seeded_order_has_another_seed_for_each_sequence(random: Random) -> None:
    seeded = random.results(random.generator(XORWOW, seed=9, order=SEEDED), "", 3 * 4096)
    assert seeded[::4096].tolist() == xorwow(9, 0, 3)
    assert len(np.unique(seeded)) > len(seeded) - 5
    assert (seeded[1:4096] != random.results(random.generator(XORWOW, seed=9), "", 4096)[1:]).all()


@pytest.mark.parametrize("kind", [*PSEUDO, SOBOL32, SCRAMBLED64])
def test_host_generator_gives_the_results_of_the_device(random: Random, random_library: ctypes.CDLL, kind: int) -> None:
    generator, found = ctypes.c_void_p(), np.zeros(70_000, np.float32)
    assert random_library.curandCreateGeneratorHost(ctypes.byref(generator), kind) == SUCCESS
    address = found.ctypes.data
    assert random.call(generator, "Normal", address, len(found), 0.0, 1.0) == SUCCESS
    assert random_library.curandDestroyGenerator(generator) == SUCCESS
    np.testing.assert_array_equal(random.results(random.generator(kind), "Normal", len(found), 0.0, 1.0), found)


@pytest.mark.parametrize("mean", [1e-9, 3.5, 1000.0, 400_000.0])
def test_distribution_for_kernels_has_the_probabilities_of_its_mean(
    random: Random, random_library: ctypes.CDLL, mean: float
) -> None:
    """The structures are those of `curand_discrete.h`, which the inline functions of kernels read."""
    made = ctypes.c_uint64()
    assert random_library.curandCreatePoissonDistribution(ctypes.c_double(mean), ctypes.byref(made)) == SUCCESS
    head = random.values(made.value, 6, np.uint64)
    assert head[3:5].view(np.float64).tolist() == [math.sqrt(mean), mean]
    assert head[5:].view(np.uint32)[0] == 5
    shifted = random.values(int(head[1]), 3, np.uint64)
    first, count = shifted[2:].view(np.uint32).tolist()
    histogram = random.values(int(shifted[0]), 3, np.uint64)
    thresholds = random.values(int(histogram[0]), count + 1, np.float64)
    others = random.values(int(histogram[2]), count + 1, np.uint32)
    # A column has its own value below the threshold, and the other value above it. The number 1 selects the last one.
    own = thresholds[:count] - np.arange(count) / count
    chances = own.copy()
    np.add.at(chances, others[:count], 1 / count - own)
    values = first + np.arange(count)
    logarithms = values * math.log(mean) - mean - np.array([math.lgamma(each + 1) for each in values.tolist()])
    np.testing.assert_allclose(chances, np.exp(logarithms), atol=1e-8 / math.sqrt(mean) if mean > 1 else 1e-12)
    assert others[count] < count
    assert random_library.curandDestroyDistribution(made) == SUCCESS
    assert random_library.curandDestroyDistribution(made) == NOT_INITIALIZED
    for wrong in (0.0, -1.0, 400_001.0, float("nan")):
        assert (
            random_library.curandCreatePoissonDistribution(ctypes.c_double(wrong), ctypes.byref(made)) == OUT_OF_RANGE
        )
