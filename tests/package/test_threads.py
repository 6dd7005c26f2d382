"""Concurrent threads: imports, exports, copies, streams and releases give correct values in each thread."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import sysconfig
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import driver_probe
import numpy as np
import pytest
from producers import Producer, describe, foreign

import cuarray

THREADS, ROUNDS = 8, 40


def in_threads(work: Callable[[int], None], count: int = THREADS) -> None:
    """Runs the work in all threads at the same time, and raises the first exception of a thread."""
    together = threading.Barrier(count)

    def begin(number: int) -> None:
        together.wait()
        work(number)

    with ThreadPoolExecutor(count) as threads:
        for future in [threads.submit(begin, number) for number in range(count)]:
            future.result(driver_probe.PATIENCE)


def test_import_leaves_the_global_lock_off_where_python_has_none() -> None:
    """A module that does not declare that it works without this lock turns it on."""
    program = "import sys, cuarray; exit(getattr(sys, '_is_gil_enabled', lambda: True)())"
    settings = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    done = subprocess.run([sys.executable, "-c", program], env=settings, check=False)
    assert done.returncode == (0 if sysconfig.get_config_var("Py_GIL_DISABLED") else 1)


def test_threads_import_and_export_one_object() -> None:
    producer = Producer(describe(shape=(2, 3), strides=(4, 8), data=(4096, True)))
    array = cuarray.as_cuda_array(producer)
    expected = array.__cuda_array_interface__

    def work(number: int) -> None:
        for _ in range(ROUNDS * 10):
            imported = cuarray.as_cuda_array(producer)
            assert imported.owner is producer
            assert imported.__cuda_array_interface__ == array.__cuda_array_interface__ == expected
            assert cuarray.interface(producer).shape == (2, 3)

    in_threads(work)


def test_threads_read_a_dictionary_that_other_threads_change() -> None:
    """Each value that is read was in the dictionary. Without a global lock, a borrowed value would be freed during the read."""
    shapes, pointers = ((2, 3), (3, 2), (6,)), (4096, 8192, 1 << 40)
    entries = describe(shape=(2, 3), data=(4096, False), strides=None)
    ended = threading.Event()

    def change(number: int) -> None:
        chosen = random.Random(number)
        while not ended.is_set():
            # New objects, which have no other owner, and other keys, by which the table of the dictionary moves.
            entries["shape"] = tuple(chosen.choice(shapes))
            entries["data"] = (chosen.choice(pointers) + 0, False)
            entries["typestr"] = "<f" + str(chosen.choice((4, 8)))
            entries[f"other {chosen.randrange(40)}"] = [number]
            entries.pop(f"other {chosen.randrange(40)}", None)
            entries.pop("strides", None)
            entries["strides"] = None

    def read() -> None:
        for _ in range(ROUNDS * 50):
            interface = cuarray.interface(entries)
            assert interface.shape in shapes
            assert interface.ptr in pointers
            assert interface.typestr in ("<f4", "<f8")

    def work(number: int) -> None:
        if number % 2:
            return change(number)
        try:
            read()
        finally:
            readers.pop()
            if not readers:
                ended.set()

    readers = [*range(0, THREADS, 2)]
    in_threads(work)


def test_threads_get_errors_for_one_malformed_object() -> None:
    wrong = Producer(describe(stream=0))

    def work(number: int) -> None:
        for _ in range(ROUNDS * 10):
            with pytest.raises(ValueError, match=r"\['stream'\]"):
                cuarray.as_cuda_array(wrong)

    in_threads(work)


class Tensor:
    """Offers one DLPack capsule to all consumers."""

    def __init__(self, array: cuarray.DeviceArray) -> None:
        self.capsule, self.device = array.__dlpack__(), array.__dlpack_device__()

    def __dlpack__(self, **_: object) -> object:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


class Structure:
    """Offers one capsule with the C structure to all consumers."""

    def __init__(self, array: cuarray.DeviceArray) -> None:
        self.capsule = array.__cuda_array_c_interface__

    @property
    def __cuda_array_c_interface__(self) -> object:
        return self.capsule


@pytest.mark.parametrize(
    ("offer", "take"), [(Tensor, cuarray.from_dlpack), (Structure, cuarray.as_cuda_array)], ids=["DLPack", "structure"]
)
def test_one_of_two_threads_takes_a_capsule(
    driver: str, offer: type[Tensor | Structure], take: Callable[[object], cuarray.DeviceArray]
) -> None:
    """Two owners would release its content twice. The threads poll, as those that a barrier wakes take one after the other."""
    array = cuarray.to_device(np.arange(4))
    offers = [offer(array) for _ in range(5000)]
    # With a global lock, the other thread waits for this one.
    polls_in_a_row = 1 if getattr(sys, "_is_gil_enabled", lambda: True)() else 5000
    reached, taken, refused = [-1, -1], [0, 0], [0, 0]

    def work(number: int) -> None:
        for each, offered in enumerate(offers):
            reached[number] = each
            polls = 0
            while reached[1 - number] < each:
                polls += 1
                if polls % polls_in_a_row == 0:
                    time.sleep(0)
            try:
                take(offered)
                taken[number] += 1
            except ValueError as error:
                refused[number] += "taken already" in str(error)

    in_threads(work, 2)
    assert (sum(taken), sum(refused)) == (len(offers), len(offers))


def test_threads_copy_with_own_arrays_and_streams(driver: str) -> None:
    def work(number: int) -> None:
        context = driver_probe.current_context()
        stream = cuarray.stream()
        for each in range(ROUNDS):
            host = np.full((3, 5), number * 1000 + each, np.int32)
            array = cuarray.to_device(host, stream=stream)
            other = cuarray.device_array((3, 5), np.int32, order="F")
            other.copy_to_device(array)
            assert np.array_equal(other.copy_to_host(), host)
            assert np.array_equal(array.copy_to_host(stream=stream), host)
        assert driver_probe.current_context() == context

    in_threads(work)


def test_threads_copy_from_one_array(driver: str) -> None:
    host = np.arange(1000)
    array = cuarray.to_device(host)

    def work(number: int) -> None:
        stream = cuarray.stream() if number % 2 else None
        for _ in range(ROUNDS):
            target = np.zeros(1000, int)
            array.copy_to_host(target, stream=stream)
            if stream is not None:
                stream.synchronize()
            assert np.array_equal(target, host)

    in_threads(work)


def test_per_thread_default_stream_does_not_wait_for_other_threads(driver: str) -> None:
    """Work pending in one thread's default stream does not delay another thread's."""
    stream = cuarray.per_thread_default_stream()
    done: list[bool] = []

    def other() -> None:
        cuarray.per_thread_default_stream().synchronize()
        done.append(cuarray.per_thread_default_stream().query())

    with driver_probe.held(stream.handle) as hold:
        assert not stream.query()
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(driver_probe.PATIENCE)
        assert done == [True]
        assert hold.is_held


def test_threads_borrow_one_array_in_turn_without_host_waits(driver: str) -> None:
    """A lock lets threads take turns, and no thread waits for a stream; only edges order their work."""
    array, turn = cuarray.to_device(np.zeros(THREADS, np.uint8)), threading.Lock()

    def work(number: int) -> None:
        stream = cuarray.per_thread_default_stream()
        for count in range(ROUNDS):
            with turn, cuarray.borrow(array, stream) as view:
                if number:
                    driver_probe.copy(view.ptr + number, view.ptr, 1, stream.handle)
                else:
                    driver_probe.fill(view.ptr, count + 1, 1, stream.handle)

    in_threads(work)
    with cuarray.borrow(array, cuarray.per_thread_default_stream()) as view:
        for number in range(1, THREADS):
            driver_probe.copy(view.ptr + number, view.ptr, 1, view.stream.handle)
    assert array.copy_to_host().tolist() == [ROUNDS] * THREADS


def test_event_recorded_in_one_thread_orders_work_of_the_next(driver: str) -> None:
    array = cuarray.to_device(np.zeros(4, np.int32))
    turn: list[Any] = [cuarray.event()]
    lock = threading.Lock()
    order: list[int] = []

    def work(number: int) -> None:
        stream, event = cuarray.stream(), cuarray.event()
        for _ in range(ROUNDS):
            with lock:
                turn[0].wait(stream)
                array.copy_to_device(np.full(4, number, np.int32), stream=stream)
                event = cuarray.event()
                event.record(stream)
                turn[0] = event
                order.append(number)
        stream.synchronize()

    in_threads(work)
    turn[0].synchronize()
    assert array.copy_to_host().tolist() == [order[-1]] * 4


def test_arrays_are_released_in_other_threads(driver: str) -> None:
    shelf: list[Any] = [None] * 32
    lock = threading.Lock()

    def work(number: int) -> None:
        choose = random.Random(number)
        stream = cuarray.stream()
        for each in range(ROUNDS * 5):
            array: Any = cuarray.to_device(np.full(8, each, np.int16), stream=stream if each % 2 else None)
            if each % 3 == 0:
                array = cuarray.as_cuda_array(foreign(array))
            with lock:
                place = choose.randrange(len(shelf))
                array, shelf[place] = shelf[place], array
            if array is not None:
                assert len(set(array.copy_to_host().tolist())) == 1
            del array

    in_threads(work)
    shelf.clear()


def test_owner_shared_by_threads_is_released_once() -> None:
    class Owner:
        pass

    released: list[int] = []
    owner = Owner()
    weakref.finalize(owner, released.append, 1)
    holders = [[cuarray.from_cuda_array_interface(describe(), owner=owner) for _ in range(50)] for _ in range(THREADS)]
    del owner
    gc.collect()

    def work(number: int) -> None:
        while holders[number]:
            assert isinstance(holders[number].pop().owner, Owner)

    in_threads(work)
    gc.collect()
    assert released == [1]


def test_thread_without_context_creates_array(driver: str) -> None:
    found: list[object] = []

    def work() -> None:
        assert driver_probe.current_context() is None
        found.append(cuarray.to_device([1, 2]).copy_to_host().tolist())
        found.append(driver_probe.current_context())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(driver_probe.PATIENCE)
    assert found == [[1, 2], None]


def test_config_may_change_while_other_threads_export(driver: str) -> None:
    array = cuarray.device_array(4, stream=cuarray.stream())
    handle = array.stream.handle

    def work(number: int) -> None:
        for each in range(ROUNDS * 5):
            if number == 0:
                cuarray.config.export_stream = bool(each % 2)
            else:
                assert array.__cuda_array_interface__["stream"] in (handle, None)

    in_threads(work)
