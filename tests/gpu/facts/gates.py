"""Tools for questions about the order of work: streams that are held for a time, calls in other threads, and records of what ran.

Everything has a time limit. A stream that is held goes on after ``HELD`` seconds at the latest.

A GPU has few hardware queues, and streams that share one wait for each other. So the module asks for the most queues, and a process uses
few streams.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from .driver import CUDA_SUCCESS, Driver, HostFunction, kernels

os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")

HELD = 3.0
"""The most seconds for which a stream is held."""

SOON = 0.3
"""The seconds in which work that waits for nothing has surely run. The simulated driver starts host functions after 50 ms."""

CU_STREAM_LEGACY, CU_STREAM_PER_THREAD = 1, 2
CU_STREAM_DEFAULT, CU_STREAM_NON_BLOCKING = 0, 1
CU_STREAM_WAIT_VALUE_GEQ, CU_STREAM_WAIT_VALUE_EQ = 0, 1

_kept: list[Any] = []
"""Host functions that the driver may still call."""


def host_function(body: Callable[[], None]) -> Any:
    """Make a host function (``CUhostFn``) that is never released."""
    made = HostFunction(lambda _: body())
    _kept.append(made)
    return made


def word(address: int) -> ctypes.c_uint32:
    """The word of host memory at an address."""
    return ctypes.c_uint32.from_address(address)


def wait_until(condition: Callable[[], bool], seconds: float = SOON) -> bool:
    """Wait for a condition without any driver call; return whether it became true."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= end:
            return False
        time.sleep(0.002)
    return True


class Gate:
    """A word of pinned memory for which streams wait."""

    def __init__(self, driver: Driver) -> None:
        self.driver, self.address = driver, driver.pinned(4096)
        word(self.address).value = 0
        self.timer = threading.Timer(HELD, self.open)
        self.timer.daemon = True
        self.timer.start()

    def hold(self, stream: int) -> None:
        self.driver.do("cuStreamWaitValue32_v2", stream, self.address, 1, CU_STREAM_WAIT_VALUE_GEQ)

    def open(self) -> None:
        self.timer.cancel()
        word(self.address).value = 1


class HostGate:
    """Host functions that wait for an event of Python. A stream is held once its function has begun."""

    def __init__(self, driver: Driver) -> None:
        self.driver, self.opened = driver, threading.Event()

    def hold(self, stream: int) -> None:
        began = threading.Event()

        def body() -> None:
            began.set()
            self.opened.wait(HELD)

        self.driver.do("cuLaunchHostFunc", stream, host_function(body), None)
        began.wait(HELD)

    def open(self) -> None:
        self.opened.set()


@contextlib.contextmanager
def held(driver: Driver, *streams: int, by: type[Gate] | type[HostGate] = Gate) -> Iterator[Gate | HostGate]:
    """Hold streams until the gate is opened, at the latest at the end of the block."""
    gate = by(driver)
    try:
        for stream in streams:
            gate.hold(stream)
        yield gate
    finally:
        gate.open()


class Order:
    """The order in which host functions ran."""

    def __init__(self, driver: Driver) -> None:
        self.driver, self.names = driver, list[str]()

    def note(self, name: str, stream: int) -> None:
        """Enqueue a host function that notes a name."""
        self.driver.do("cuLaunchHostFunc", stream, self.function(name), None)

    def function(self, name: str) -> Any:
        return host_function(lambda: self.names.append(name))

    def has(self, name: str, seconds: float = SOON) -> bool:
        """Whether a name was noted, or is noted soon."""
        return wait_until(lambda: name in self.names, seconds)


class Call:
    """A call in a separate thread, in the context of the thread that made it."""

    def __init__(self, driver: Driver, call: Callable[[], Any]) -> None:
        self.result: Any = None
        context = ctypes.c_void_p()
        driver.do("cuCtxGetCurrent", ctypes.byref(context))

        def run() -> None:
            driver.number("cuCtxSetCurrent", context)
            try:
                self.result = call()
            except Exception as error:
                self.result = f"{type(error).__name__}: {error}"

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def returned(self, seconds: float) -> bool:
        self.thread.join(seconds)
        return not self.thread.is_alive()


def in_thread(driver: Driver, call: Callable[[], Any], seconds: float = 10.0) -> Any:
    """The result of a call in another thread."""
    made = Call(driver, call)
    return made.result if made.returned(seconds) else "it does not return"


POLLING = kernels("""
// Polls a word until it is at least a value; writes 1 then. After a second, or 2^18 polls, it writes 2.
.visible .entry poll(.param .u64 flag, .param .u64 least, .param .u64 result) {
    .reg .u64 %flag, %result, %start, %now, %spent, %wide;
    .reg .u32 %value, %least, %count;
    .reg .pred %p;
    ld.param.u64 %flag, [flag];
    ld.param.u64 %wide, [least];
    cvt.u32.u64 %least, %wide;
    ld.param.u64 %result, [result];
    mov.u32 %count, 0;
    mov.u64 %start, %globaltimer;
again:
    ld.volatile.global.u32 %value, [%flag];
    setp.ge.u32 %p, %value, %least;
    @%p bra seen;
    nanosleep.u32 1000;
    add.u32 %count, %count, 1;
    mov.u64 %now, %globaltimer;
    sub.u64 %spent, %now, %start;
    setp.gt.u64 %p, %spent, 1000000000;
    @%p bra late;
    setp.lt.u32 %p, %count, 262144;
    @%p bra again;
late:
    mov.u32 %value, 2;
    st.volatile.global.u32 [%result], %value;
    ret;
seen:
    mov.u32 %value, 1;
    st.volatile.global.u32 [%result], %value;
    ret;
}

// Stores a word.
.visible .entry store(.param .u64 address, .param .u64 number) {
    .reg .u64 %address, %wide;
    .reg .u32 %value;
    ld.param.u64 %address, [address];
    ld.param.u64 %wide, [number];
    cvt.u32.u64 %value, %wide;
    st.volatile.global.u32 [%address], %value;
    ret;
}

// Adds one to a word.
.visible .entry count(.param .u64 address) {
    .reg .u64 %address;
    .reg .u32 %old;
    ld.param.u64 %address, [address];
    atom.global.add.u32 %old, [%address], 1;
    ret;
}

.visible .entry nothing() { ret; }
""")
"""A module with the kernels ``poll``, ``store``, ``count`` and ``nothing``."""

SEEN, NOT_SEEN = 1, 2
"""The results of ``poll``."""


def polling(driver: Driver) -> dict[str, int]:
    """The kernels of ``POLLING`` by name."""
    module = driver.module(POLLING)
    return {name: loaded(driver, driver.function(module, name)) for name in ("poll", "store", "count", "nothing")}


def loaded(driver: Driver, function: int) -> int:
    """The function, which the driver has loaded: a load at its first launch may wait for the device."""
    driver.number("cuFuncLoad", function)
    return function


STREAMS = ("null", "legacy", "per_thread", "blocking", "non_blocking")
"""Every kind of stream by name."""

_streams: dict[tuple[str, int], int] = {}


def stream_of(driver: Driver, kind: str, which: int = 0) -> int:
    """A stream of a kind, one for each number in a process."""
    fixed = {"null": 0, "legacy": CU_STREAM_LEGACY, "per_thread": CU_STREAM_PER_THREAD}
    if kind in fixed:
        return fixed[kind]
    if (kind, which) not in _streams:
        _streams[kind, which] = driver.stream(CU_STREAM_DEFAULT if kind == "blocking" else CU_STREAM_NON_BLOCKING)
    return _streams[kind, which]


def after_a_while(driver: Driver, name: str, *arguments: Any, seconds: float = SOON) -> str:
    """Query an event or stream until it is done; return the name of the last result."""
    codes: list[str] = []

    def done() -> bool:
        codes.append(driver.code(name, *arguments))
        return codes[-1] != "CUDA_ERROR_NOT_READY"

    wait_until(done, seconds)
    return codes[-1]


def finish(driver: Driver) -> None:
    """Wait until all work of the context is done."""
    driver.do("cuCtxSynchronize")


def made(driver: Driver, name: str, *arguments: Any, kind: Any = ctypes.c_void_p) -> tuple[str, int]:
    """Call a function whose first parameter receives a handle; return the result's name, and the handle or 0."""
    handle = kind()
    code = driver.code(name, ctypes.byref(handle), *arguments)
    return code, (handle.value or 0) if code == CUDA_SUCCESS else 0
