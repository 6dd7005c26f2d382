"""Adapters of wrong libraries for the tests of the conformance kit: cuarray's adapter, with one fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuarray.check.runner import Run, run

#: The functions of cuarray's adapter for arrays of a class that holds one of cuarray in its attribute ``array``.
WRAPPED = """
import ctypes, gc, os, time
import cuarray
from cuarray.check import parts, tensors
from cuarray.check.adapters import cuarray as sound
from cuarray.check.adapters.cuarray import *

def write(array, data, *, stream=None):
    sound.write(getattr(array, "array", array), data, stream=stream)

def read(array, *, stream=None):
    return sound.read(getattr(array, "array", array), stream=stream)

def pointer(array):
    return getattr(array, "array", array).ptr
"""


def check(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str, *jobs: str, timeout: float = 30.0) -> Run:
    """Write an adapter of this source, and run checks of it by their names."""
    (folder / "wrong_library.py").write_text(f"{source}\n")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return run("wrong_library", jobs, timeout=timeout)
