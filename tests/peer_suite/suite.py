"""Run all modules of a suite on the simulated driver, and compare the outcomes with the expected ones.

    PYTHONPATH=tests python -m cuarray_sim --devices 2 -m numba_suite [name ...]

Each module runs in its own process (:mod:`peer_suite.pool`) by pytest (:mod:`peer_suite.worker`). The exit status is 1 if an
outcome differs from the suite's ``expected.toml`` (:mod:`peer_suite.expected`). ``UPDATE=1`` writes the outcomes of the modules that ran to
``expected.toml`` and to the suite's page in ``docs/results``, if every test that does not pass has a reason in ``reasons.toml``. A test of this folder compares the
page with ``expected.toml``.
"""

from __future__ import annotations

import argparse
import os
import re
import time
from pathlib import Path

from generated import is_updating

from . import expected, pool
from .description import Suite
from .outcome import FAILED, OUTCOMES, Module, Outcome
from .table import markdown

OUT_OF_TIME = re.compile("TimeoutExpired|TimeoutError|BrokenBarrierError")


def main(suite: Suite) -> int:
    options = _options(suite)
    if missing := suite.missing():
        print(f"nothing to run: {', '.join(missing)} not installed; {suite.installed_by}")
        return 0 if os.environ.get("ALLOW_MISSING") == "1" else 1
    started = time.monotonic()
    names = [name for name in suite.modules() if not options.names or any(part in name for part in options.names)]
    if not names:
        print("no module matches these names")
        return 2
    order = sorted(names, key=lambda name: suite.longest.index(name) if name in suite.longest else len(suite.longest))
    results = _run(suite, order, options, options.jobs)
    if late := [name for name in names if any(_is_late(outcome) for outcome in results[name].tests.values())]:
        print("Running modules with timeouts again, one at a time:")
        results |= _run(suite, late, options, at_a_time=1)
    done = [results[name] for name in names]
    total = ", ".join(f"{sum(module.count(result) for module in done)} {result}" for result in OUTCOMES)
    seconds = sum(module.seconds for module in done)
    print(f"{len(done)} modules: {total}; {time.monotonic() - started:.0f} s, processor time {seconds:.0f} s")
    return _compare_or_update(suite, done, options)


def _run(suite: Suite, names: list[str], options: argparse.Namespace, at_a_time: int) -> dict[str, Module]:
    """Run modules and print the counts of each."""
    results = {}
    for module in pool.run(suite, names, options.logs, at_a_time, options.limit):
        results[module.name] = module
        counts = ", ".join(f"{module.count(result)} {result}" for result in OUTCOMES if module.count(result))
        print(f"{module.name:40} {module.seconds:6.1f} s  {counts}", flush=True)
    return results


def _is_late(outcome: Outcome) -> bool:
    """Return whether a test failed by one of its own time limits, as some tests do on a busy machine."""
    return outcome.result == FAILED and OUT_OF_TIME.search(outcome.message) is not None


def _compare_or_update(suite: Suite, done: list[Module], options: argparse.Namespace) -> int:
    """Compare with the expected outcomes, or update them. Return the exit status."""
    reasons = expected.reasons(suite)
    unexplained = [
        f"{name} {outcome.result}: {outcome.message}"
        for name, outcome in expected.not_passed(done)
        if expected.explanation(reasons, name, outcome) is None
    ]
    if is_updating() and options.names and expected.read(suite).versions != suite.versions():
        unexplained += ["the expected outcomes are those of other versions: UPDATE=1 needs a run of all modules"]
    if is_updating() and not unexplained:
        expected.write(suite, done, reasons)
        suite.page.write_text(markdown(suite, expected.read(suite), reasons), encoding="utf-8")
        print(f"written: {suite.expected}, {suite.page}")
        return 0
    before = expected.read(suite)
    wrong = unexplained if is_updating() else expected.differences(suite, done, before, reasons)
    if not options.names and before.versions == suite.versions():
        gone = before.passed.keys() - {module.name for module in done}
        wrong += [f"{name}: the module no longer exists" for name in sorted(gone)]
    for line in wrong:
        print(f"DIFFERENT: {line}")
    if wrong:
        print(
            f"{len(wrong)} differences from {suite.expected}; the output of each module is in {options.logs}. "
            f"To accept them, run `make {suite.name} UPDATE=1`; a test that does not pass needs a reason in {suite.reasons}."
        )
    elif before.versions != suite.versions():
        print(
            "every test that does not pass has a reason; counts were not compared, since expected.toml states the counts of other versions"
        )
    return 1 if wrong else 0


def _options(suite: Suite) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=suite.name, description=f"{suite.library}'s own tests on the simulated driver."
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="modules at a time (all cores)"
    )
    parser.add_argument("--limit", type=float, default=900.0, metavar="S", help="seconds that a module may take (900)")
    parser.add_argument(
        "--logs", type=Path, default=Path("build") / suite.name, metavar="DIR", help="folder for the output of modules"
    )
    parser.add_argument("names", nargs="*", help="parts of names of modules to run; all modules if omitted")
    options = parser.parse_args()
    options.logs = options.logs.absolute()
    return options
