"""Calls of the Rust crate that wait in the driver release the GIL, also in a function that has no ``Python`` token.

The stream holds a host function in Python. The function returns when a Python thread tells it to. A call that waits for the stream with the GIL held
waits forever. So each test runs in its own process, which is killed after a timeout.
"""

from __future__ import annotations

import driver_probe
import pytest

pytestmark = pytest.mark.usefixtures("simulator")


def check(program: str) -> None:
    """Run a program, which must print one line before the time runs out."""
    ended = driver_probe.finished_python(program + '\nprint("done")\n', timeout=60)
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr


BEGIN = """
import threading
import cuarray_sim
cuarray_sim.install()
import cuarray, driver_probe, typed_views

stream = cuarray.stream()
"""

CALLS = [
    "from_host",
    "full",
    "zeros",
    "to_host",
    "copy_to_host",
    "copy_from_host",
    "synchronize stream",
    "sync::synchronize",
    "synchronize event",
    "synchronize context",
    "allocate",
    "free",
    "load a module",
    "copy without a stream",
    "launch",
    "cached kernel",
    "reclaim",
]


@pytest.mark.parametrize("call", CALLS)
def test_waiting_call_lets_a_python_host_function_run(call: str) -> None:
    program = (
        BEGIN
        + f"""
waits = typed_views.Waits(stream)
with driver_probe.held(stream.handle) as hold:
    hold.release_soon()
    waits.run({call!r})
"""
    )
    check(program)


def test_threads_that_share_an_array_do_not_deadlock() -> None:
    program = (
        BEGIN
        + """
waits = typed_views.Waits(stream)
calls = ["to_host", "copy_from_host", "from_host", "full", "synchronize event", "reclaim", "launch", "load a module", "cached kernel"]

def work(first):
    for turn in range(60):
        try:
            waits.run(calls[(first + turn) % len(calls)])
        except BufferError as error:  # another thread's guard is live
            assert "already" in str(error), error

threads = [threading.Thread(target=work, args=(index,)) for index in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
    )
    check(program)


def test_threads_load_a_cached_kernel_once() -> None:
    program = (
        BEGIN
        + """
start = threading.Barrier(8)

def work():
    waits = typed_views.Waits(cuarray.stream())
    start.wait()
    for _ in range(20):
        waits.run("cached kernel")

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
# `Waits` loads its own module.
assert cuarray_sim.statistics()["calls"]["cuModuleLoadDataEx"] == 8 + 1
"""
    )
    check(program)


def test_first_use_of_a_context_in_many_threads_does_not_deadlock() -> None:
    program = """
import threading
import cuarray_sim
cuarray_sim.install()
import cuarray, typed_views

start = threading.Barrier(8)

def work():
    start.wait()
    for _ in range(20):
        typed_views.Waits(cuarray.stream()).run("from_host")

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
    check(program)
