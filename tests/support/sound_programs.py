"""Programs that cannot race, because cuarray orders their work.

Each program uses arrays of another library in a way that types cannot follow: leaked guards, several views of one memory, several threads
and devices, captures. The other library orders its own half of each exchange correctly. A program ends with pending work.

    python sound_programs.py NAME    prints the findings
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

SIZE = 64
LEGACY, PER_THREAD = 1, 2
RELAXED = 2

PROGRAMS: dict[str, Callable[[], None]] = {}


def program(function: Callable[[], None]) -> Callable[[], None]:
    PROGRAMS[function.__name__] = function
    return function


# --- the other library ----------------------------------------------------------------------------------------------------------


def stream(device: int = 0) -> int:
    """A new non-blocking stream. It lives until the process ends."""
    handle = ctypes.c_void_p()
    with driver_probe.primary_context(device):
        driver_probe.call("cuStreamCreate", ctypes.byref(handle), ctypes.c_uint(driver_probe.CU_STREAM_NON_BLOCKING))
    assert handle.value is not None
    return handle.value


class Memory:
    """Memory that is freed in its stream, or at once if it has none."""

    def __init__(self, home: int | None, device: int = 0) -> None:
        self.home, self.device = home, device
        pointer = ctypes.c_uint64()
        with driver_probe.primary_context(device):
            if home is None:
                driver_probe.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(SIZE))
            else:
                driver_probe.call(
                    "cuMemAllocAsync", ctypes.byref(pointer), ctypes.c_size_t(SIZE), ctypes.c_void_p(home)
                )
        self.ptr = pointer.value

    def __del__(self) -> None:
        with driver_probe.primary_context(self.device):
            if self.home is None:
                driver_probe.call("cuMemFree_v2", ctypes.c_uint64(self.ptr))
            else:
                driver_probe.call("cuMemFreeAsync", ctypes.c_uint64(self.ptr), ctypes.c_void_p(self.home))


class Array:
    """An array of the other library."""

    def __init__(self, memory: Memory, stream: int | None) -> None:
        self.memory, self.ptr, self.stream = memory, memory.ptr, stream
        self.__cuda_array_interface__ = {
            "shape": (SIZE,), "typestr": "|u1", "data": (memory.ptr, False), "version": 3, "stream": stream,
        }  # fmt: skip


class Structure:
    """An array that exports C structures with a stream, and an event that was recorded once."""

    def __init__(self, memory: Memory, stream: int) -> None:
        self.memory, self.stream = memory, stream
        event = ctypes.c_void_p()
        with driver_probe.primary_context(memory.device):
            driver_probe.call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(2))
            driver_probe.call("cuEventRecord", event, ctypes.c_void_p(stream))
        self.event = event.value

    @property
    def __cuda_array_c_interface__(self) -> Any:
        one = c_arrays.Producer(
            self.memory, shape=c_arrays.numbers(SIZE), typestr=b"|u1", stream=self.stream, event=self.event,
            flags=c_arrays.HAS_STREAM | c_arrays.HAS_EVENT,
        )  # fmt: skip
        return one.capsule_of()


def owned(home: int | None, device: int = 0) -> Array:
    """An array with a pending write in its stream; without a stream, the write is done."""
    memory = Memory(home, device)
    write(memory, LEGACY if home is None else home)
    if home is None:
        with driver_probe.primary_context(device):
            driver_probe.call("cuStreamSynchronize", ctypes.c_void_p(LEGACY))
    return Array(memory, home)


def write(array: Any, stream: int, device: int | None = None) -> None:
    memory = getattr(array, "memory", array)
    with driver_probe.primary_context(memory.device if device is None else device):
        driver_probe.call(
            "cuMemsetD8Async",
            ctypes.c_uint64(memory.ptr),
            ctypes.c_ubyte(7),
            ctypes.c_size_t(SIZE),
            ctypes.c_void_p(stream),
        )


def in_thread(work: Callable[[], None]) -> None:
    """Run in a new thread, which ends."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # it is raised in the caller
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


@contextlib.contextmanager
def current(device: int) -> Iterator[None]:
    with driver_probe.primary_context(device):
        yield


# --- leaked guards --------------------------------------------------------------------------------------------------------------


def leaks(leak: bool) -> None:
    home, elsewhere = stream(), stream()
    x = owned(home)
    typed_views.fill_and_leak(x, 1, elsewhere, leak)
    write(x, home)
    typed_views.fill_and_leak(x, 2, elsewhere, leak)
    del x  # frees the memory in its stream


@program
def leaked_guard_and_dropped_object() -> None:
    leaks(True)


@program
def released_guard_and_dropped_object() -> None:
    leaks(False)


@program
def leaked_guard_of_kept_view() -> None:
    home, elsewhere = stream(), stream()
    x = owned(home)
    writer = typed_views.Writer(x)
    del x
    writer.fill(1, elsewhere, leak=True)
    del writer


@program
def leaked_guard_of_object_without_stream() -> None:
    x = owned(None)
    typed_views.fill_and_leak(x, 1, stream(), True)
    del x


# --- several views of one memory ------------------------------------------------------------------------------------------------


def floats(x: Array, home: int | None) -> Array:
    view = Array(x.memory, home)
    view.__cuda_array_interface__ |= {"typestr": "<f4", "shape": (SIZE // 4,)}
    return view


@program
def object_as_both_arguments_at_once() -> None:
    home = stream()
    x = owned(home)
    with pytest.raises(BufferError, match="share memory"):
        typed_views.both_written(floats(x, home), floats(x, home), stream(), stream())


@program
def object_as_both_arguments_in_turn() -> None:
    home = stream()
    x = owned(home)
    typed_views.fill_in_turn(x, x, stream(), stream())
    write(x, home)


@program
def view_of_another_library_at_once() -> None:
    home = stream()
    x = owned(home)
    for other in (stream(), None):
        with pytest.raises(BufferError, match="share memory"):
            typed_views.both_written(floats(x, home), floats(x, other), stream(), stream())


@program
def view_of_another_library_in_turn() -> None:
    home, other = stream(), stream()
    x = owned(home)
    driver_probe.synchronize(home)  # the other library's view has no pending work
    view = Array(x.memory, other)
    typed_views.fill_in_turn(x, view, stream(), stream())
    driver_probe.synchronize(home)
    driver_probe.synchronize(other)
    del x, view


@program
def view_without_stream_in_turn() -> None:
    x = owned(None)
    typed_views.fill_in_turn(x, Array(x.memory, None), stream(), stream())
    del x


@program
def kept_views_of_two_libraries_in_turn() -> None:
    home, other = stream(), stream()
    x = owned(home)
    driver_probe.synchronize(home)
    writers = [typed_views.Writer(x), typed_views.Writer(Array(x.memory, other))]
    for _ in range(3):
        for writer in writers:
            writer.fill(1, stream())
    driver_probe.synchronize(home)
    driver_probe.synchronize(other)


# --- threads and per-thread default streams ---------------------------------------------------------------------------------------


@program
def object_without_stream_in_default_streams_of_two_threads() -> None:
    x = owned(None)
    writer = typed_views.Writer(x)
    writer.fill(1, PER_THREAD)
    in_thread(lambda: writer.fill(2, PER_THREAD))
    writer.fill(3, PER_THREAD)


@program
def object_without_stream_in_two_streams() -> None:
    x = owned(None)
    writer = typed_views.Writer(x)
    writer.fill(1, stream())
    in_thread(lambda: writer.fill(2, stream()))


@program
def kept_view_of_per_thread_default_stream_in_another_thread() -> None:
    x = owned(PER_THREAD)
    writer = typed_views.Writer(x)
    in_thread(lambda: writer.fill(1, stream()))
    write(x, PER_THREAD)
    in_thread(lambda: writer.fill(2, PER_THREAD))
    write(x, PER_THREAD)


@program
def kept_view_of_per_thread_default_stream_in_its_thread() -> None:
    x = owned(PER_THREAD)
    writer = typed_views.Writer(x)
    writer.fill(1, stream())
    write(x, PER_THREAD)
    writer.fill(2, PER_THREAD)
    write(x, PER_THREAD)


@program
def import_of_per_thread_default_stream_borrowed_in_another_thread() -> None:
    x = owned(PER_THREAD)
    imported = cuarray.as_cuda_array(x, sync=False)
    for other in (stream(), PER_THREAD):

        def borrow(other: int = other) -> None:
            with cuarray.borrow(imported, other) as array:
                typed_views.fill(array, 1, other)

        in_thread(borrow)
        write(x, PER_THREAD)
    with cuarray.borrow(imported, other) as array:
        typed_views.fill(array, 1, other)
    write(x, PER_THREAD)


@program
def borrow_of_per_thread_default_stream_made_in_one_thread_and_entered_in_another() -> None:
    x, other = owned(PER_THREAD), stream()
    imported = cuarray.as_cuda_array(x, sync=False)
    borrow = cuarray.borrow(imported, other)

    def use() -> None:
        with borrow as array:
            typed_views.fill(array, 1, other)

    in_thread(use)
    write(x, PER_THREAD)


# --- C structures with event and stream --------------------------------------------------------------------------------------------


@program
def guards_of_two_structures_with_one_event() -> None:
    home = stream()
    memory = owned(home).memory
    x = Structure(memory, home)
    typed_views.fill(x, 1, stream())
    typed_views.fill(x, 2, stream())
    write(memory, home)


@program
def guards_of_kept_structures_with_one_event() -> None:
    home = stream()
    memory = owned(home).memory
    x = Structure(memory, home)
    writers = [typed_views.Writer(x), typed_views.Writer(x)]
    for _ in range(2):
        for writer in writers:
            writer.fill(1, stream())
    write(memory, home)


@program
def borrows_of_structures_with_one_event() -> None:
    home = stream()
    memory = owned(home).memory
    x = Structure(memory, home)
    for _ in range(3):
        elsewhere = stream()
        with cuarray.borrow(x, elsewhere) as array:
            typed_views.fill(array, 1, elsewhere)
    write(memory, home)


@program
def borrow_and_guard_of_structures_with_one_event() -> None:
    home, elsewhere = stream(), stream()
    memory = owned(home).memory
    x = Structure(memory, home)
    kept = typed_views.Writer(x)
    with cuarray.borrow(x, elsewhere) as array:
        typed_views.fill(array, 1, elsewhere)
    kept.fill(2, stream())
    write(memory, home)


# --- default streams and devices ---------------------------------------------------------------------------------------------------


def default_streams_with_devices(default: int) -> None:
    home = stream(1)
    for during, after in [(0, 0), (0, 1), (1, 0)]:
        x = owned(home, 1)
        borrow = cuarray.borrow(x, default)
        with current(during):
            array = borrow.__enter__()
            typed_views.fill_and_leak(array, 1, default, False)
        with current(after):
            borrow.__exit__(None, None, None)
        write(x, home)
        with current(during):
            typed_views.fill_and_leak(x, 2, default, False)
        write(x, home)
        writer = typed_views.Writer(x)
        with current(during):
            writer.fill(3, default)
        write(x, home)
        with current(during), cuarray.borrow(x, default) as array:
            typed_views.fill_and_leak(array, 4, default, False)
        write(x, home)


@program
def number_0_as_stream_with_two_devices() -> None:
    default_streams_with_devices(0)


@program
def number_1_as_stream_with_two_devices() -> None:
    default_streams_with_devices(LEGACY)


@program
def number_2_as_stream_with_two_devices() -> None:
    default_streams_with_devices(PER_THREAD)


@program
def stream_of_the_device_with_two_devices() -> None:
    default_streams_with_devices(stream(1))


# --- captures ------------------------------------------------------------------------------------------------------------------------


def begin_capture(stream: int) -> None:
    with current(0):
        driver_probe.call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream), ctypes.c_uint(RELAXED))


def end_capture(stream: int) -> None:
    graph = ctypes.c_void_p()
    with current(0):
        driver_probe.call("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(graph))
        driver_probe.call("cuGraphDestroy", graph)


def imported(memory: Memory, home: int) -> cuarray.DeviceArray:
    return cuarray.as_cuda_array(Array(memory, home), sync=False)


def lenders() -> Iterator[tuple[Any, Memory, int]]:
    """Lends memory with pending work in three ways. The caller holds the only references."""
    for kind in (Array, Structure, imported):
        home = stream()
        memory = Memory(home)
        write(memory, home)
        lent = [kind(memory, home), memory, home]
        del memory
        yield lent.pop(0), lent.pop(0), lent.pop(0)


@program
def capture_that_begins_in_a_borrow() -> None:
    for x, memory, home in lenders():
        elsewhere = stream()
        borrow = cuarray.borrow(x, elsewhere)
        typed_views.fill(borrow.__enter__(), 1, elsewhere)
        begin_capture(elsewhere)
        with pytest.raises(BufferError, match="begun to capture"):
            borrow.__exit__(None, None, None)
        end_capture(elsewhere)
        cuarray.reclaim(wait=False)
        write(memory, home)


@program
def capture_that_begins_in_a_borrow_of_a_dropped_object() -> None:
    for x, memory, _home in lenders():
        known, elsewhere = weakref.ref(memory), stream()
        borrow = cuarray.borrow(x, elsewhere)
        array = borrow.__enter__()
        typed_views.fill(array, 1, elsewhere)
        begin_capture(elsewhere)
        with contextlib.suppress(BufferError):
            borrow.__exit__(None, None, None)
        del x, memory, borrow, array
        freed_after_the_capture(known, elsewhere)


@program
def capture_that_begins_in_a_borrow_without_exit() -> None:
    for x, memory, _home in lenders():
        known, elsewhere = weakref.ref(memory), stream()
        borrow = cuarray.borrow(x, elsewhere)
        array = borrow.__enter__()
        typed_views.fill(array, 1, elsewhere)
        begin_capture(elsewhere)
        del x, memory, borrow
        del array  # reports the error through sys.unraisablehook
        freed_after_the_capture(known, elsewhere)


@program
def borrow_without_exit_and_without_capture() -> None:
    for x, memory, home in lenders():
        elsewhere = stream()
        array = cuarray.borrow(x, elsewhere).__enter__()
        typed_views.fill(array, 1, elsewhere)
        del array
        write(memory, home)
        del x, memory


def freed_after_the_capture(memory: weakref.ref[Memory], elsewhere: int) -> None:
    """End the capture. Assert that the memory is alive before, and freed afterwards, when the edge back can be made."""
    assert memory() is not None
    end_capture(elsewhere)
    c_arrays._HANDED_OUT.clear()
    cuarray.reclaim(wait=False)
    gc.collect()
    assert memory() is None


# --- objects that are dropped after the call ---------------------------------------------------------------------------------------


@program
def object_without_stream_dropped_after_the_call() -> None:
    for fill in (typed_views.fill, typed_views.typed_view_fill, typed_views.array_fill):
        x = owned(None)
        fill(x, 1, stream())
        del x


@program
def object_without_stream_dropped_after_a_default_stream() -> None:
    for default in (0, LEGACY, PER_THREAD):
        x = owned(None)
        typed_views.fill_and_leak(x, 1, default, False)
        del x


@program
def kept_object_without_stream_dropped_after_the_call() -> None:
    x = owned(None)
    writer = typed_views.Writer(x)
    del x
    writer.fill(1, stream())
    del writer


@program
def object_with_stream_dropped_after_the_call() -> None:
    for fill in (typed_views.fill, typed_views.typed_view_fill, typed_views.array_fill):
        x = owned(stream())
        fill(x, 1, stream())
        del x


def main(name: str) -> None:
    PROGRAMS[name]()
    gc.collect()
    for device in (0, 1):
        with current(device):
            driver_probe.call("cuCtxSynchronize")
    cuarray.reclaim()
    print(cuarray_sim.report(), end="")


if __name__ == "__main__":
    import cuarray_sim

    cuarray_sim.install()
    import c_arrays
    import driver_probe
    import typed_views

    import cuarray

    main(sys.argv[1])
