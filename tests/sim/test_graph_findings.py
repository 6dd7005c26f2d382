"""Findings in graphs captured with cuda.core name the user's lines."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

pytest.importorskip("cuda.core", reason="cuda.core is not installed; `make peers` installs it")

PROGRAM = """
import sys
import cuarray_sim
cuarray_sim.install()
from cuda.core import Device

device = Device(0)
device.set_current()
stream = device.create_stream()
first, second = (device.memory_resource.allocate(64, stream=stream) for _ in range(2))
first.fill(1, stream=stream)
stream.sync()
builder = device.create_graph_builder().begin_building()
left, right = builder.split(2)
first.fill(2, stream=left.stream)  # the write
if "right" in sys.argv:
    right.stream.wait(left.stream)
second.copy_from(first, stream=right.stream)  # the read
graph = type(builder).join(left, right).end_building().complete()
graph.launch(stream)  # the launch
stream.sync()
print(cuarray_sim.report())
"""


def line(text: str) -> int:
    return next(number for number, content in enumerate(PROGRAM.splitlines(), 1) if content.endswith(f"# {text}"))


@pytest.mark.parametrize("schedule", ["lazy", "random:7"])
def test_race_between_graph_branches_names_the_captured_lines(run: Run, tmp_path: Path, schedule: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = run(str(program), CUARRAY_SIM_SCHEDULE=schedule, CUARRAY_SIM_QUIET="1")
    assert done.returncode == 0, done.stderr
    assert "[1] data-race: " in done.stdout
    assert "[2]" not in done.stdout
    for place in ("the write", "the read"):
        assert f"at {program}:{line(place)} in <module>\n" in done.stdout
    assert f"in a graph, launched at {program}:{line('the launch')} in <module>" in done.stdout
    assert "missing: add an edge between the two nodes of the graph" in done.stdout
    done = run(str(program), "right", CUARRAY_SIM_SCHEDULE=schedule, CUARRAY_SIM_QUIET="1")
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


UPLOAD = """
import ctypes
import sys
import cuarray_sim
cuarray_sim.install()
from cuda.bindings import driver
from cuda.core import Device

device = Device(0)
device.set_current()
stream = device.create_stream()
memory = device.memory_resource.allocate(64, stream=stream)
host = ctypes.create_string_buffer(64)
stream.sync()
builder = device.create_graph_builder().begin_building()
address, captured = int(memory.handle), builder.stream.handle
(error,) = driver.cuMemcpyHtoDAsync(address, ctypes.addressof(host), 64, captured)  # the copy
assert not error, error
graph = builder.end_building().complete()
graph.launch(stream)  # the launch
if "right" in sys.argv:
    stream.sync()
host[5] = 1
stream.sync()  # the wait
print(cuarray_sim.report())
"""


@pytest.mark.parametrize("schedule", ["lazy", "eager"])
def test_change_of_a_captured_host_buffer_after_the_launch_is_a_race(run: Run, tmp_path: Path, schedule: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(UPLOAD)
    number = {line.split("# ")[1]: index for index, line in enumerate(UPLOAD.splitlines(), 1) if "# the" in line}
    done = run(str(program), CUARRAY_SIM_SCHEDULE=schedule, CUARRAY_SIM_QUIET="1")
    assert done.returncode == 0, done.stderr
    assert "[1] data-race: " in done.stdout
    assert "[2]" not in done.stdout
    assert f"at {program}:{number['the copy']} in <module>\n" in done.stdout
    assert f"at {program}:{number['the wait']} in <module>\n" in done.stdout
    assert "the bytes changed after the copy was enqueued; cuStreamSynchronize found it" in done.stdout
    done = run(str(program), "right", CUARRAY_SIM_SCHEDULE=schedule, CUARRAY_SIM_QUIET="1")
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


def test_synchronizing_a_capturing_stream_names_the_line_that_began_capture(run: Run, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("""
import cuarray_sim
cuarray_sim.install()
from cuda.core import Device

device = Device(0)
device.set_current()
builder = device.create_graph_builder().begin_building()
try:
    builder.stream.sync()
except Exception as error:
    assert "CAPTURE_UNSUPPORTED" in str(error)
print(cuarray_sim.report())
""")
    done = run(str(program))
    assert done.returncode == 0, done.stderr
    assert "[1] captured-stream-synchronized: " in done.stdout
    begun, waited = done.stdout.index(f"{program}:8 in <module>"), done.stdout.index(f"{program}:10 in <module>")
    assert begun < waited
