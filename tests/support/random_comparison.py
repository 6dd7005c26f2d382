"""Compares the stand-in for cuRAND with NVIDIA's library, by hand: ``python random_comparison.py OURS NVIDIAS RUNTIME``.

The arguments are the paths of both ``libcurand.so.10``, and of the ``libcudart.so`` that NVIDIA's needs. Both libraries generate for the host, which
needs no GPU. The script calls documented functions only. It prints each case whose results differ by more than the last bits, and fails then.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
from random_probe import (
    DEFAULT,
    LEGACY,
    MRG32K3A,
    MTGP32,
    PHILOX,
    SOBOL32,
    SOBOL64,
    SUCCESS,
    TYPES,
    XORWOW,
    converted,
)

Call = tuple[str, int]
NAMES = [name for name in TYPES if name not in ("LongLong", "Poisson")]


def results(library: ctypes.CDLL, kind: int, settings: dict[str, Any], calls: list[Call]) -> list[Any]:
    """Return the statuses and the results of calls of a new generator."""
    generator = ctypes.c_void_p()
    found: list[Any] = [library.curandCreateGeneratorHost(ctypes.byref(generator), kind)]
    found += [getattr(library, f"curandSet{name}")(generator, value) for name, value in settings.items()]
    for name, count in calls:
        values = np.zeros(count, TYPES[name])
        arguments = converted(name, (0.25, 0.5) if "Normal" in name else ())
        target = values.ctypes.data_as(ctypes.c_void_p)
        function = getattr(library, f"curandGenerate{name}")
        found += [function(generator, target, ctypes.c_size_t(count), *arguments), values]
    assert library.curandDestroyGenerator(generator) == SUCCESS
    return found


def are_equal(kind: int, name: str, ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Tell whether results agree: to the last bit, or nearly where the inverse distribution is another program's."""
    if "Normal" in name and kind in (SOBOL32, SOBOL64, MTGP32):
        single = ours.dtype == np.float32
        return np.allclose(ours, theirs, rtol=2e-6 if single else 1e-12, atol=1e-7 if single else 1e-13)
    return np.array_equal(ours, theirs)


def cases(rng: np.random.Generator) -> list[tuple[int, dict[str, Any], list[Call]]]:
    made: list[tuple[int, dict[str, Any], list[Call]]] = []
    for kind in (XORWOW, MRG32K3A, PHILOX, MTGP32):
        for _ in range(40):
            sizes = [2, 6, 100, 4096, 5000, 70_002, *([1, 255, 333] if kind == MTGP32 else [])]
            calls = [(NAMES[int(rng.integers(7))], int(rng.choice(sizes))) for _ in range(6)]
            settings = {
                "PseudoRandomGeneratorSeed": ctypes.c_uint64(int(rng.integers(2**63))),
                "GeneratorOrdering": int(rng.choice([DEFAULT, LEGACY])),
                "GeneratorOffset": ctypes.c_uint64(int(rng.choice([0, 1, 3, 1000, 2**33 + 5]))),
            }
            # MTGP32 refuses an offset.
            made.append((kind, settings, calls))
    for kind in (SOBOL32, SOBOL64):
        for dimensions in (1, 3, 1000, 20_000):
            names = [*NAMES[1:], "LongLong" if kind == SOBOL64 else ""]
            settings = {"QuasiRandomGeneratorDimensions": dimensions, "GeneratorOffset": ctypes.c_uint64(7)}
            made.append((kind, settings, [(name, dimensions * count) for name in names for count in (40, 3)]))
    return made


def main(ours_path: str, theirs_path: str, runtime: str) -> int:
    ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL)
    ours, theirs = ctypes.CDLL(ours_path), ctypes.CDLL(theirs_path)
    differences = compared = 0
    for kind, settings, calls in cases(np.random.default_rng(1)):
        first, second = results(ours, kind, settings, calls), results(theirs, kind, settings, calls)
        start = 1 + len(settings)
        same = first[:start] == second[:start]
        for index, (name, count) in enumerate(calls):
            at = start + 2 * index
            compared += count
            same &= first[at] == second[at] == SUCCESS and are_equal(kind, name, first[at + 1], second[at + 1])
        if not same:
            differences += 1
            print(f"different: generator {kind}, {settings}, {calls}")
    print(f"{compared} results compared, {differences} cases differ")
    return min(differences, 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
