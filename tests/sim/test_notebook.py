"""Findings of a notebook appear below the cell that made them, in a real kernel."""

from __future__ import annotations

import importlib.util
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

manager = pytest.importorskip("jupyter_client.manager")
pytest.importorskip("ipykernel")

needs_numba = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="numba is not installed")
Cell = Callable[[str], dict[str, str]]

SETUP = """\
import ctypes
from ctypes import byref, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p
driver = ctypes.CDLL("libcuda.so.1")
context, pointer, streams = c_void_p(), c_uint64(), [c_void_p(), c_void_p()]
driver.cuInit(0)
driver.cuDevicePrimaryCtxRetain(byref(context), 0)
driver.cuCtxPushCurrent_v2(context)
driver.cuMemAlloc_v2(byref(pointer), c_size_t(64))
for stream in streams:
    driver.cuStreamCreate(byref(stream), c_uint(1))
def fill(stream, size):
    driver.cuMemsetD8Async(pointer, c_ubyte(1), c_size_t(size), stream)
"""


@pytest.fixture
def kernel(environment: dict[str, str], tmp_path: Path) -> Iterator[tuple[object, Cell]]:
    """A kernel of Jupyter, and a function that runs a cell in it and returns its output for each stream and type."""
    running, client = manager.start_new_kernel(env=environment, cwd=str(tmp_path))

    def cell(code: str) -> dict[str, str]:
        found: dict[str, str] = {}

        def receive(message: dict[str, object]) -> None:
            content = message["content"]
            assert isinstance(content, dict)
            if message["msg_type"] == "stream":
                found[content["name"]] = found.get(content["name"], "") + content["text"]
            elif message["msg_type"] == "display_data":
                found["html"] = content["data"]["text/html"]
            elif message["msg_type"] == "error":
                found["error"] = content["ename"]

        # After a restart, a message may come before the client has subscribed to it.
        client.wait_for_ready(timeout=120)
        client.execute_interactive(code, timeout=120, output_hook=receive)
        return found

    yield running, cell
    client.stop_channels()
    running.shutdown_kernel(now=True)


@pytest.mark.parametrize("first", ["%load_ext cuarray_sim", "import cuarray_sim\ncuarray_sim.install();"])
def test_finding_is_shown_below_its_cell_with_the_cells_line(kernel: tuple[object, Cell], first: str) -> None:
    _, cell = kernel
    assert cell(first) == {}
    assert cell(SETUP) == {}
    assert cell("fill(streams[0], 64)") == {}
    shown = cell("# the second\nfill(streams[1], 32)")
    assert shown["stderr"].startswith("[1] data-race: stream 2 writes 32 bytes that stream 1 writes")
    assert "      at cell In[2], line 12 in fill\n          driver.cuMemsetD8Async(" in shown["stderr"]
    assert "  stream 1: made at cell In[2], line 10 in <module>\n" in shown["stderr"]
    assert "<iframe" in shown["html"]
    assert "cell In[2], line 12" in shown["html"]
    assert re.search(r"ipykernel_\d", shown["stderr"] + shown["html"]) is None
    # The next cell begins without findings.
    assert cell("print(1)") == {"stdout": "1\n"}


KERNELS = """\
import numpy as np
from numba import cuda
@cuda.jit(lineinfo=True)
def total(values, result):
    result[0] += values[cuda.threadIdx.x]
@cuda.jit
def count(result):
    while cuda.atomic.add(result, 0, 1) >= 0:
        pass
values, result = cuda.to_device(np.ones(64)), cuda.to_device(np.zeros(1))
"""


@needs_numba
def test_line_of_a_kernel_is_shown_with_the_text_of_its_cell(kernel: tuple[object, Cell]) -> None:
    _, cell = kernel
    cell("%load_ext cuarray_sim")
    assert cell(KERNELS) == {}
    shown = cell("total[1, 64](values, result)\ncuda.synchronize()")["stderr"]
    assert "[1] kernel-race: " in shown
    for side in ("A", "B"):
        lines = shown.partition(f"  {side} cuLaunchKernel")[2].splitlines()
        assert re.fullmatch(r" +in thread .*, at cell In\[2\], line 5, line \d+ of the PTX", lines[1])
        assert lines[2] == "          result[0] += values[cuda.threadIdx.x]"
    launch = shown.partition("  launched at ")[2].splitlines()
    assert launch[:2] == ["cell In[3], line 1 in <module>", "          total[1, 64](values, result)"]


@needs_numba
def test_interrupt_ends_a_kernel_and_the_next_cells_run(kernel: tuple[object, Cell]) -> None:
    running, cell = kernel
    cell("%load_ext cuarray_sim")
    cell(KERNELS)
    threading.Timer(3, running.interrupt_kernel).start()  # type: ignore[attr-defined]
    shown = cell("count[1, 1](result)\nprint('launched', flush=True)\ncuda.synchronize()")
    assert (shown["stdout"], shown["error"]) == ("launched\n", "KeyboardInterrupt")
    assert cell("print(1)") == {"stdout": "1\n"}


def test_restarted_kernel_has_a_new_driver(kernel: tuple[object, Cell]) -> None:
    running, cell = kernel
    cell("%load_ext cuarray_sim")
    cell(SETUP)
    assert "data-race" in cell("fill(streams[0], 64); fill(streams[1], 32)")["stderr"]
    running.restart_kernel(now=True)  # type: ignore[attr-defined]
    assert cell("streams")["error"] == "NameError"
    cell("%load_ext cuarray_sim")
    cell(SETUP)
    assert cell("fill(streams[0], 64); driver.cuStreamSynchronize(streams[0]); fill(streams[1], 32)") == {}
