"""Each module in a process of its own, several at a time, each with a time limit.

Importing numba-cuda takes seconds, more than many modules' tests: it is imported once, and each process is forked from
there. No driver is called before (a driver does not survive a fork). Each process leads a group of its own, so that
what a test starts and leaves behind ends with it.
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
from .outcome import Module, read

TESTS = "numba.cuda.tests."
FORKED_WITH = ("pytest", "numba.cuda.testing", "numba.cuda.tests.support")
"""What every module imports."""


def run(names: list[str], logs: Path, at_a_time: int, limit: float) -> Iterator[Module]:
    """Run the modules (``cudapy.test_sm``), and give what came of each as soon as it is known.

    ``limit`` is in seconds, for each, by the clock. ``logs`` receives what each writes (``name.log``) and its record
    (``name.jsonl``).
    """
    logs.mkdir(parents=True, exist_ok=True)
    for module in FORKED_WITH:
        importlib.import_module(module)
    # What was imported need not be looked through by each collection of each process.
    gc.freeze()
    waiting, running = list(reversed(names)), dict[int, str]()
    # Whoever stops the run stops the processes, too: an exception here ends them.
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        while waiting or running:
            while waiting and len(running) < at_a_time:
                name = waiting.pop()
                running[_start(name, logs, limit)] = name
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


def _start(name: str, logs: Path, limit: float) -> int:
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
        # Whatever hangs, with the interpreter's lock or without: where every thread is, and the end with status 1. Into the log
        # itself, since pytest puts a file of its own in the place of standard error.
        faulthandler.dump_traceback_later(limit, exit=True, file=log)
        with tempfile.TemporaryDirectory(prefix="numba-suite-", ignore_cleanup_errors=True) as directory:
            os.chdir(directory)
            worker.run(TESTS + name, logs / f"{name}.jsonl")
            os.chdir("/")
        status = 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # Not back into the frames of the process that this one was forked from.
        os._exit(status)


def _ended(status: int, limit: float) -> str:
    """Why a process ended before its time, from its wait status; empty if it did not."""
    code = os.waitstatus_to_exitcode(status)
    if code == 0:
        return ""
    if code < 0:
        return f"crashed: {signal.Signals(-code).name}"
    return f"timed out after {limit:.0f} s" if code == 1 else f"ended with status {code}"


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
