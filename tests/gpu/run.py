"""The whole run: facts, timings, tests and the conformance kit, in that order, until the time is over.

Facts come first, because no document has them. Timings need a quiet machine, so they run alone. Then files of tests run side by
side, the most valuable first, and the conformance kit among them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import packages, slices
from .facts.__main__ import write as write_facts
from .file_run import FileRun, Outcome
from .file_run import run as run_file
from .results import JUnit, write
from .slices import ROOT

FACTS_PART = 0.7
"""The most of the time that facts may take."""

TIMINGS = 60.0
TIMINGS_PART = 0.125
TIMED = ("importing", "importing-default", "exporting", "overlap", "copying")
"""Sections of ``benches/run.py``."""

KIT_SECONDS = 200.0


@dataclass
class Run:
    """A run and its results."""

    results: Path
    seconds: float
    jobs: int
    rehearsal: bool = False
    started: float = field(default_factory=time.monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held to change and write results: jobs run side by side."""
    summary: dict[str, Any] = field(default_factory=dict)
    kit: dict[str, Any] = field(
        default_factory=lambda: {
            "libraries": [],
            "left_out": dict.fromkeys(slices.kit_libraries(), "there was no time"),
        }
    )

    @property
    def end(self) -> float:
        return self.started + self.seconds

    @property
    def left(self) -> float:
        return self.end - time.monotonic()

    def say(self, text: str) -> None:
        print(f"[{time.monotonic() - self.started:5.0f} s] {text}", flush=True)

    def note(self, **entries: Any) -> None:
        """Add entries to the summary, and write it."""
        self.summary.update(entries, seconds=round(time.monotonic() - self.started, 1))
        write(self.results / "summary.json", self.summary)

    def run(self) -> None:
        self.results.mkdir(parents=True, exist_ok=True)
        self.note(limit=self.seconds, jobs=self.jobs, libraries=packages.versions(), complete=False)
        self.facts()
        target = ROOT / "build" / "gpu" / "packages"
        carried = packages.install(target)
        self.say(f"installed both wheels and {len(carried)} others: {', '.join(carried) or 'the interpreter has all'}")
        environment = packages.environment(target)
        self.timings(environment)
        self.tests(environment)
        self.note(complete=True)

    def facts(self) -> None:
        recording = write_facts(
            self.results / "facts.json",
            "libcuda.so.1",
            self.jobs,
            seconds=self.seconds * FACTS_PART,
            planted=self.rehearsal,
        )
        failed, left = len(recording.failed), len(recording.not_asked)
        self.say(f"{len(recording.facts)} facts; {failed} questions failed, {left} were not asked")
        self.note(driver=recording.about, facts={"known": len(recording.facts), "failed": failed, "not_asked": left})

    def timings(self, environment: dict[str, str]) -> None:
        end = time.monotonic() + min(TIMINGS, self.seconds * TIMINGS_PART)
        found: dict[str, Any] = {}
        for section in TIMED:
            file = self.results / "timings.part"
            command = [sys.executable, "benches/run.py", section, "--json", str(file), "--rounds", "0.1"]
            left = end - time.monotonic()
            done = finished(command, environment, left) if left > 1 else "there was no time"
            found[section] = json.loads(file.read_text()) if done == "" else {"problem": done}
            file.unlink(missing_ok=True)
            write(self.results / "timings.json", found)
        measured = [section for section, each in found.items() if "problem" not in each]
        self.say(f"timings: {', '.join(measured) or 'none'}")
        self.note(timings={section: "problem" not in each for section, each in found.items()})

    def tests(self, environment: dict[str, str]) -> None:
        """Run files of tests and the kit, one job for each core."""
        write(self.results / "kit.json", self.kit)
        junit, runs = JUnit(self.results / "junit.xml"), []

        def file(name: str, path: str) -> None:
            limit = 5.0 if name == slices.PLANTED.name else slices.SLOW.get(path, slices.SECONDS)
            if library := slices.missing_library(path):
                done = FileRun(name, path, [Outcome("the file itself", "skipped", text=f"{library} is not installed")])
            else:
                done = run_file(name, path, environment, limit, self.end)
            with self.lock:
                junit.add(done)
                runs.append(done)
                self.note(tests=counts(runs), problems={run.file: run.problem for run in runs if run.problem})

        jobs: list[Callable[[], None]] = [
            lambda name=name, path=path: file(name, path) for name, path in slices.files(self.rehearsal)
        ]
        # The kit comes after the files of the exchange and before all others.
        at = sum(name in ("planted", "exchange") for name, _ in slices.files(self.rehearsal))
        jobs[at:at] = [lambda library=library: self.check(library, environment) for library in slices.kit_libraries()]
        with ThreadPoolExecutor(self.jobs) as pool:
            for job in [pool.submit(self.unless_over, job) for job in jobs]:
                job.result()
        run_files = {run.file for run in runs}
        missing = [path for _, path in slices.files(self.rehearsal) if path not in run_files]
        self.note(not_run=missing)
        for name, outcomes in counts(runs).items():
            self.say(f"{name}: " + ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))
        self.say(f"{len(missing)} files of tests did not run")

    def unless_over(self, job: Callable[[], None]) -> None:
        if self.left > 1:
            job()

    def check(self, library: str, environment: dict[str, str]) -> None:
        """Run the conformance kit for a library."""
        file = self.results / f"kit-{library}.part"
        command = [
            sys.executable,
            "-m",
            "cuarray",
            "check",
            library,
            "--driver",
            "system",
            "--quiet",
            "--timeout",
            "10",
        ]
        done = finished([*command, "--json", str(file)], environment, min(KIT_SECONDS, self.left))
        with self.lock:
            if file.exists():
                self.kit["libraries"] += json.loads(file.read_text())["libraries"]
                del self.kit["left_out"][library]
                file.unlink()
            else:
                self.kit["left_out"][library] = done
            write(self.results / "kit.json", self.kit)


def finished(command: list[str], environment: dict[str, str], seconds: float) -> str:
    """Run a command; return nothing if it succeeds, or what happened."""
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=max(seconds, 1),
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        return f"it took longer than {seconds:.0f} s"
    return "" if done.returncode == 0 else done.stdout.decode(errors="replace")[-1000:]


def counts(runs: Iterable[FileRun]) -> dict[str, dict[str, int]]:
    """The numbers of outcomes by slice."""
    found: dict[str, Counter[str]] = {}
    for run in runs:
        found.setdefault(run.slice, Counter()).update(each.outcome for each in run.outcomes)
    return {name: dict(counter) for name, counter in found.items()}


def cores() -> int:
    return len(os.sched_getaffinity(0))
