"""Runs the tests of one file in their own processes. A hang, a crash or a dead context costs one test: another process runs
the rest."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

from .slices import ROOT

START = 90.0
"""The seconds until the first test: the imports of large libraries take long beside others."""

RESTARTS = 8
"""The most processes for one file."""

NO_TIME = "there was no time for the rest"

TAIL = 2000
"""The characters of a process's output that explain its end."""


@dataclass
class Outcome:
    """The outcome of one test."""

    test: str
    outcome: str
    """passed, failed, error, skipped, hung, crashed or dead context"""
    seconds: float = 0.0
    text: str = ""


@dataclass
class FileRun:
    """The outcomes of the tests of one file."""

    slice: str
    file: str
    outcomes: list[Outcome] = field(default_factory=list)
    problem: str = ""
    """Why the file did not end, or nothing."""
    seconds: float = 0.0


def run(slice_name: str, file: str, environment: dict[str, str], limit: float, end: float) -> FileRun:
    """Run a file. No test takes longer than ``limit`` seconds, and nothing runs after ``end``, a time of the monotonic clock."""
    started, found = time.monotonic(), FileRun(slice_name, file)
    for _ in range(RESTARTS):
        if not part(found, environment, limit, end):
            break
    else:
        found.problem = f"{RESTARTS} processes ended early; the rest did not run"
    found.seconds = round(time.monotonic() - started, 1)
    return found


def part(found: FileRun, environment: dict[str, str], limit: float, end: float) -> bool:
    """Run the tests of a file that have no outcome yet in one process; return whether another process must go on."""
    receiving, sending = os.pipe()
    with tempfile.TemporaryFile() as output, tempfile.NamedTemporaryFile("w", encoding="utf-8") as seen:
        seen.write("".join(f"{each.test}\n" for each in found.outcomes))
        seen.flush()
        command = [sys.executable, "-m", "pytest", found.file, "-p", "gpu.journal", "-p", "no:cacheprovider"]
        command += ["--journal", str(sending), "--seen", seen.name, "--hypothesis-profile", "quick"]
        child = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=(sending,),
            start_new_session=True,
        )
        os.close(sending)
        current, reason = listen(receiving, found, limit, end)
        os.close(receiving)
        status = ended(child)
        output.seek(0)
        tail = output.read().decode(errors="replace")[-TAIL:]
    if reason == "no time":
        found.problem = NO_TIME + (f" from {current}" if current else "")
        return False
    if current:
        text = f"it took longer than {limit:.0f} s" if reason == "hung" else f"the process {status}"
        found.outcomes.append(Outcome(current, reason, limit if reason == "hung" else 0.0, f"{text}\n{tail}"))
        return True
    if found.outcomes and found.outcomes[-1].outcome == "dead context":
        return True
    if status not in ("ended with status 0", "ended with status 1", "ended with status 5"):
        found.problem = f"the process {status}: {tail}"
    return False


def listen(pipe: int, found: FileRun, limit: float, end: float) -> tuple[str, str]:
    """Take the outcomes of a process; return the test without one, if any, and what happened to it."""
    current, rest, until = "", b"", time.monotonic() + START
    while True:
        wait = min(until, end) - time.monotonic()
        if wait <= 0 or not select.select([pipe], [], [], wait)[0]:
            return current, "no time" if time.monotonic() >= end else "hung"
        read = os.read(pipe, 1 << 16)
        if not read:
            return current, "crashed"
        *lines, rest = (rest + read).split(b"\n")
        for text in lines:
            line = json.loads(text)
            if "begin" in line:
                current, until = line["begin"], time.monotonic() + limit
            elif "end" in line:
                found.outcomes.append(Outcome(line["end"], line["outcome"], line["seconds"], line["text"]))
                current, until = "", time.monotonic() + START


def ended(child: subprocess.Popen[bytes]) -> str:
    """End a process and all that it has started; say how it ended."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(timeout=10 if child.poll() is None else 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    try:
        status = child.wait(timeout=5)
    except subprocess.TimeoutExpired:
        return "cannot be killed"
    return f"ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
