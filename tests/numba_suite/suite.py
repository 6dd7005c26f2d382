"""All tests that numba-cuda ships, on the simulated driver, compared with what is known of them.

    PYTHONPATH=tests python -m cuarray_sim --devices 2 -m numba_suite [--update] [name ...]

Each module's tests run in a process of their own (:mod:`numba_suite.pool`), by pytest (:mod:`numba_suite.worker`). The exit status is 1 if
anything differs from ``expected.toml`` (:mod:`numba_suite.expected`); ``--update`` writes that and ``docs/results/numba-suite.md`` anew, once
every test that does not pass has a reason in ``reasons.toml``.
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
"""Of ``numba.cuda.tests``: all but those of numba's own simulator, and benchmarks."""

NEEDED = ("numba_cuda", "filecheck", "cffi", "psutil")
"""What the tests import. Where a version of Python has one of these not, there is nothing to say of it."""

LONGEST = [
    *("cudapy.test_ufuncs", "cudapy.test_array_alignment", "cudapy.test_cache_hints", "cudapy.test_array_reductions"),
    *("cudapy.test_intrinsics", "nrt.test_nrt", "cudapy.test_vector_type", "doc_examples.test_random"),
]
"""They begin first, so that at the end no core waits for one of them."""

OUT_OF_TIME = re.compile("TimeoutExpired|TimeoutError|BrokenBarrierError")

TABLE = Path(__file__).parents[2] / "docs" / "results" / "numba-suite.md"


def modules(parts: list[str]) -> list[str]:
    """The names of the modules that contain one of the parts; all without."""
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
        print(f"nothing is run: {', '.join(missing)} not installed; `make install` installs requirements/peers.txt")
        return 0
    started = time.monotonic()
    names = modules(options.names)
    if not names:
        print("no module has such a name")
        return 2
    order = sorted(names, key=lambda name: LONGEST.index(name) if name in LONGEST else len(LONGEST))
    results = _run(order, options, options.jobs)
    if late := [name for name in names if any(_is_late(outcome) for outcome in results[name].tests.values())]:
        print("Once more, one at a time, since tests in them met time limits:")
        results |= _run(late, options, at_a_time=1)
    done = [results[name] for name in names]
    total = ", ".join(f"{sum(module.count(what) for module in done)} {what}" for what in OUTCOMES)
    seconds = sum(module.seconds for module in done)
    print(f"{len(done)} modules: {total}; {time.monotonic() - started:.0f} s, of processor time {seconds:.0f} s")
    return _told(done, options)


def _run(names: list[str], options: argparse.Namespace, at_a_time: int) -> dict[str, Module]:
    """Run modules, and say what came of each."""
    results = {}
    for module in pool.run(names, options.logs, at_a_time, options.limit):
        results[module.name] = module
        counts = ", ".join(f"{module.count(what)} {what}" for what in OUTCOMES if module.count(what))
        print(f"{module.name:40} {module.seconds:6.1f} s  {counts}", flush=True)
    return results


def _is_late(outcome: Outcome) -> bool:
    """Whether a test failed for the clock alone: some of numba's give a process or a thread so many seconds."""
    return outcome.what == FAILED and OUT_OF_TIME.search(outcome.message) is not None


def _told(done: list[Module], options: argparse.Namespace) -> int:
    """Compare with what is expected, or make it so; answer the exit status."""
    known = expected.reasons()
    unexplained = [
        f"{name} {outcome.what}: {outcome.message}"
        for name, outcome in expected.not_passed(done)
        if expected.explanation(known, name, outcome) is None
    ]
    if options.update and not unexplained:
        expected.write(done, known)
        TABLE.write_text(markdown(done, known), encoding="utf-8")
        print(f"written: {expected.EXPECTED}, {TABLE}")
        return 0
    before = expected.read()
    wrong = unexplained if options.update else expected.differences(done, before, known)
    if not options.names and before.versions == expected.versions():
        gone = before.passed.keys() - {module.name for module in done}
        wrong += [f"{name}: there is no such module any more" for name in sorted(gone)]
    for line in wrong:
        print(f"DIFFERENT: {line}")
    if wrong:
        print(
            f"{len(wrong)} differences from tests/numba_suite/expected.toml; what each module said is in {options.logs}. If they are "
            "right: `make numba-suite UPDATE=1`; a test that does not pass needs a reason in tests/numba_suite/reasons.toml."
        )
    elif before.versions != expected.versions():
        print(
            "expected.toml is of other versions: every test that does not pass has a reason; counts were not compared"
        )
    return 1 if wrong else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="numba_suite", description="numba-cuda's own tests on the simulated driver.")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="modules at a time (all cores)"
    )
    parser.add_argument("--limit", type=float, default=900.0, metavar="S", help="seconds that a module may take (900)")
    parser.add_argument(
        "--logs", type=Path, default=Path("build/numba-suite"), metavar="DIR", help="for what modules say"
    )
    parser.add_argument("--update", action="store_true", help="write expected.toml and docs/results/numba-suite.md anew")
    parser.add_argument("names", nargs="*", help="parts of the names of the modules to run; all without")
    options = parser.parse_args()
    if options.update and options.names:
        parser.error("--update goes with all modules")
    options.logs = options.logs.absolute()
    return options
