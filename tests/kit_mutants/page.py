"""The page of the mutants, docs/results/kit-mutants.md, and a run of all of them in processes of their own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from kit_mutants.mutants import all_mutants
from kit_mutants.reasons import REASONS

PAGE = Path(__file__).parents[2] / "docs/results/kit-mutants.md"
#: The processes that share a run.
PROCESSES = 2

HEAD = """# Mutants of the conformance kit

`make kit-mutants UPDATE=1` writes this page. It asks whether [`cuarray check`](../reference/check.md) finds wrong libraries. A library in Python
(`tests/kit_mutants/library.py`) exports and imports arrays as the texts say, and passes every check. Each value that a text determines is a *fact*: a stride,
the device of a tensor, the request for a stream, the call of a deleter. A *mutant* is this library with one rule applied to one fact. The rules follow the
kinds of facts: an entry of a tuple is a float, a step is left out, one value is read as another, a legal value is refused. At least one check has to fail.

`make test` runs each mutant against the check that this page names. `make kit-mutants` looks through all checks again.

**{mutants} mutants of {facts} facts: {found} found, {accepted} accepted.**

| side | facts | mutants | found | accepted |
|---|---:|---:|---:|---:|
{sides}

## Accepted

No check has to find these.

| fact | mutant | reason |
|---|---|---|
{reasons}

## Found

| fact | mutant | found by |
|---|---|---|
{rows}
"""


def render(found: Mapping[str, str]) -> str:
    """Return the page; ``found`` has the check that finds each mutant, or an empty text."""
    mutants = all_mutants()
    known = [each for each in mutants if found[each.name]]
    sides = []
    for role in ("producer", "consumer"):
        own = [each for each in mutants if each.role == role]
        seen = sum(bool(found[each.name]) for each in own)
        sides.append(f"| {role} | {len({each.fact for each in own})} | {len(own)} | {seen} | {len(own) - seen} |")
    missing = [each for each in mutants if not found[each.name]]
    return HEAD.format(
        mutants=len(mutants),
        facts=len({each.fact for each in mutants}),
        found=len(known),
        accepted=len(missing),
        sides="\n".join(sides),
        reasons="\n".join(
            f"| `{each.fact}` | {_cell(each.rule)} | {REASONS.get(each.name, '**not found, and without a reason**')} |"
            for each in missing
        ),
        rows="\n".join(f"| `{each.fact}` | {_cell(each.rule)} | `{found[each.name]}` |" for each in known),
    )


def _cell(text: str) -> str:
    """Return a text for a cell of a table; type strings may begin with the mark between cells."""
    return text.replace("|", "\\|")


def recorded(page: Path) -> dict[str, str]:
    """Return the check that a page names for each mutant."""
    found = {}
    for line in page.read_text(encoding="utf-8").splitlines() if page.exists() else []:
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
        if len(cells) == 3 and cells[0].startswith("`") and cells[2].startswith("`"):
            found[f"{cells[0].strip('`')}: {cells[1]}"] = cells[2].strip("`")
    return found


def run_all(*, quick: bool) -> tuple[dict[str, str], list[str]]:
    """Run all mutants; return the check that finds each, and the failures of the right library.

    A quick run tries the check of the page first.
    """
    command = [sys.executable, "-m", "cuarray_sim", "--devices", "2", "-m", "kit_mutants.running"]
    page = [str(PAGE)] if quick else []
    started = [
        subprocess.Popen(
            [*command, str(number), str(PROCESSES), *page],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[1],
        )
        for number in range(PROCESSES)
    ]
    found: dict[str, str] = {}
    failures: list[str] = []
    for process in started:
        printed, errors = process.communicate()
        if process.returncode != 0:
            raise RuntimeError(f"a part of the mutants ended with status {process.returncode}: {errors}")
        for line in printed.splitlines():
            name, result = json.loads(line)
            if name:
                found[name] = result
            else:
                failures += result
    return found, failures


def unexplained(found: Mapping[str, str]) -> list[str]:
    """Return the mutants that no check finds and that have no reason, and the reasons of mutants that are found or do not exist."""
    lost = {name for name, check in found.items() if not check}
    return [
        *(f"no check finds {name}" for name in sorted(lost - REASONS.keys())),
        *(
            f"remove the reason of {name}: a check finds it, or it does not exist"
            for name in sorted(REASONS.keys() - lost)
        ),
    ]
