"""Reuse of memory by CuPy's pool while another stream still uses it."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuarray_sim

ADVICE = """\
keep a reference to the array made at {file}:{earlier} until the legacy default stream has waited for {stream} after cudaMemcpyAsync at \
{file}:{read}: its bytes are now those of the array made at {file}:{later}, and the memory pool does not know that {stream} still uses them
make the earlier array while {stream} is the current stream, and use it there only: the pool gives its bytes out again in the order of that \
stream"""


def read(cp: Any, *, waits: bool) -> tuple[Any, int]:
    """Read an array in another stream, drop it, and make another one; return the stream and the line of the first statement."""
    line = inspect.currentframe().f_lineno  # type: ignore[union-attr]
    array = cp.zeros(1000)
    side, memory = cp.cuda.Stream(non_blocking=True), cp.cuda.alloc_pinned_memory(array.nbytes)
    side.wait_event(cp.cuda.get_current_stream().record())
    array.get(stream=side, out=np.frombuffer(memory, np.float64, 1000), blocking=False)
    if waits:
        cp.cuda.get_current_stream().wait_event(side.record())
    del array
    cp.zeros(1000)
    return side, line


@pytest.mark.cuarray_sim(expect="data-race")
def test_advice_for_reused_memory_is_to_keep_the_array(cp: Any) -> None:
    stream, line = read(cp, waits=False)
    (finding,) = cuarray_sim.findings()["findings"]
    lanes = {lane["number"]: lane["name"].split(" (")[0] for lane in cuarray_sim.findings()["lanes"]}
    lines = {"earlier": line + 1, "read": line + 4, "later": line + 8}
    name = lanes[finding["sides"][0]["lane"]]
    assert finding["missing"] == ADVICE.format(file=Path(__file__).name, stream=name, **lines)
    stream.synchronize()


def test_wait_before_the_release_of_an_array_has_no_finding(cp: Any) -> None:
    stream, _ = read(cp, waits=True)
    stream.synchronize()
