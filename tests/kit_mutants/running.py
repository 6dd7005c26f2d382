"""Run checks of the kit against mutants, each in a copy of this process.

``python -m cuarray_sim --devices 2 -m kit_mutants.running FIRST STEP [PAGE]`` prints a line of JSON for each mutant of this part: its name,
and the first check that finds it. With a page, the check that the page names is tried first, so that most mutants take one check.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cuarray.check import driver
from cuarray.check.adapter import Adapter
from cuarray.check.outcome import FAILED, PASSED, UNCLAIMED
from cuarray.check.registry import Check, all_checks
from cuarray.check.worker import Subject, in_a_copy
from kit_mutants import facts, library, page
from kit_mutants.facts import Mutant
from kit_mutants.mutants import all_mutants

#: A check of a mutant may hang.
TIMEOUT = 20.0


class Mutated(Subject):
    """The right library with one mutant, which is activated in the copy."""

    def __init__(self) -> None:
        self.name, self.adapter, self.consumer = library.NAME, Adapter(library), None
        self.adapters = [self.adapter]
        self.mutant: Mutant | None = None

    def run(self, job: str, record: str) -> dict[str, Any]:
        """Run a check of the mutant in this process."""
        facts.activate(self.mutant)
        return super().run(job, record)


SUBJECT = Mutated()


def outcome(mutant: Mutant | None, check: str) -> dict[str, Any]:
    """Run a check of a mutant, or of the right library."""
    SUBJECT.mutant = mutant
    return in_a_copy(SUBJECT, check, TIMEOUT)


def candidates(mutant: Mutant) -> list[Check]:
    """Return the checks of the mutant's role and protocol; those whose names share most words with the mutant come first."""
    checks = [
        each
        for each in all_checks()
        if mutant.role in each.parts
        and ("dlpack" in each.parts) == mutant.is_of_tensors
        and "exchange-table" not in each.parts
    ]
    words = _words(f"{mutant.fact} {mutant.rule}")
    return sorted(checks, key=lambda each: -len(words & _words(each.id)))


def _words(text: str) -> set[str]:
    return set(text.replace("-", " ").replace(".", " ").split())


def finder(mutant: Mutant, first: str = "") -> str:
    """Return the first check that finds a mutant, or an empty text; ``first`` is tried before the others."""
    names = [each.id for each in candidates(mutant)]
    for name in dict.fromkeys([first, *names] if first in names else names):
        if outcome(mutant, name)["status"] == FAILED:
            return name
    return ""


def failures_of_the_right_library(checks: Iterable[Check]) -> list[str]:
    """Return the failures of the library without a mutant."""
    results = [outcome(None, each.id) for each in checks if "exchange-table" not in each.parts]
    return [f"{each['check']}: {each['message']}" for each in results if each["status"] not in (PASSED, UNCLAIMED)]


def main(arguments: list[str]) -> None:
    """Run a part of the mutants, and of the checks of the right library."""
    start, step = int(arguments[0]), int(arguments[1])
    recorded = page.recorded(Path(arguments[2])) if len(arguments) > 2 else {}
    checks = all_checks()
    driver.is_simulated()
    gc.collect()
    gc.freeze()
    print(json.dumps(["", failures_of_the_right_library(checks[start::step])]), flush=True)
    for mutant in all_mutants()[start::step]:
        print(json.dumps([mutant.name, finder(mutant, recorded.get(mutant.name, ""))]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
