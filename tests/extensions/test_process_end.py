"""A process ends cleanly while arrays, guards and threads of the package and of extension modules are still alive.

Each test runs a program that ends with objects left over. It must exit with status 0, without output and without findings. It must
not call the driver after the driver's own shutdown. The simulated driver returns `CUDA_ERROR_DEINITIALIZED` to such calls, as the
real one does, and lists them in its trace.
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
home, elsewhere, foreign_stream = cuarray.stream(), cuarray.stream(), driver_probe.ForeignStream()

def array():
    return cuarray.to_device(np.zeros(64, np.uint8), stream=home)

def foreign_array():
    return foreign(array(), stream=foreign_stream.handle)

def all_kinds():
    "Return one object of each kind that may be left over, with work pending on it."
    borrow = cuarray.borrow(foreign_array(), elsewhere)
    typed_views.acquire_and_release(foreign_array(), elsewhere)  # leaves an event in the pool
    return [
        array(), foreign_array(), borrow, borrow.__enter__(), cuarray.as_cuda_array(foreign_array()),
        typed_views.make(64, 1, home), typed_views.pending(64, 2, home, elsewhere), typed_views.make_bfloat16(home),
        typed_views.from_object(64, home), typed_views.from_object(64, home, False), typed_views.Block(64, home),
        typed_views.Keeper(cuarray.to_device(np.zeros(4, np.float32))), cuarray.event(),
    ]

class Late:
    "An object that uses arrays in its destructor."
    def __init__(self):
        self.kept = all_kinds()
        self.use = [cuarray.borrow, typed_views.acquire_and_release, typed_views.make, print]

    def __del__(self):
        borrow, acquire_and_release, make, print_ = self.use
        with borrow(self.kept[1], elsewhere):
            pass
        acquire_and_release(self.kept[1], elsewhere)
        print_(make(4, 1, home).shape)
"""

LEFT = {
    "in globals": "kept = all_kinds()",
    "in another module": "sys.modules['other_module'] = all_kinds()",
    "in a cycle": "kept = all_kinds(); kept.append(kept); del kept",
    "in a cycle with __del__": "kept = [Late()]; kept.append(kept); del kept",
    "with __del__": "late = Late()",
    "with __del__, in another module": "sys.modules['other_module'] = Late()",
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
    "without the package's atexit function": """
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
    "in thread-local storage": "typed_views.keep_in_thread(array(), array(), elsewhere)",
    "in thread-local storage, foreign arrays": "typed_views.keep_in_thread(foreign_array(), foreign_array(), elsewhere)",
    "in thread-local storage of another thread": """
arguments = foreign_array(), array(), elsewhere
thread = threading.Thread(target=typed_views.keep_in_thread, args=arguments)
thread.start(); thread.join()
""",
    "in thread-local storage of a Rust thread": "typed_views.keep_in_ending_thread(home)",
    "in a static": "typed_views.keep_in_process(home)",
    "by os._exit": """
kept = all_kinds()
typed_views.keep_in_thread(array(), array(), elsewhere)
typed_views.keep_in_process(home)
print("the end", flush=True)
os._exit(0)
""",
    "in a working daemon thread": """
shared, begun = foreign_array(), threading.Event()
def work():
    while True:
        with cuarray.borrow(shared, elsewhere):
            typed_views.acquire_and_release(shared, elsewhere)
            begun.set()
threading.Thread(target=work, daemon=True).start()
begun.wait()
""",
}


def ending(tmp_path: Path, left: str, first: str = "") -> list[str]:
    """Run a program that ends with these objects left, and return its trace of driver calls."""
    trace = tmp_path / "trace"
    program = BEGIN.format(first=first) + left + "\nprint('the end', flush=True)\n"
    ended = driver_probe.finished_python(
        program, timeout=120, CUARRAY_SIM_TRACE=str(trace), CUARRAY_SIM_EXIT_STATUS="66", CUARRAY_SIM_LEAKS="0"
    )
    printed = "(4,)\n" * left.count("Late()")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "the end\n" + printed, "")
    return trace.read_text().splitlines()


def too_late(calls: list[str]) -> list[str]:
    return [call for call in calls if "CUDA_ERROR_DEINITIALIZED" in call]


@pytest.mark.parametrize("left", LEFT.values(), ids=LEFT)
def test_process_with_objects_left_ends_cleanly(tmp_path: Path, left: str) -> None:
    calls = ending(tmp_path, left)
    assert len(calls) > 20, "the program must use the driver"
    assert not too_late(calls)


def test_thread_local_storage_older_than_the_drivers_ends_cleanly(tmp_path: Path) -> None:
    # Thread-local storage that is used first is dropped last, after that of the driver's library.
    calls = ending(tmp_path, LEFT["in thread-local storage"], "typed_views.use_thread_storage_first()")
    assert not too_late(calls)


WITHOUT_WORK = "typed_views.keep_in_process(home); home.synchronize()"


def test_exit_function_before_driver_shutdown_frees_memory(tmp_path: Path) -> None:
    calls = ending(tmp_path, WITHOUT_WORK + "; typed_views.drop_at_exit()")
    assert not too_late(calls)
    assert any("cuMemFree" in call for call in calls)


def test_exit_function_after_driver_shutdown_makes_no_driver_call(tmp_path: Path) -> None:
    # A function registered before the driver is loaded runs after the driver's shutdown.
    calls = ending(tmp_path, WITHOUT_WORK, "typed_views.drop_at_exit()")
    assert not too_late(calls)
    assert not any("cuMemFree" in call for call in calls)


def test_trace_shows_driver_call_after_shutdown(tmp_path: Path) -> None:
    # The control: the other tests can fail.
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


def test_process_with_working_rust_thread_ends_cleanly(tmp_path: Path) -> None:
    # The thread may be inside a driver call at the shutdown.
    assert ending(tmp_path, "typed_views.work_until_exit(home)")
