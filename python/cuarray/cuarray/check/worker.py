"""A process that runs checks: ``python -m cuarray.check.worker ADAPTER``, or with ``PRODUCER>CONSUMER`` those of two libraries.

It imports the adapters once, reads the name of a job on each line of standard input, and writes a line of JSON for each result. Each
job runs in a copy of the process (``fork``), so a crash or a hang ends that copy alone. If the import of the adapter initialized
the driver, a copy could not use it, so each job runs in a new process. So it does on Windows, which has no ``fork``.
"""

from __future__ import annotations

import contextlib
import faulthandler
import fnmatch
import gc
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import IO, Any, NamedTuple

from cuarray.check import driver
from cuarray.check.adapter import Adapter, AdapterError
from cuarray.check.outcome import FAILED, Outcome, signal_name
from cuarray.check.registry import all_checks, find
from cuarray.check.script import Script
from cuarray.check.trial import modules, run_check

__all__ = ["Subject", "in_a_copy", "main"]

_OUTPUT_LINES = 12
#: The time that an import of the adapter may take.
_IMPORT_SECONDS = 60.0


class Subject:
    """The library under test, or the two libraries of a pair."""

    def __init__(self, name: str) -> None:
        producer, _, consumer = name.partition(">")
        self.name = name
        self.adapter = Adapter.load(producer)
        self.consumer = Adapter.load(consumer) if consumer else None
        self.adapters = [self.adapter, *([self.consumer] if self.consumer else [])]

    def describe(self) -> dict[str, Any]:
        """Return the first message of the worker."""
        return {
            "library": " → ".join(each.name for each in self.adapters),
            "version": " → ".join(each.version for each in self.adapters),
            "note": "; ".join(f"{each.name}: {each.note}" for each in self.adapters if each.note),
            "module": " → ".join(each.module.__name__ for each in self.adapters),
            "known": self.adapter.known if self.consumer is None else _known_of_pair(self.adapter, self.consumer),
        }

    def run(self, job: str, record: str) -> dict[str, Any]:
        """Run a check in this process."""
        return run_check(self.adapter, find(job), record, self.consumer).as_json()


def _known_of_pair(producer: Adapter, consumer: Adapter) -> dict[str, str]:
    """Return the known differences of a pair, by patterns.

    A library that is known to fail its own check is known to fail the check of a pair that tests this side. Such a check of a
    pair may pass, because the partner can make up for it. So each name is written as a pattern, which :class:`Session` does not report.
    """
    known: dict[str, str] = {}
    for adapter in (producer, consumer):
        for pattern, reason in adapter.known.items():
            if "pair-" in pattern:
                known[pattern] = f"{adapter.name}: {reason}"
    for check in all_checks(pairs=True):
        for adapter, own in ((producer, check.of_producer), (consumer, check.of_consumer)):
            for pattern, reason in adapter.known.items():
                if any(fnmatch.fnmatchcase(name, pattern) for name in own):
                    known.setdefault(f"{check.id[:-1]}[{check.id[-1]}]", f"{adapter.name}: {reason}")
    return known


def main(arguments: list[str]) -> int:
    """Run the jobs on standard input; with a job and a file as further arguments, run that job in this process."""
    results = _keep_output_apart()
    try:
        subject = Subject(arguments[0])
    except AdapterError as error:
        cause = error.__cause__
        text = "".join(traceback.format_exception(cause)[-4:]) if cause is not None else ""
        _send(results, {"error": str(error), "traceback": text})
        return 2
    if len(arguments) > 1:
        faulthandler.enable()
        _send(results, subject.run(arguments[1], arguments[2]))
        _leave()
    forks = hasattr(os, "fork") and all(each.forks for each in subject.adapters) and not driver.is_started()
    _send(results, subject.describe())
    # A copy asks which driver is loaded, and collects garbage, in many checks: both are quick after this.
    driver.is_simulated()
    gc.freeze()
    for line in sys.stdin:
        job, timeout = line.split()
        began = time.monotonic()
        result = (in_a_copy if forks else _in_a_new_process)(subject, job, float(timeout))
        result["seconds"] = time.monotonic() - began
        _send(results, result)
    _leave()
    return 0


def _keep_output_apart() -> IO[str]:
    """Return the real standard output, and send what libraries print to standard error."""
    results = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return results


def _send(results: IO[str], message: dict[str, Any]) -> None:
    results.write(json.dumps(message) + "\n")
    results.flush()


def _leave() -> None:
    """End the process without the handlers of libraries, which may hang or crash."""
    sys.stdout.flush()
    os._exit(0)


def in_a_copy(subject: Subject, job: str, timeout: float) -> dict[str, Any]:
    """Run a check in a copy of this process; a crash or a hang is a result."""
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryDirectory() as folder:
        record = Path(folder, "record")
        process = os.fork()
        if process == 0:
            _child(subject, job, timeout, writing, output.fileno(), str(record))
        os.close(writing)
        answer, in_time = _read_all(reading, timeout)
        if not in_time:
            os.kill(process, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        return _result(subject, job, answer, _End(in_time, status, timeout), output, record)


def _child(subject: Subject, job: str, timeout: float, writing: int, output: int, record: str) -> None:
    try:
        for standard in (1, 2):
            os.dup2(output, standard)
        os.close(0)
        faulthandler.enable()
        # The place of a hang is printed shortly before the process is killed.
        faulthandler.dump_traceback_later(timeout * 0.9)
        answer = json.dumps(subject.run(job, record)).encode()
        faulthandler.cancel_dump_traceback_later()
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(answer)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def _read_all(reading: int, timeout: float) -> tuple[bytes, bool]:
    """Read until the other side closes the pipe; return the bytes, and whether that happened in time."""
    end = time.monotonic() + timeout
    parts: list[bytes] = []
    try:
        while True:
            left = end - time.monotonic()
            if left <= 0 or not select.select([reading], [], [], left)[0]:
                return b"".join(parts), False
            part = os.read(reading, 1 << 16)
            if not part:
                return b"".join(parts), True
            parts.append(part)
    finally:
        os.close(reading)


def _in_a_new_process(subject: Subject, job: str, timeout: float) -> dict[str, Any]:
    patience = timeout + _IMPORT_SECONDS
    # Windows lets no second process open a temporary file, but any file in a temporary folder.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryDirectory() as folder:
        record = Path(folder, "record")
        command = [sys.executable, "-m", "cuarray.check.worker", subject.name, job, str(record)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=output)
        try:
            answer, in_time = process.communicate(timeout=patience)[0], True
        except subprocess.TimeoutExpired:
            process.kill()
            answer, in_time = process.communicate()[0], False
        return _result(subject, job, answer, _End(in_time, process.returncode, patience), output, record)


class _End(NamedTuple):
    """The end of a process."""

    in_time: bool
    status: int
    timeout: float

    def __str__(self) -> str:
        if not self.in_time:
            return f"no result after {self.timeout:.0f} s: the check hangs"
        if self.status < 0:
            return f"the process crashed with {signal_name(-self.status)}"
        return f"the process ended with status {self.status} and without a result"


def _result(subject: Subject, job: str, answer: bytes, end: _End, output: IO[bytes], record: Path) -> dict[str, Any]:
    """Return the result that the process wrote, or one for its end without a result."""
    with contextlib.suppress(ValueError):
        found: dict[str, Any] = json.loads(answer)
        if "error" not in found:
            return found
    check = find(job)
    outcome = Outcome(check.id, check.clause, check.title, "must", FAILED, str(end), disagreement=check.known)
    output.seek(0)
    outcome.evidence = "\n".join(output.read().decode(errors="replace").strip().splitlines()[:_OUTPUT_LINES])
    outcome.advice = check.advice
    script = Script(modules(subject.adapter, subject.consumer))
    script.lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    outcome.reproduction = script.program(check, outcome)
    return outcome.as_json()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
