"""Run all tests that numba-cuda ships on the simulated driver, and compare the outcomes with the expected ones.

    PYTHONPATH=tests python -m cuarray_sim --devices 2 -m numba_suite [--update] [name ...]

Each module runs in its own process (:mod:`numba_suite.pool`) by pytest (:mod:`numba_suite.worker`). The exit status is 1 if an
outcome differs from ``expected.toml`` (:mod:`numba_suite.expected`). ``--update`` writes ``expected.toml`` and
``docs/results/numba-suite.md``, if every test that does not pass has a reason in ``reasons.toml``.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import time
from pathlib import Path

from . import expected, pool
from .outcome import FAILED, OUTCOMES, Module, Outcome
from .table import markdown

PACKAGES = ("nocuda", "core", "cudadrv", "nrt", "cudapy", "doc_examples")
"""Packages of ``numba.cuda.tests``, without the tests of numba's own simulator and the benchmarks."""

NEEDED = ("numba_cuda", "filecheck", "cffi", "psutil")
"""Packages that the tests import. Nothing runs if one is not available for this version of Python."""

LONGEST = [
    *("cudapy.test_ufuncs", "cudapy.test_array_alignment", "cudapy.test_cache_hints", "cudapy.test_array_reductions"),
    *("cudapy.test_intrinsics", "nrt.test_nrt", "cudapy.test_vector_type", "doc_examples.test_random"),
]
"""The slowest modules. They start first, to shorten the whole run."""

OUT_OF_TIME = re.compile("TimeoutExpired|TimeoutError|BrokenBarrierError")

TABLE = Path(__file__).parents[2] / "docs" / "results" / "numba-suite.md"


def modules(parts: list[str]) -> list[str]:
    """Return the modules whose names contain one of the parts, or all modules."""
    spec = importlib.util.find_spec("numba.cuda.tests")
    assert spec is not None
    assert spec.submodule_search_locations
    base = Path(spec.submodule_search_locations[0])
    found = [
        ".".join(path.relative_to(base).with_suffix("").parts)
        for package in PACKAGES
        for path in sorted((base / package).rglob("test_*.py"))
    ]
    return [name for name in found if not parts or any(part in name for part in parts)]


def main() -> int:
    options = _options()
    if missing := [package for package in NEEDED if importlib.util.find_spec(package) is None]:
        print(f"nothing to run: {', '.join(missing)} not installed; `make peers` installs requirements/peers.txt")
        return 0
    started = time.monotonic()
    names = modules(options.names)
    if not names:
        print("no module matches these names")
        return 2
    order = sorted(names, key=lambda name: LONGEST.index(name) if name in LONGEST else len(LONGEST))
    results = _run(order, options, options.jobs)
    if late := [name for name in names if any(_is_late(outcome) for outcome in results[name].tests.values())]:
        print("Running modules with timeouts again, one at a time:")
        results |= _run(late, options, at_a_time=1)
    done = [results[name] for name in names]
    total = ", ".join(f"{sum(module.count(result) for module in done)} {result}" for result in OUTCOMES)
    seconds = sum(module.seconds for module in done)
    print(f"{len(done)} modules: {total}; {time.monotonic() - started:.0f} s, processor time {seconds:.0f} s")
    return _compare_or_update(done, options)


def _run(names: list[str], options: argparse.Namespace, at_a_time: int) -> dict[str, Module]:
    """Run modules and print the counts of each."""
    results = {}
    for module in pool.run(names, options.logs, at_a_time, options.limit):
        results[module.name] = module
        counts = ", ".join(f"{module.count(result)} {result}" for result in OUTCOMES if module.count(result))
        print(f"{module.name:40} {module.seconds:6.1f} s  {counts}", flush=True)
    return results


def _is_late(outcome: Outcome) -> bool:
    """Return whether a test failed by one of its own time limits, as some tests of numba do on a busy machine."""
    return outcome.result == FAILED and OUT_OF_TIME.search(outcome.message) is not None


def _compare_or_update(done: list[Module], options: argparse.Namespace) -> int:
    """Compare with the expected outcomes, or update them. Return the exit status."""
    reasons = expected.reasons()
    unexplained = [
        f"{name} {outcome.result}: {outcome.message}"
        for name, outcome in expected.not_passed(done)
        if expected.explanation(reasons, name, outcome) is None
    ]
    if options.update and not unexplained:
        expected.write(done, reasons)
        TABLE.write_text(markdown(done, reasons), encoding="utf-8")
        print(f"written: {expected.EXPECTED}, {TABLE}")
        return 0
    before = expected.read()
    wrong = unexplained if options.update else expected.differences(done, before, reasons)
    if not options.names and before.versions == expected.versions():
        gone = before.passed.keys() - {module.name for module in done}
        wrong += [f"{name}: the module no longer exists" for name in sorted(gone)]
    for line in wrong:
        print(f"DIFFERENT: {line}")
    if wrong:
        print(
            f"{len(wrong)} differences from tests/numba_suite/expected.toml; the output of each module is in {options.logs}. "
            "To accept them, run `make numba-suite UPDATE=1`; a test that does not pass needs a reason in "
            "tests/numba_suite/reasons.toml."
        )
    elif before.versions != expected.versions():
        print(
            "every test that does not pass has a reason; counts were not compared, since expected.toml states the counts of other versions"
        )
    return 1 if wrong else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="numba_suite", description="numba-cuda's own tests on the simulated driver.")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="modules at a time (all cores)"
    )
    parser.add_argument("--limit", type=float, default=900.0, metavar="S", help="seconds that a module may take (900)")
    parser.add_argument(
        "--logs", type=Path, default=Path("build/numba-suite"), metavar="DIR", help="folder for the output of modules"
    )
    parser.add_argument("--update", action="store_true", help="write expected.toml and docs/results/numba-suite.md")
    parser.add_argument("names", nargs="*", help="parts of names of modules to run; all modules if omitted")
    options = parser.parse_args()
    if options.update and options.names:
        parser.error("--update needs a run of all modules")
    options.logs = options.logs.absolute()
    return options
