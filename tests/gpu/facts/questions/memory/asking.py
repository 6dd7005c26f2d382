"""Short forms of questions about memory and attributes."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...driver import Driver
from ...question import Facts, series
from .structures import GRANULE, PoolProps, allocation_prop, pool_props, read_write

Case = Callable[[Driver], Any]
"""A case of a series: it returns the value of its only fact, or its facts by name."""

PAGE = mmap.PAGESIZE


def ask(name: str, cases: Mapping[str, Case], **settings: Any) -> None:
    """Declare a series with one step for each case."""

    def answer(driver: Driver, facts: Facts, step: str) -> None:
        found = cases[step](driver)
        if isinstance(found, dict):
            for fact, value in found.items():
                facts[fact] = value
        else:
            facts[""] = found

    series(name, lambda: cases, **settings)(answer)


def then(driver: Driver, *call: Any) -> dict[str, str]:
    """Make a call, and wait: an error may appear in either of the two."""
    return {"call": driver.code(*call), "wait": driver.code("cuCtxSynchronize")}


def compared(value: int, **known: int) -> str:
    """Name an address or a handle by a known one that is equal."""
    if value == 0:
        return "null"
    return next((name for name, other in known.items() if other == value), "another")


def made(driver: Driver, name: str, *arguments: Any, before: int = 1) -> dict[str, str]:
    """Call a function whose first parameter receives an address; tell the code, and what became of the variable."""
    variable = ctypes.c_uint64(before)
    code = driver.code(name, ctypes.byref(variable), *arguments)
    return {"code": code, "result": compared(variable.value, unchanged=before)}


def several(driver: Driver, *calls: tuple[Any, ...]) -> list[str]:
    """Make several calls; return their codes in order."""
    return [driver.code(*call) for call in calls]


@contextlib.contextmanager
def no_context(driver: Driver) -> Iterator[None]:
    """Run the block without a current context."""
    context = driver.made("cuCtxGetCurrent")
    driver.do("cuCtxSetCurrent", None)
    try:
        yield
    finally:
        driver.do("cuCtxSetCurrent", context)


@contextlib.contextmanager
def device_memory(driver: Driver, size: int = 4096) -> Iterator[int]:
    address = driver.allocate(size)
    try:
        yield address
    finally:
        driver.number("cuMemFree_v2", address)


@contextlib.contextmanager
def pinned_memory(driver: Driver, size: int = 4096, flags: int = 2) -> Iterator[int]:
    address = driver.pinned(size, flags)
    try:
        yield address
    finally:
        driver.number("cuMemFreeHost", address)


@contextlib.contextmanager
def managed_memory(driver: Driver, size: int = 4096, flags: int = 1) -> Iterator[int]:
    address = driver.made("cuMemAllocManaged", size, flags, kind=ctypes.c_uint64)
    try:
        yield address
    finally:
        driver.number("cuMemFree_v2", address)


@contextlib.contextmanager
def pages(count: int = 4) -> Iterator[int]:
    """Pageable host memory that begins and ends with a page."""
    memory = mmap.mmap(-1, count * PAGE)
    view = ctypes.c_ubyte.from_buffer(memory)
    try:
        yield ctypes.addressof(view)
    finally:
        del view
        with contextlib.suppress(BufferError):
            memory.close()


@contextlib.contextmanager
def registered_memory(driver: Driver, count: int = 4, flags: int = 2) -> Iterator[int]:
    with pages(count) as address:
        driver.do("cuMemHostRegister_v2", address, count * PAGE, flags)
        try:
            yield address
        finally:
            driver.number("cuMemHostUnregister", address)


@contextlib.contextmanager
def memory_pool(driver: Driver, props: PoolProps | None = None) -> Iterator[int]:
    pool = driver.made("cuMemPoolCreate", ctypes.byref(props or pool_props()))
    try:
        yield pool
    finally:
        driver.number("cuMemPoolDestroy", pool)


@contextlib.contextmanager
def pool_memory(driver: Driver, size: int = 4096, stream: int = 0, pool: int = 0) -> Iterator[int]:
    """Memory of a pool, or of the default pool, after its allocation has run."""
    name, chosen = ("cuMemAllocFromPoolAsync", (pool,)) if pool else ("cuMemAllocAsync", ())
    address = driver.made(name, size, *chosen, stream, kind=ctypes.c_uint64)
    driver.do("cuStreamSynchronize", stream)
    try:
        yield address
    finally:
        driver.number("cuMemFreeAsync", address, stream)
        driver.number("cuStreamSynchronize", stream)


@contextlib.contextmanager
def a_stream(driver: Driver, flags: int = 1) -> Iterator[int]:
    stream = driver.stream(flags)
    try:
        yield stream
    finally:
        driver.number("cuStreamDestroy_v2", stream)


@contextlib.contextmanager
def reserved_addresses(driver: Driver, size: int = GRANULE) -> Iterator[int]:
    address = driver.made("cuMemAddressReserve", size, 0, 0, 0, kind=ctypes.c_uint64)
    try:
        yield address
    finally:
        driver.number("cuMemAddressFree", address, size)


@contextlib.contextmanager
def mapped_memory(driver: Driver, size: int = GRANULE, access: bool = True) -> Iterator[int]:
    """Physical memory of device 0 at reserved addresses. Its handle is released."""
    with reserved_addresses(driver, size) as address:
        handle = driver.made("cuMemCreate", size, ctypes.byref(allocation_prop()), 0, kind=ctypes.c_uint64)
        driver.do("cuMemMap", address, size, 0, handle, 0)
        driver.do("cuMemRelease", handle)
        if access:
            driver.do("cuMemSetAccess", address, size, ctypes.byref(read_write()), 1)
        try:
            yield address
        finally:
            driver.number("cuMemUnmap", address, size)
