"""Run each module in its own process, several at a time, with a time limit.

Importing a library takes seconds, more than the tests of many modules. It is imported once, and each process is forked after that.
No driver is called before the fork, which a driver does not survive. Each process leads its own group, so that processes started by
tests end with it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from . import worker
from .description import Suite
from .outcome import Module, read


def run(suite: Suite, names: list[str], logs: Path, at_a_time: int, limit: float) -> Iterator[Module]:
    """Run the modules (``cudapy.test_sm``), and yield the outcomes of each as soon as it ends.

    ``limit`` is the elapsed time in seconds for each module. ``logs`` receives the output (``name.log``) and the record
    (``name.jsonl``) of each.
    """
    logs.mkdir(parents=True, exist_ok=True)
    # NumPy's BLAS would start threads on all cores in each process. They poll for work, and delay the other modules.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for module in suite.forked_with:
        importlib.import_module(module)
    # Excludes the imported modules from garbage collections in each process.
    gc.freeze()
    waiting, running = list(reversed(names)), dict[int, str]()
    # SIGTERM raises SystemExit here, so that the `finally` below ends the processes.
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        while waiting or running:
            while waiting and len(running) < at_a_time:
                name = waiting.pop()
                running[_start(suite, name, logs, limit)] = name
            pid, status, usage = os.wait4(-1, 0)
            if pid not in running:
                continue
            name = running.pop(pid)
            _kill_group(pid)
            module = read(name, logs / f"{name}.jsonl", _ended(status, limit))
            module.seconds = usage.ru_utime + usage.ru_stime
            yield module
    finally:
        for pid in running:
            _kill_group(pid)
        signal.signal(signal.SIGTERM, before)


def _start(suite: Suite, name: str, logs: Path, limit: float) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 2
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        log = os.open(logs / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        for descriptor in (1, 2):
            os.dup2(log, descriptor)
        # At the time limit, write all tracebacks and exit with status 1, even if the interpreter's lock is held. Write to the log,
        # since pytest replaces standard error.
        faulthandler.dump_traceback_later(limit, exit=True, file=log)
        with tempfile.TemporaryDirectory(prefix=f"{suite.name}-", ignore_cleanup_errors=True) as directory:
            os.chdir(directory)
            worker.run(suite, name, logs / f"{name}.jsonl")
            os.chdir("/")
        status = 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # Do not return into the frames of the parent process.
        os._exit(status)


def _ended(status: int, limit: float) -> str:
    """Return why a process ended early, from its wait status, or an empty string."""
    code = os.waitstatus_to_exitcode(status)
    if code == 0:
        return ""
    if code < 0:
        return f"crashed: {signal.Signals(-code).name}"
    return f"timed out after {limit:.0f} s" if code == 1 else f"ended with status {code}"


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
