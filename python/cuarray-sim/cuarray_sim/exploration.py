"""The command ``python -m cuarray_sim --explore N``: run a program under each of its schedules, each in a new process.

New processes keep state of earlier runs (caches, pools, imports, the garbage collector) out of each run. A run gets the
beginning of its schedule and writes the complete schedule at exit, from which the next one follows. Runs with equal output
and exit status are printed as one outcome, with a schedule that repeats the first of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field

from .schedules import next_schedule

__all__ = ["explore_program"]

# The number of lines that are shown of a run's output.
_LINES = 20


@dataclass
class _Outcome:
    """Runs with the same output and exit status."""

    status: int
    output: str
    errors: str
    schedules: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        end = f"exit status {self.status}" if self.status >= 0 else f"killed by signal {-self.status}"
        lines = [f"{len(self.schedules)} x {end}; first: CUARRAY_SIM_SCHEDULE={self.schedules[0]}"]
        # Standard error explains a failure; of a run that succeeds only the output counts.
        for text in (self.output, self.errors if self.status else ""):
            shown = text.splitlines()[-_LINES:]
            lines.extend(textwrap.indent(line, "    ") for line in shown)
        return "\n".join(lines)


def explore_program(command: Sequence[str], schedules: int, deviations: int | None) -> int:
    """Run ``command``, a Python command line, under up to ``schedules`` schedules, and print the outcomes.

    Returns the first exit status other than 0, or 0; 1 if a run was killed or did not write its schedule.
    """
    outcomes: dict[tuple[int, str], _Outcome] = {}
    count, complete = 0, True
    following: str | None = "replay:"
    trouble = None
    while following is not None:
        if count >= schedules:
            complete = False
            break
        count += 1
        done, made = _run(command, following)
        outcome = outcomes.setdefault(
            (done.returncode, done.stdout), _Outcome(done.returncode, done.stdout, done.stderr)
        )
        if made is None:
            outcome.schedules.append(following)
            trouble = (
                "a run did not write its schedule: it never used the driver, was killed, or called os._exit; "
                "the next schedule is unknown"
            )
            break
        outcome.schedules.append(made)
        if "does not fit the program" in done.stderr:
            trouble = "the program is not deterministic, so its schedules cannot be compared"
            break
        following, whole = next_schedule(made, deviations)
        complete = complete and whole
    for outcome in outcomes.values():
        print(outcome)
    if trouble is not None:
        print(f"cuarray-sim: {trouble}", file=sys.stderr)
    left = "all there are" if complete and trouble is None else "there are more"
    print(f"{count} schedules ({left}), {len(outcomes)} outcomes")
    bad = [outcome.status for outcome in outcomes.values() if outcome.status]
    return max(bad[0], 1) if bad else int(trouble is not None)


def _run(command: Sequence[str], schedule: str) -> tuple[subprocess.CompletedProcess[str], str | None]:
    """Run the program under a schedule with the given beginning; return the result, and the schedule if it was written."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "schedule")
        # Findings are the same under every schedule, and would give all runs the same status.
        variables = {"CUARRAY_SIM_SCHEDULE": schedule, "CUARRAY_SIM_SCHEDULE_FILE": path, "CUARRAY_SIM_FINDINGS": "0"}
        done = subprocess.run(
            [sys.executable, *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env=os.environ | variables,
        )
        try:
            with open(path, encoding="ascii") as file:
                return done, file.read().strip()
        except OSError:
            return done, None
