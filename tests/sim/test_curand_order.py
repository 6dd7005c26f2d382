"""The stand-in for cuRAND keeps the order of streams, names its argument in findings, and checks its arguments."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import driver_probe
import numpy as np
import pytest
from device_probe import order, second_stream
from random_probe import (
    ARCH_MISMATCH,
    BEST,
    DEFAULT,
    DYNAMIC,
    LAUNCH_FAILURE,
    LEGACY,
    LENGTH_NOT_MULTIPLE,
    MT19937,
    MTGP32,
    NOT_INITIALIZED,
    OUT_OF_RANGE,
    PAIRED,
    PSEUDO,
    QUASI,
    SCRAMBLED32,
    SCRAMBLED64,
    SEEDED,
    SOBOL32,
    SOBOL64,
    SUCCESS,
    TYPE_ERROR,
    TYPES,
    XORWOW,
    Random,
)

COUNT = 64


def read(address: int, stream: ctypes.c_void_p) -> np.ndarray:
    values = np.empty(COUNT, np.float32)
    target = values.ctypes.data_as(ctypes.c_void_p)
    driver_probe.call("cuMemcpyDtoHAsync_v2", target, ctypes.c_uint64(address), ctypes.c_size_t(values.nbytes), stream)
    return values


@pytest.mark.cuarray_sim(expect="data-race")
@pytest.mark.parametrize("kind", [XORWOW, MTGP32, SCRAMBLED32])
def test_read_of_results_without_a_wait_is_a_race_that_names_the_argument(random: Random, kind: int) -> None:
    import cuarray_sim

    address, generator = random.filled(COUNT * 4), random.generator(kind)
    with second_stream() as other:
        assert random.call(generator, "Uniform", address, COUNT) == SUCCESS
        read(address, other)
    sides = [side for finding in cuarray_sim.findings()["findings"] for side in finding["sides"]]
    (side,) = (each for each in sides if each["call"] == "curandGenerateUniform")
    assert (side["detail"], side["access"]) == ("argument outputPtr", "write")
    assert Path(side["site"]["user"]["file"]).name == "random_probe.py"


@pytest.mark.parametrize("kind", [XORWOW, MTGP32, SCRAMBLED32])
def test_read_of_results_after_a_wait_has_no_findings(random: Random, kind: int) -> None:
    address, generator = random.memory(COUNT * 4), random.generator(kind)
    with second_stream() as other:
        assert random.call(generator, "Uniform", address, COUNT) == SUCCESS
        order(random.stream, other)
        values = read(address, other)
    assert ((values > 0) & (values <= 1)).all()


def test_call_returns_while_its_stream_is_held(random: Random) -> None:
    address, generator = random.filled(COUNT * 4), random.generator(XORWOW)
    with driver_probe.held(random.stream.value or 0):
        assert random.call(generator, "", address, COUNT) == SUCCESS
        assert not driver_probe.is_done(random.stream.value or 0)
    found = random.values(address, COUNT, np.uint32)
    np.testing.assert_array_equal(found, random.results(random.generator(XORWOW), "", COUNT))


@pytest.mark.parametrize("kind", [*PSEUDO, SOBOL32, SCRAMBLED32])
def test_graph_writes_the_same_results_at_each_launch(random: Random, kind: int) -> None:
    generator, address = random.generator(kind), random.filled(COUNT * 4)
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    driver_probe.call("cuStreamBeginCapture_v2", random.stream, 0)
    assert random.call(generator, "Uniform", address, COUNT) == SUCCESS
    driver_probe.call("cuStreamEndCapture", random.stream, ctypes.byref(graph))
    driver_probe.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_uint64(0))
    whole = random.results(random.generator(kind), "Uniform", 2 * COUNT)
    for launch in range(2):
        driver_probe.call("cuGraphLaunch", executable, random.stream)
        np.testing.assert_array_equal(random.values(address, COUNT, np.float32), whole[:COUNT])
        if launch == 0:
            # The results of the captured call are taken, and calls between launches change nothing.
            np.testing.assert_array_equal(random.results(generator, "Uniform", COUNT), whole[COUNT:])
    driver_probe.call("cuGraphExecDestroy", executable)
    driver_probe.call("cuGraphDestroy", graph)


def test_functions_that_nvidias_library_lacks_are_refused_by_name(
    random: Random, random_library: ctypes.CDLL, capfd: pytest.CaptureFixture[str]
) -> None:
    made = ctypes.c_void_p()
    for _ in range(2):
        assert random_library.curandGenerateBinomial(None) == ARCH_MISMATCH
    assert capfd.readouterr().err.count("curandGenerateBinomial is not supported: libcurand.so.10") == 1
    assert random_library.curandCreateGenerator(ctypes.byref(made), 7) == TYPE_ERROR
    assert random_library.curandCreateGenerator(None, XORWOW) == NOT_INITIALIZED
    assert random_library.curandGetDirectionVectors32(ctypes.byref(made), 103) == OUT_OF_RANGE
    assert random_library.curandGetScrambleConstants64(None) == OUT_OF_RANGE


def test_unknown_generators_are_not_initialized(random: Random, random_library: ctypes.CDLL) -> None:
    value, nothing = ctypes.c_uint64(1), ctypes.c_size_t(0)
    for generator in (None, ctypes.c_void_p(64)):
        for name in ("SetStream", "SetPseudoRandomGeneratorSeed", "SetGeneratorOffset", "SetGeneratorOrdering"):
            assert getattr(random_library, f"curand{name}")(generator, value) == NOT_INITIALIZED
        assert random_library.curandSetQuasiRandomGeneratorDimensions(generator, 1) == NOT_INITIALIZED
        assert random_library.curandGenerate(generator, None, nothing) == NOT_INITIALIZED
        assert random_library.curandGenerateSeeds(generator) == NOT_INITIALIZED
        assert random_library.curandDestroyGenerator(generator) == NOT_INITIALIZED


def test_settings_of_other_generators_have_the_wrong_type(random: Random, random_library: ctypes.CDLL) -> None:
    pseudo, quasi = (random.generator(kind) for kind in (XORWOW, SCRAMBLED32))
    assert random_library.curandSetPseudoRandomGeneratorSeed(quasi, ctypes.c_uint64(1)) == TYPE_ERROR
    assert random_library.curandSetQuasiRandomGeneratorDimensions(pseudo, 2) == TYPE_ERROR
    for twister in (MT19937, MTGP32):
        generator = random.generator(twister)
        assert random_library.curandSetGeneratorOffset(generator, ctypes.c_uint64(1)) == TYPE_ERROR
    for dimensions, status in ((0, OUT_OF_RANGE), (20_001, OUT_OF_RANGE), (20_000, SUCCESS)):
        assert random_library.curandSetQuasiRandomGeneratorDimensions(quasi, dimensions) == status
    address = random.memory(64)
    assert random.call(pseudo, "LongLong", address, 2) == TYPE_ERROR
    for wide in (SOBOL64, SCRAMBLED64):
        assert random.call(random.generator(wide), "", address, 2) == TYPE_ERROR


def test_orderings_that_a_generator_lacks_are_out_of_range(random: Random, random_library: ctypes.CDLL) -> None:
    pseudo = {BEST, DEFAULT, LEGACY, DYNAMIC}
    allowed = {kind: {QUASI} for kind in (SOBOL32, SOBOL64, SCRAMBLED32, SCRAMBLED64)}
    allowed |= dict.fromkeys(PSEUDO, pseudo) | {XORWOW: pseudo | {SEEDED}}
    for kind, orders in allowed.items():
        generator = random.generator(kind)
        for each in (99, BEST, DEFAULT, SEEDED, LEGACY, DYNAMIC, QUASI):
            status = random_library.curandSetGeneratorOrdering(generator, each)
            assert status == (SUCCESS if each in orders else OUT_OF_RANGE)


def test_lengths_are_multiples_of_pairs_and_dimensions(random: Random) -> None:
    address = random.filled(64)
    for kind in PAIRED:
        generator = random.generator(kind)
        for name in ("Normal", "NormalDouble", "LogNormal", "LogNormalDouble"):
            assert random.call(generator, name, address, 3, 0.0, 1.0) == LENGTH_NOT_MULTIPLE
    assert random.call(random.generator(SOBOL32, dimensions=3), "Uniform", address, 4) == LENGTH_NOT_MULTIPLE
    for kind in (SOBOL32, SCRAMBLED32, MTGP32):
        assert random.call(random.generator(kind), "Normal", address, 3, 0.0, 1.0) == SUCCESS
    generator = random.generator(XORWOW)
    for mean in (0.0, -1.0, 400_001.0, float("nan"), float("inf")):
        assert random.call(generator, "Poisson", address, 4, mean) == OUT_OF_RANGE


def test_failed_call_writes_nothing_and_takes_no_results(random: Random) -> None:
    generator, address = random.generator(XORWOW), random.filled(64)
    assert random.call(generator, "", address, 1 << 40) == LAUNCH_FAILURE
    assert random.call(generator, "", 0x1234, 4) == LAUNCH_FAILURE
    assert random.call(generator, "Normal", address, 3, 0.0, 1.0) == LENGTH_NOT_MULTIPLE
    assert (random.values(address, 64, np.uint8) == 77).all()
    found = random.results(generator, "", 16)
    np.testing.assert_array_equal(found, random.results(random.generator(XORWOW), "", 16))
    import cuarray_sim

    cuarray_sim.clear_findings()


def test_version_and_properties_are_those_of_curand_10(random: Random, random_library: ctypes.CDLL) -> None:
    number = ctypes.c_int()
    assert random_library.curandGetVersion(ctypes.byref(number)) == SUCCESS
    version = number.value
    parts = []
    for part in range(3):
        assert random_library.curandGetProperty(part, ctypes.byref(number)) == SUCCESS
        parts.append(number.value)
    assert parts[0] == 10
    assert version == parts[0] * 1000 + parts[1] * 100 + parts[2]
    assert random_library.curandGetProperty(3, ctypes.byref(number)) == OUT_OF_RANGE
    assert random_library.curandGetVersion(None) == OUT_OF_RANGE


def test_arguments_at_random_never_crash(random: Random, random_library: ctypes.CDLL) -> None:
    import cuarray_sim

    rng = np.random.default_rng(11)
    generators = [random.generator(kind) for kind in (*PSEUDO, SOBOL32, SOBOL64, SCRAMBLED32, SCRAMBLED64)]
    address = random.memory(1 << 14)
    seen = set()
    for _ in range(1500):
        generator = [*generators, None, ctypes.c_void_p(1)][int(rng.integers(len(generators) + 2))]
        name = list(TYPES)[int(rng.integers(len(TYPES)))]
        where = [None, address, address + 8, address + 3, 0x1234][int(rng.integers(5))]
        count = [0, 1, 2, 3, 8, 100, 2**40, 2**62, 2**64 - 1][int(rng.integers(9))]
        numbers = [0.0, -1.0, 1.0, 3.5, 1e300, float("nan"), float("inf")]
        wanted = 2 if "Normal" in name else name == "Poisson"
        arguments = [numbers[int(rng.integers(len(numbers)))] for _ in range(wanted)]
        seen.add(random.call(generator, name, where, count, *arguments))
        choice = [0, 1, 5, 101, 103, 201, 2**31, 2**63 + 5, 2**64 - 1][int(rng.integers(9))]
        setting = ["SetPseudoRandomGeneratorSeed", "SetGeneratorOffset", "SetGeneratorOrdering"][int(rng.integers(3))]
        seen.add(getattr(random_library, f"curand{setting}")(generator, ctypes.c_uint64(choice)))
    assert seen <= {SUCCESS, NOT_INITIALIZED, TYPE_ERROR, OUT_OF_RANGE, LENGTH_NOT_MULTIPLE, LAUNCH_FAILURE}
    assert {SUCCESS, NOT_INITIALIZED, TYPE_ERROR, OUT_OF_RANGE, LENGTH_NOT_MULTIPLE} <= seen
    driver_probe.call("cuCtxSynchronize")
    cuarray_sim.clear_findings()


def test_library_exports_each_name_that_the_headers_declare(random_library: ctypes.CDLL) -> None:
    names = """CreateGenerator CreateGeneratorHost CreatePoissonDistribution DestroyDistribution DestroyGenerator Generate GenerateBinomial
    GenerateBinomialMethod GenerateLogNormal GenerateLogNormalDouble GenerateLongLong GenerateNormal GenerateNormalDouble GeneratePoisson
    GeneratePoissonMethod GenerateSeeds GenerateUniform GenerateUniformDouble GetDirectionVectors32 GetDirectionVectors64 GetProperty
    GetScrambleConstants32 GetScrambleConstants64 GetVersion SetGeneratorOffset SetGeneratorOrdering SetPseudoRandomGeneratorSeed
    SetQuasiRandomGeneratorDimensions SetStream"""
    assert [name for name in names.split() if not hasattr(random_library, f"curand{name}")] == []


def test_calls_without_a_driver_fail_and_generators_for_the_host_run(random_library: ctypes.CDLL) -> None:
    code = """if True:
        import ctypes, sys
        library, made = ctypes.CDLL(sys.argv[1]), ctypes.c_void_p()
        assert library.curandCreateGenerator(ctypes.byref(made), 100) == 203
        assert library.curandCreateGeneratorHost(ctypes.byref(made), 100) == 0
        found = (ctypes.c_uint * 4)()
        assert library.curandGenerate(made, found, ctypes.c_size_t(4)) == 0 and any(found)
    """
    done = subprocess.run(
        [sys.executable, "-c", code, random_library._name], capture_output=True, text=True, env={}, timeout=60
    )
    assert done.returncode == 0, done.stderr
