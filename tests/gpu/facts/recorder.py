"""Asks all questions, each in a process that may crash, hang or lose its context without harm to other answers.

The recorder starts children with process groups of their own, so that a kill ends all that a child has started. A child whose answer
takes too long is killed. Facts are appended to a file as they come; a lost machine loses none of those.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from . import questions
from .driver import Driver
from .question import PATIENCE, QUESTIONS

TESTS = Path(__file__).parents[2]

START = 60.0
"""The seconds that a child may take until its first question: a driver may initialize slowly while others do the same."""

TOO_LONG = "took too long"

CHUNK = 48
"""The most steps of a series for one child."""


@dataclass
class Recording:
    """The facts of one driver."""

    facts: dict[str, Any] = field(default_factory=dict)
    """Each fact by its full name."""
    failed: dict[str, str] = field(default_factory=dict)
    """Each question that was not answered in full, with the reason."""
    not_asked: list[str] = field(default_factory=list)
    """Questions for which there was no time, or too few devices."""
    about: dict[str, Any] = field(default_factory=dict)
    """Versions of the driver and of what is around it."""

    def without_results(self) -> Recording:
        """A recording without the results of instructions, which are long. Their hashes stay, and decide whether two drivers differ."""
        facts = {name: value for name, value in self.facts.items() if hash_of(name) not in self.facts}
        return Recording(facts, self.failed, self.not_asked, self.about)

    def text(self) -> str:
        return json.dumps(vars(self), indent=0, sort_keys=True) + "\n"

    @staticmethod
    def read(file: Path) -> Recording:
        """Read a finished recording, or one that was cut off, whose lines are in a file ``.jsonl``."""
        text = file.read_text(encoding="utf-8")
        if file.suffix != ".jsonl":
            return Recording(**json.loads(text))
        found = Recording()
        for line in text.splitlines():
            with contextlib.suppress(json.JSONDecodeError):  # the last line may be a part of one
                found.take(json.loads(line))
        return found

    def take(self, line: dict[str, Any]) -> None:
        """Add what one line of the journal says."""
        if "fact" in line:
            name = line["item"].replace(" ", ".") + (f".{line['fact']}" if line["fact"] else "")
            self.facts[name] = line["value"]
        elif "failed" in line:
            self.failed[line["failed"]] = line["reason"]
        elif "about" in line:
            self.about.update(line["about"])


def hash_of(name: str) -> str:
    """The name of the fact with the hash of the results that a fact holds; nothing for another fact."""
    return f"{name.removesuffix('.results')}.hash" if name.endswith(".results") else ""


class Recorder:
    """A recording that is being made."""

    def __init__(self, driver: str, journal: Path, seconds: float, only: str = "", planted: bool = False) -> None:
        """``planted`` also asks the questions that cannot be answered."""
        self.driver, self.journal, self.only = driver, journal.open("w", encoding="utf-8"), only
        self.left_out = () if planted else ("planted.",)
        self.end = time.monotonic() + seconds
        self.modules = questions.declare()
        self.recording, self.lock = Recording(), threading.Lock()

    def note(self, **line: Any) -> None:
        with self.lock:
            self.journal.write(json.dumps(line) + "\n")
            self.journal.flush()
            self.recording.take(line)

    def record(self, jobs: int) -> Recording:
        """Ask all questions with ``jobs`` children at a time."""
        about = versions_in_child(self.driver)
        self.note(about=about)
        chunks = deque(self.chunks(about["devices"]))
        with ThreadPoolExecutor(jobs) as pool:
            for worker in [pool.submit(self.work, chunks) for _ in range(jobs)]:
                worker.result()
        for chunk in chunks:
            self.recording.not_asked.extend(chunk)
        self.recording.not_asked.sort()
        self.journal.close()
        return self.recording

    def chunks(self, devices: int) -> Iterable[list[str]]:
        """Lists of questions that share a child, in the order of their value."""
        for question in QUESTIONS.values():
            if not question.name.startswith(self.only) or question.name.startswith(self.left_out):
                continue
            if question.devices > devices:
                self.recording.not_asked.append(question.name)
            elif question.steps is None:
                yield [question.name]
            else:
                items = [f"{question.name} {step}" for step in question.steps()]
                size = CHUNK if question.needs_context else 1
                yield from (items[start : start + size] for start in range(0, len(items), size))

    def work(self, chunks: deque[list[str]]) -> None:
        while time.monotonic() < self.end:
            try:
                items = chunks.popleft()
            except IndexError:
                return
            while items and time.monotonic() < self.end:
                items = items[self.ask(items) :]
            self.recording.not_asked.extend(items)

    def ask(self, items: list[str]) -> int:
        """Start a child for some questions; return how many of them are done with."""
        receiving, sending = os.pipe()
        with tempfile.TemporaryFile() as errors:
            child = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "gpu.facts.answering",
                    self.driver,
                    str(sending),
                    self.modules[items[0].partition(" ")[0]],
                    *items,
                ],
                cwd=TESTS,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                pass_fds=(sending,),
                start_new_session=True,
            )
            os.close(sending)
            done, reason = self.listen(receiving, items)
            os.close(receiving)
            if reason == TOO_LONG:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
            status = how_it_ended(child, errors)
        if not reason:
            return done
        self.note(failed=items[done], reason=reason if reason == TOO_LONG else status)
        return done + 1

    def listen(self, pipe: int, items: list[str]) -> tuple[int, str]:
        """Note the facts of a child; return how many questions it answered, and why it did not go on."""
        done, rest, limit = 0, b"", time.monotonic() + START
        while done < len(items):
            wait = min(limit, self.end + START) - time.monotonic()
            if wait <= 0 or not select.select([pipe], [], [], wait)[0]:
                return done, TOO_LONG
            read = os.read(pipe, 1 << 16)
            if not read:
                return done, "it ended"
            *lines, rest = (rest + read).split(b"\n")
            for text in lines:
                line = json.loads(text)
                if "begin" in line:
                    limit = time.monotonic() + QUESTIONS[line["begin"].partition(" ")[0]].seconds
                elif "end" in line:
                    done += 1
                    limit = time.monotonic() + START
                    if not line["usable"]:
                        return done, ""
                elif line["fact"] == "!":
                    self.note(failed=line["item"], reason=line["value"])
                else:
                    self.note(**line)
        return done, ""


def how_it_ended(child: subprocess.Popen[bytes], errors: IO[bytes]) -> str:
    """Wait for a child, and say how it ended."""
    try:
        status = child.wait(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        return "its process does not end"
    if status < 0:
        return f"its process ended by {signal.Signals(-status).name}"
    errors.seek(0)
    last = errors.read().decode(errors="replace").strip().splitlines()[-1:]
    return f"its process ended with status {status}" + "".join(f": {line}" for line in last)


def versions_in_child(driver: str) -> dict[str, Any]:
    """Versions of the driver, device and system, asked in a child, so that this process never loads a driver."""
    program = (
        "import json, sys; from gpu.facts.recorder import versions; "
        "found = versions(sys.argv[1]); print(json.dumps(found), flush=True); import os; os._exit(0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, driver],
        cwd=TESTS,
        stdout=subprocess.PIPE,
        timeout=START,
        check=True,
        start_new_session=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def versions(path: str) -> dict[str, Any]:
    """Versions of the driver, device and system. The process must not use the driver afterwards."""
    import ctypes
    import platform

    driver = Driver(path)
    devices = driver.device_count()
    name = ctypes.create_string_buffer(128)
    kernel_module = Path("/proc/driver/nvidia/version")
    return {
        "devices": devices,
        "device": name.value.decode() if driver.number("cuDeviceGetName", name, 128, 0) == 0 else None,
        "compute_capability": [driver.got("cuDeviceGetAttribute", number, 0) for number in (75, 76)],
        "driver_api": driver.got("cuDriverGetVersion"),
        "kernel_module": kernel_module.read_text().splitlines()[0] if kernel_module.exists() else None,
        "simulated": hasattr(driver.library, "cuarraySimFindings"),
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
