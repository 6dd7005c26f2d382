"""The time of each test with kernels on the simulated driver, and the part of it in kernels.

As a plugin of pytest, the module writes a line of JSON for each test into the file that ``SLOWEST_FILE`` names."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

FOLDERS = ("tests/kernels", "tests/sim", "tests/interop", "tests/racy_kernels", "tests/planted_synchronization")
SHOWN = 10
_ROOT = Path(__file__).parents[1]


@dataclass
class Item:
    """A test: its seconds, those in kernels of its own process, and the slowest of these kernels."""

    test: str
    seconds: float
    in_kernels: float
    kernel: str


def measured():
    """Run the tests, and return them, the slowest first."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tests.jsonl"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--cuarray-sim",
            "-p",
            "slowest",
            "-p",
            "no:cacheprovider",
            "--numprocesses=2",
            *FOLDERS,
        ]
        environment = {**os.environ, "SLOWEST_FILE": str(file), "PYTHONPATH": str(Path(__file__).parent)}
        environment.pop("CUARRAY_SIM_FINDINGS", None)
        subprocess.run(command, cwd=_ROOT, env=environment, stdout=sys.stderr, check=False)
        items = [Item(**json.loads(line)) for line in file.read_text().splitlines()]
    return sorted(items, key=lambda item: -item.seconds)


def _kernels():
    """Return the seconds of each kernel of this process so far."""
    import cuarray_sim

    try:
        kernels = cuarray_sim.statistics()["kernels"]
    except RuntimeError:
        return Counter()
    seconds = Counter()
    for kernel in kernels:
        seconds[kernel["name"]] += kernel["seconds"]
    return seconds


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Measure a test."""
    before, start = _kernels(), time.perf_counter()
    try:
        return (yield)
    finally:
        seconds = time.perf_counter() - start
        own = _kernels() - before
        kernel = max(own, key=own.get) if own else ""
        line = {"test": item.nodeid, "seconds": seconds, "in_kernels": sum(own.values()), "kernel": _short(kernel)}
        with open(os.environ["SLOWEST_FILE"], "a") as file:
            file.write(json.dumps(line) + "\n")


def _short(name):
    """Return the first part of a mangled name."""
    return f"`{name[:40]}`" if name else ""
