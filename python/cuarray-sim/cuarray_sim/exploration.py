"""``python -m cuarray_sim --explore N``: a program under each of its schedules, in a process of its own each time.

Fresh processes make the runs alike whatever the program keeps: caches, pools, imports, the garbage collector. Each run
is told the beginning of its schedule and writes down, at its exit, the whole of it; from that the next is known. Runs that
printed the same and ended the same are told together, with a schedule that repeats the first of them.
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

# The most lines of a run's output that are shown.
_LINES = 20


@dataclass
class _Outcome:
    """The runs that printed and ended alike."""

    status: int
    output: str
    errors: str
    schedules: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        end = f"exit status {self.status}" if self.status >= 0 else f"killed by signal {-self.status}"
        lines = [f"{len(self.schedules)} x {end}; first: CUARRAY_SIM_SCHEDULE={self.schedules[0]}"]
        # A failure is explained on standard error; where it ends well, only what it printed counts.
        for text in (self.output, self.errors if self.status else ""):
            shown = text.splitlines()[-_LINES:]
            lines.extend(textwrap.indent(line, "    ") for line in shown)
        return "\n".join(lines)


def explore_program(command: Sequence[str], schedules: int, deviations: int | None) -> int:
    """Run ``command``, a Python command line, under up to ``schedules`` schedules; print what came of it.

    Answers the first exit status that was not 0, or 0; 1 if a run was killed or did not say its schedule.
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
                "a run did not say its schedule: it never used the driver, was killed, or left by os._exit; "
                "nothing can follow it"
            )
            break
        outcome.schedules.append(made)
        if "does not fit the program" in done.stderr:
            trouble = "the program does not do the same every time, so its schedules cannot be told apart"
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
    """Run the program under a schedule that begins so; answers how it ended, and the whole schedule if it said so."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "schedule")
        # What is found is the same under every schedule, and would make all statuses one.
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
