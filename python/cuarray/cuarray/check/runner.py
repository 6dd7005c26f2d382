"""Run checks of a library in their own processes, on the machine's driver or on the simulated one."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from cuarray.check.adapter import AdapterError, known_reason
from cuarray.check.outcome import FAILED, KNOWN, PASSED, UNEXPECTED, Outcome, signal_name

__all__ = ["DRIVERS", "Driver", "Run", "Session", "choose_driver", "run", "session"]

Driver = Literal["auto", "system", "simulated"]
DRIVERS: tuple[Driver, ...] = ("auto", "system", "simulated")

#: The time that the import of an adapter may take.
_IMPORT_SECONDS = 120.0
# The count loads the driver. Only then is it known which one that is.
_PROBE = """
from cuarray.check.driver import device_count, is_simulated
devices = device_count()
print("simulated" if is_simulated() else "system" if devices else "none")
"""


@dataclass
class Run:
    """All results of a library."""

    library: str
    version: str
    adapter: str
    #: ``"simulated"``, whose findings prove an order, or ``"system"``.
    driver: str
    outcomes: list[Outcome] = field(default_factory=list)
    #: Remarks of the adapters, for example that one was never run.
    note: str = ""

    @property
    def title(self) -> str:
        """The library and its version, or those of a pair."""
        names, versions = self.library.split(" → "), self.version.split(" → ")
        return " → ".join(f"{name} {version}" for name, version in zip(names, versions, strict=True))

    @property
    def passes(self) -> bool:
        """Whether no *must* failed."""
        return not any(outcome.fails for outcome in self.outcomes)

    def as_json(self) -> dict[str, Any]:
        """Return the results as data that JSON can hold."""
        head = {"library": self.library, "version": self.version, "adapter": self.adapter, "driver": self.driver}
        head["note"] = self.note
        return {**head, "passes": self.passes, "checks": [each.as_json() for each in self.outcomes]}


def choose_driver(wanted: Driver = "auto") -> Driver:
    """Return ``"system"`` or ``"simulated"``: the machine's driver if it has a device, else the simulated one.

    :raises AdapterError: there is no driver, and cuarray-sim is not installed.
    """
    if wanted != "auto":
        return wanted
    probed = subprocess.run([sys.executable, "-c", _PROBE], capture_output=True, text=True, check=False, timeout=120)
    found = probed.stdout.strip()
    if found == "system":
        return "system"
    if found == "simulated":
        return "simulated"
    if importlib.util.find_spec("cuarray_sim") is None:
        raise AdapterError("there is no CUDA device here; `pip install cuarray-sim` installs a simulated one")
    return "simulated"


class Session:
    """The worker process of a library, or of two as ``PRODUCER>CONSUMER``."""

    def __init__(self, worker: _Worker, result: Run, known: dict[str, str], timeout: float) -> None:
        self._worker, self.result, self._known, self._timeout = worker, result, known, timeout

    def check(self, name: str) -> Outcome:
        """Run a check by its name.

        :raises AdapterError: the worker process ended.
        """
        self._worker.send(f"{name} {self._timeout}")
        # The worker ends a job that takes too long.
        answer = self._worker.receive(self._timeout + _IMPORT_SECONDS)
        if answer is None:
            raise AdapterError(f"the process of {self.result.adapter} {self._worker.end()} during {name}")
        outcome = Outcome(**answer)
        _compare_with_known(outcome, self._known)
        self.result.outcomes.append(outcome)
        return outcome


@contextlib.contextmanager
def session(adapter: str, *, driver: Driver = "auto", timeout: float = 30.0) -> Iterator[Session]:
    """Start the worker of an adapter, or of two as ``PRODUCER>CONSUMER``.

    :raises AdapterError: an adapter cannot be loaded.
    """
    chosen = choose_driver(driver)
    # The text of the worker's standard error explains an import that crashes.
    with tempfile.TemporaryFile() as noise, _worker([adapter], chosen, noise) as worker:
        first = worker.receive(_IMPORT_SECONDS)
        if first is None or "error" in first:
            raise AdapterError(_why(adapter, first, worker.end(), noise))
        result = Run(first["library"], first["version"], first["module"], chosen, note=first["note"])
        yield Session(worker, result, first["known"], timeout)


def run(
    adapter: str,
    jobs: Iterable[str],
    *,
    driver: Driver = "auto",
    timeout: float = 30.0,
    progress: Callable[[Run, Outcome], None] | None = None,
) -> Run:
    """Run checks of an adapter, or of two as ``PRODUCER>CONSUMER``, by their names.

    :raises AdapterError: an adapter cannot be loaded.
    """
    with session(adapter, driver=driver, timeout=timeout) as opened:
        for job in jobs:
            outcome = opened.check(job)
            if progress is not None:
                progress(opened.result, outcome)
        return opened.result


def _compare_with_known(outcome: Outcome, known: dict[str, str]) -> None:
    """Mark a known failure. A name without wildcards whose check passes is reported, so that the list stays true."""
    reason = known_reason(known, outcome.check)
    if outcome.status == FAILED and reason is not None:
        outcome.status, outcome.advice, outcome.cause = KNOWN, reason or outcome.advice, ""
    elif outcome.status == PASSED and outcome.check in known:
        outcome.status, outcome.message = UNEXPECTED, f"remove it from KNOWN, which says: {known[outcome.check]}"


def _why(adapter: str, answer: dict[str, Any] | None, end: str, noise: Any) -> str:
    if answer is not None:
        return f"{answer['error']}\n{answer['traceback']}".strip()
    noise.seek(0)
    last = noise.read().decode(errors="replace").strip().splitlines()[-8:]
    return "\n".join([f"the process that imports {adapter!r} {end}", *last])


class _Worker:
    """A worker process, and a thread that reads its results."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._results: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._results.put(line)
        self._results.put(None)

    def send(self, line: str) -> None:
        """Start a job."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(f"{line}\n")
            self.process.stdin.flush()

    def end(self) -> str:
        """Return how the process ended, in words."""
        try:
            status = self.process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return "hangs"
        return f"crashed with {signal_name(-status)}" if status < 0 else f"ended with status {status}"

    def receive(self, timeout: float) -> dict[str, Any] | None:
        """Return the next result; None if the process ended, or takes too long."""
        try:
            line = self._results.get(timeout=timeout)
        except queue.Empty:
            return None
        if line is None:
            return None
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextlib.contextmanager
def _worker(arguments: Sequence[str], driver: str, noise: Any) -> Iterator[_Worker]:
    simulator = ["-m", "cuarray_sim"] if driver == "simulated" else []
    environment = dict(os.environ)
    if driver == "simulated":
        environment.setdefault("CUARRAY_SIM_DEVICES", "2")
        environment.setdefault("CUARRAY_SIM_LEAKS", "0")
    process = subprocess.Popen(
        [sys.executable, *simulator, "-m", "cuarray.check.worker", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=noise,
        text=True,
        env=environment,
        # A check's process ends with its worker.
        start_new_session=True,
    )
    try:
        yield _Worker(process)
    finally:
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """End a worker and the process of its check."""
    # The worker ends at the end of its input, unless it waits for a check.
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=2)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        _kill(process)
    process.wait()
    # Only now has the thread that reads it stopped.
    if process.stdout is not None:
        process.stdout.close()


def _kill(process: subprocess.Popen[str]) -> None:
    """End a process, and with it the processes of its group where the system has groups."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
