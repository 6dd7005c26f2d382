"""The end of the process: what is alive then, and who still works then, in the package and in extension modules.

Each test is a program of its own that ends while something is left. It has to end well, silently, with no finding; and the driver, which has
an end of its own, must not be called after that. The simulated one answers such calls `CUDA_ERROR_DEINITIALIZED`, as the real one does,
and they stand in the trace of all its calls.
"""

from __future__ import annotations

from pathlib import Path

import driver_probe
import pytest

pytestmark = pytest.mark.usefixtures("simulator")

BEGIN = """
import atexit, gc, os, sys, threading
import typed_views
{first}
import cuarray_sim
cuarray_sim.install()
import cuarray, driver_probe
import numpy as np
from producers import foreign

gc.disable()
home, elsewhere, theirs = cuarray.stream(), cuarray.stream(), driver_probe.ForeignStream()

def array():
    return cuarray.to_device(np.zeros(64, np.uint8), stream=home)

def others_array():
    return foreign(array(), stream=theirs.handle)

def all_kinds():
    "One of each kind of thing that may be left, with work pending on it."
    borrow = cuarray.borrow(others_array(), elsewhere)
    typed_views.visit(others_array(), elsewhere)  # and an event that lies in the pool
    return [
        array(), others_array(), borrow, borrow.__enter__(), cuarray.as_cuda_array(others_array()),
        typed_views.make(64, 1, home), typed_views.pending(64, 2, home, elsewhere), typed_views.make_bfloat16(home),
        typed_views.of_object(64, home), typed_views.of_object(64, home, False), typed_views.Block(64, home),
        typed_views.Keeper(cuarray.to_device(np.zeros(4, np.float32))), cuarray.event(),
    ]

class Late:
    "Uses arrays when it goes, as destructors of other people's classes do."
    def __init__(self):
        self.kept = all_kinds()
        self.use = [cuarray.borrow, typed_views.visit, typed_views.make, print]

    def __del__(self):
        borrow, visit, make, say = self.use
        with borrow(self.kept[1], elsewhere):
            pass
        visit(self.kept[1], elsewhere)
        say(make(4, 1, home).shape)
"""

LEFT = {
    "in globals": "kept = all_kinds()",
    "in another module": "sys.modules['somebodys'] = all_kinds()",
    "in a cycle": "kept = all_kinds(); kept.append(kept); del kept",
    "in a cycle with __del__": "kept = [Late()]; kept.append(kept); del kept",
    "with __del__": "late = Late()",
    "with __del__, in another module": "sys.modules['somebodys'] = Late()",
    "in a thread's local": """
local = threading.local()
local.kept = all_kinds()
thread = threading.Thread(target=lambda: setattr(local, "kept", all_kinds()))
thread.start(); thread.join()
""",
    "in atexit": """
kept = all_kinds()
@atexit.register
def late():
    kept.extend(all_kinds())
    kept.append(Late())
""",
    "in atexit, before the package's own": """
kept = all_kinds()
atexit.unregister(cuarray.reclaim)
""",
    "in a module that is imported again": """
kept = all_kinds()
del sys.modules["typed_views"], typed_views
gc.collect()
import typed_views
kept.extend(all_kinds())
del sys.modules["typed_views"], typed_views
gc.collect()
""",
    "in a thread's own storage": "typed_views.keep_in_thread(array(), array(), elsewhere)",
    "in a thread's own storage, of others": "typed_views.keep_in_thread(others_array(), others_array(), elsewhere)",
    "in another thread's own storage": """
arguments = others_array(), array(), elsewhere
thread = threading.Thread(target=typed_views.keep_in_thread, args=arguments)
thread.start(); thread.join()
""",
    "in the storage of a thread of Rust's": "typed_views.keep_in_a_thread_that_ends(home)",
    "in a static": "typed_views.keep_in_process(home)",
    "by os._exit": """
kept = all_kinds()
typed_views.keep_in_thread(array(), array(), elsewhere)
typed_views.keep_in_process(home)
print("the end", flush=True)
os._exit(0)
""",
    "to a daemon thread": """
shared, begun = others_array(), threading.Event()
def work():
    while True:
        with cuarray.borrow(shared, elsewhere):
            typed_views.visit(shared, elsewhere)
            begun.set()
threading.Thread(target=work, daemon=True).start()
begun.wait()
""",
}


def ending(tmp_path: Path, left: str, first: str = "") -> list[str]:
    """The driver calls of a program that ends so, a line each."""
    trace = tmp_path / "trace"
    program = BEGIN.format(first=first) + left + "\nprint('the end', flush=True)\n"
    ended = driver_probe.finished_python(
        program, timeout=120, CUARRAY_SIM_TRACE=str(trace), CUARRAY_SIM_EXIT_STATUS="66", CUARRAY_SIM_LEAKS="0"
    )
    said = "(4,)\n" * left.count("Late()")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "the end\n" + said, "")
    return trace.read_text().splitlines()


def too_late(calls: list[str]) -> list[str]:
    return [call for call in calls if "CUDA_ERROR_DEINITIALIZED" in call]


@pytest.mark.parametrize("left", LEFT.values(), ids=LEFT)
def test_what_is_left_does_no_harm(tmp_path: Path, left: str) -> None:
    calls = ending(tmp_path, left)
    assert len(calls) > 20, "the program has used the driver"
    assert not too_late(calls)


def test_a_threads_own_storage_goes_in_any_order(tmp_path: Path) -> None:
    # The storage that was used first goes last, when that of the driver's library has gone.
    calls = ending(tmp_path, LEFT["in a thread's own storage"], "typed_views.come_first_in_thread()")
    assert not too_late(calls)


WITHOUT_WORK = "typed_views.keep_in_process(home); home.synchronize()"


def test_before_the_drivers_end_memory_is_freed(tmp_path: Path) -> None:
    calls = ending(tmp_path, WITHOUT_WORK + "; typed_views.let_go_at_exit()")
    assert not too_late(calls)
    assert any("cuMemFree" in call for call in calls)


def test_after_the_drivers_end_it_is_not_called(tmp_path: Path) -> None:
    # What was registered before the driver was there runs after it has gone.
    calls = ending(tmp_path, WITHOUT_WORK, "typed_views.let_go_at_exit()")
    assert not too_late(calls)
    assert not any("cuMemFree" in call for call in calls)


def test_a_call_that_comes_too_late_would_be_seen(tmp_path: Path) -> None:
    # That is, the other tests can fail.
    first = """
import ctypes
late = ctypes.CDLL(None)
late.on_exit.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
import cuarray_sim
driver = ctypes.CDLL(str(cuarray_sim.library_path()))
late.on_exit(ctypes.cast(driver.cuCtxSynchronize, ctypes.c_void_p), None)
"""
    calls = ending(tmp_path, "kept = all_kinds()", first)
    assert [call.partition("(")[0] for call in too_late(calls)] == ["[1] cuCtxSynchronize"]


def test_a_thread_that_works_on_is_not_in_the_way(tmp_path: Path) -> None:
    # It may be in the middle of a call when the driver goes.
    assert ending(tmp_path, "typed_views.work_on_and_on(home)")
