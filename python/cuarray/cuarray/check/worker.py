"""A process that runs the checks of one library: ``python -m cuarray.check.worker ADAPTER``.

It imports the adapter once, reads the name of a job on each line of standard input, and writes a line of JSON for each result. Each
job runs in a copy of the process (``fork``), so a crash or a hang ends that copy alone. If the import of the adapter initialized
the driver, a copy could not use it, so each job runs in a new process.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from typing import IO, Any, NamedTuple

from cuarray.check import driver
from cuarray.check.adapter import Adapter, AdapterError
from cuarray.check.outcome import FAILED, Outcome, signal_name
from cuarray.check.registry import select as select_checks
from cuarray.check.script import Script
from cuarray.check.trial import run_check

__all__ = ["main"]

_OUTPUT_LINES = 12
#: The time that an import of the adapter may take.
_IMPORT_SECONDS = 60.0


def main(arguments: list[str]) -> int:
    """Run the jobs on standard input; with a job as a second argument, run that job in this process."""
    results = _keep_output_apart()
    try:
        adapter = Adapter.load(arguments[0])
    except AdapterError as error:
        cause = error.__cause__
        text = "".join(traceback.format_exception(cause)[-4:]) if cause is not None else ""
        _send(results, {"error": str(error), "traceback": text})
        return 2
    if len(arguments) > 1:
        faulthandler.enable()
        _send(results, _run(adapter, arguments[1], arguments[2]))
        _leave()
    forks = adapter.forks and not driver.is_started()
    _send(
        results,
        {
            "library": adapter.name,
            "version": adapter.version,
            "module": adapter.module.__name__,
            "known": adapter.known,
        },
    )
    for line in sys.stdin:
        job, timeout = line.split()
        began = time.monotonic()
        result = (_in_a_copy if forks else _in_a_new_process)(adapter, job, float(timeout), arguments[0])
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


def _run(adapter: Adapter, job: str, record: str) -> dict[str, Any]:
    (check,) = select_checks([job])
    return run_check(adapter, check, record).as_json()


def _in_a_copy(adapter: Adapter, job: str, timeout: float, _name: str) -> dict[str, Any]:
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as output, tempfile.NamedTemporaryFile() as record:
        process = os.fork()
        if process == 0:
            _child(adapter, job, timeout, writing, output.fileno(), record.name)
        os.close(writing)
        answer, in_time = _read_all(reading, timeout)
        if not in_time:
            os.kill(process, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        return _result(adapter, job, answer, _End(in_time, status, timeout), output, record)


def _child(adapter: Adapter, job: str, timeout: float, writing: int, output: int, record: str) -> None:
    try:
        for standard in (1, 2):
            os.dup2(output, standard)
        os.close(0)
        faulthandler.enable()
        # The place of a hang is printed shortly before the process is killed.
        faulthandler.dump_traceback_later(timeout * 0.9)
        answer = json.dumps(_run(adapter, job, record)).encode()
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


def _in_a_new_process(adapter: Adapter, job: str, timeout: float, name: str) -> dict[str, Any]:
    patience = timeout + _IMPORT_SECONDS
    with tempfile.TemporaryFile() as output, tempfile.NamedTemporaryFile() as record:
        command = [sys.executable, "-m", "cuarray.check.worker", name, job, record.name]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=output)
        try:
            answer, in_time = process.communicate(timeout=patience)[0], True
        except subprocess.TimeoutExpired:
            process.kill()
            answer, in_time = process.communicate()[0], False
        return _result(adapter, job, answer, _End(in_time, process.returncode, patience), output, record)


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


def _result(
    adapter: Adapter, job: str, answer: bytes, end: _End, output: IO[bytes], record: IO[bytes]
) -> dict[str, Any]:
    """Return the result that the process wrote, or one for its end without a result."""
    with contextlib.suppress(ValueError):
        found: dict[str, Any] = json.loads(answer)
        if "error" not in found:
            return found
    (check,) = select_checks([job])
    outcome = Outcome(check.id, check.clause, check.title, "must", FAILED, str(end), disagreement=check.known)
    output.seek(0)
    outcome.evidence = "\n".join(output.read().decode(errors="replace").strip().splitlines()[:_OUTPUT_LINES])
    outcome.advice = check.advice
    script = Script(adapter.module.__name__)
    record.seek(0)
    script.lines = record.read().decode().splitlines()
    outcome.reproduction = script.program(check, outcome)
    return outcome.as_json()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
