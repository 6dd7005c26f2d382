"""Computations on a device, and the form in which their results are recorded. Other modules of numerics use it; it has no question.

Each thread computes one result. Kernels and edge values are those of ``tests/kernels``, which compares them with exact arithmetic. A
recorded list of results has the bits of each in hexadecimal, without leading zeros, in the order of the operands. A run of equal
results is written once, with its length: ``7fff*3``.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ...driver import CUDA_SUCCESS, Driver, DriverError
from ...question import Facts

sys.path.append(str(Path(__file__).parents[4] / "kernels"))

if TYPE_CHECKING:
    from instruction_cases import Computation

CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75
CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76

PTX_VERSION = "8.7"
NOT_HERE = "not on this device"
MOST_THREADS = 1024
MOST_OPERANDS = 4096
MOST_SOURCES = 4
WORD = 8
"""The bytes of an operand and of a result in memory."""
MEMORY = (MOST_SOURCES + 1) * MOST_OPERANDS * WORD
LONGEST_NAME = 120
BLOCK = 256
"""The number of results that share a hash."""

Operands = Sequence[Sequence[int]]
"""The bits of the operands: a list for each source, all of one length."""


@dataclass(frozen=True)
class Given:
    """A computation with its operands."""

    of: Computation
    operands: Operands


def capability(driver: Driver) -> int:
    """Return ten times the compute capability of device 0."""
    major, minor = CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
    return 10 * int(driver.got("cuDeviceGetAttribute", major, 0)) + int(driver.got("cuDeviceGetAttribute", minor, 0))


def module_text(kernels: str, since: int) -> str:
    return f".version {PTX_VERSION}\n.target sm_{since}\n.address_size 64\n{kernels}\n"


@cache
def memory(driver: Driver, size: int) -> int:
    """Return device memory that all steps of a process share."""
    return driver.allocate(size)


def as_bytes(words: Iterable[int]) -> bytes:
    return b"".join(word.to_bytes(WORD, "little") for word in words)


def as_words(data: bytes) -> list[int]:
    return [int.from_bytes(data[at : at + WORD], "little") for at in range(0, len(data), WORD)]


def launched(driver: Driver, function: int, *arguments: int, threads: int) -> None:
    code = driver.launch(function, *arguments, threads=threads)
    if code != CUDA_SUCCESS:
        raise DriverError(f"cuLaunchKernel returned {code}")


def run(driver: Driver, kernel: str, name: str, since: int, arrays: Operands, threads: int) -> list[list[int]]:
    """Launch a kernel on copies of arrays of words, and return their contents after it."""
    module = driver.module(module_text(kernel, since))
    place, places = memory(driver, MEMORY), []
    for array in arrays:
        driver.upload(place, as_bytes(array))
        places.append(place)
        place += len(array) * WORD
    assert place <= memory(driver, MEMORY) + MEMORY
    launched(driver, driver.function(module, name), *places, threads=threads)
    results = [as_words(driver.download(at, len(array) * WORD)) for at, array in zip(places, arrays, strict=True)]
    driver.do("cuModuleUnload", module)
    return results


def computed(driver: Driver, given: Given) -> list[int]:
    """Return the results of a computation for all operands."""
    from instruction_cases.kernels import kernel

    count = len(given.operands[0])
    module = driver.module(module_text(kernel(0, given.of, count), given.of.since))
    function, inputs = driver.function(module, "k0"), memory(driver, MEMORY)
    outputs = inputs + MOST_SOURCES * MOST_OPERANDS * WORD
    driver.upload(inputs, as_bytes(word for source in given.operands for word in source))
    for start in range(0, count, MOST_THREADS):
        at = start * WORD
        launched(driver, function, inputs + at, outputs + at, threads=min(MOST_THREADS, count - start))
    results = as_words(driver.download(outputs, count * WORD))
    driver.do("cuModuleUnload", module)
    return results


def shown(results: Sequence[int]) -> str:
    runs = ((result, len(list(run))) for result, run in itertools.groupby(results))
    return " ".join(f"{result:x}" if length == 1 else f"{result:x}*{length}" for result, length in runs)


def read(text: str) -> list[int]:
    """Return the results that a text shows."""
    found = []
    for word in text.split():
        result, _, length = word.partition("*")
        found += [int(result, 16)] * int(length or 1)
    return found


def digest(results: Sequence[int]) -> str:
    return hashlib.sha256(shown(results).encode()).hexdigest()[:16]


def record(facts: Facts, results: Sequence[int], most: int = MOST_OPERANDS) -> None:
    """Store the first results, and a hash of all, which a comparison shows in full; and hashes of blocks of the others."""
    facts["results"] = shown(results[:most])
    facts["hash"] = digest(results)
    if len(results) > most:
        facts["hashes_of_the_rest"] = [digest(results[at : at + BLOCK]) for at in range(most, len(results), BLOCK)]


def answer(driver: Driver, facts: Facts, given: Given, most: int = MOST_OPERANDS) -> None:
    """Record the results of a computation, unless the device lacks its instructions."""
    if given.of.since > capability(driver):
        facts["results"] = NOT_HERE
    else:
        record(facts, computed(driver, given), most)


def named(text: str) -> str:
    """Return the name of a step from the text of a computation."""
    words = text.replace("$", "").replace("#", "").replace("!", "not ").replace("-", "minus ")
    return re.sub(r"[^a-zA-Z0-9_.]+", "_", words).strip("_.")[:LONGEST_NAME]


def by_name(every: Iterable[Given]) -> dict[str, Given]:
    """Return computations by the names of their steps."""
    found: dict[str, Given] = {}
    for given in every:
        name = named(given.of.text)
        assert name not in found, f"two computations are named {name}"
        found[name] = given
    return found


def mixed(number: int) -> int:
    """Return 64 pseudo-random bits, by the function of ``splitmix64``."""
    ones = (1 << 64) - 1
    number = number * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15 & ones
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & ones
    number = (number ^ number >> 27) * 0x94D049BB133111EB & ones
    return number ^ number >> 31
