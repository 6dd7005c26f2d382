"""A plugin of pytest that writes the course of a run into a pipe, and ends the run after a test that broke its context.

``pytest -p gpu.journal --journal DESCRIPTOR --seen FILE`` writes lines of JSON: ``{"begin": test}``, then ``{"end": test, "outcome": ...,
"seconds": ..., "text": ...}``. A test that breaks its context has the outcome "dead context". Tests that a file lists are left out.
"""

from __future__ import annotations

import ctypes
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

TEXT = 4000
"""The most characters of a failure that are kept."""

RTLD_NOLOAD = 4


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gpu")
    group.addoption("--journal", type=int, help="the file descriptor for the lines of the journal")
    group.addoption("--seen", type=Path, help="a file with the names of tests to leave out")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("journal") is not None:
        config.pluginmanager.register(Journal(config.getoption("journal"), config.getoption("seen")))


class Journal:
    """Writes the outcomes of tests."""

    def __init__(self, descriptor: int, seen: Path) -> None:
        os.set_inheritable(descriptor, False)  # a process that a test leaves behind would hold the pipe open
        self.pipe = os.fdopen(descriptor, "w", encoding="utf-8")
        self.seen = set(seen.read_text(encoding="utf-8").splitlines())
        self.outcome, self.text, self.started = "passed", "", 0.0

    def write(self, **line: Any) -> None:
        self.pipe.write(json.dumps(line) + "\n")
        self.pipe.flush()

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        left_out = [item for item in items if item.nodeid in self.seen]
        items[:] = [item for item in items if item.nodeid not in self.seen]
        if left_out:
            config.hook.pytest_deselected(items=left_out)
        self.write(collected=len(items))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.outcome, self.text, self.started = "passed", "", time.monotonic()
        self.write(begin=nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.outcome = "failed" if report.when == "call" else "error"
            self.text += report.longreprtext[-TEXT:]
        elif report.skipped and self.outcome == "passed":
            self.outcome = "skipped"
            self.text = report.longrepr[2] if isinstance(report.longrepr, tuple) else getattr(report, "wasxfail", "")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        done = yield
        broken = broken_context()
        if broken is not None:
            self.outcome, self.text = "dead context", f"every call returns {broken} after this test\n{self.text}"
            item.session.shouldstop = "the context is dead"
        seconds = round(time.monotonic() - self.started, 3)
        self.write(end=item.nodeid, outcome=self.outcome, seconds=seconds, text=self.text[-TEXT:])
        return done


def broken_context() -> int | None:
    """The result of a synchronization with the primary context, if it is active and the result is an error."""
    try:
        driver = ctypes.CDLL("libcuda.so.1", mode=RTLD_NOLOAD)
    except OSError:
        return None  # nothing in this process has loaded a driver
    flags, active, context = ctypes.c_uint(), ctypes.c_int(), ctypes.c_void_p()
    if driver.cuDevicePrimaryCtxGetState(0, ctypes.byref(flags), ctypes.byref(active)) or not active.value:
        return None
    # The caller's reference keeps the context alive during the call.
    if result := driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0):
        return int(result)
    driver.cuCtxPushCurrent_v2(context)
    result = driver.cuCtxSynchronize()
    driver.cuCtxPopCurrent_v2(ctypes.byref(context))
    driver.cuDevicePrimaryCtxRelease_v2(0)
    return int(result) or None
