"""Which copies and fills return while a stream is held, and what bytes they see.

The page *API synchronization behavior* of the manual; docs/explanation/happens-before.md, *Assumptions*.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from ...driver import Driver
from ...gates import SOON, Call, finish, held, stream_of
from ...question import Facts, series
from .cases import KIB, MIB, Case, Cases

CASES = Cases()

SIZES = {"1_KiB": KIB, "64_KiB": 64 * KIB, "65_KiB": 65 * KIB, "4_MiB": 4 * MIB}

CU_MEM_ATTACH_GLOBAL = 1


def pageable(size: int) -> ctypes.Array[ctypes.c_char]:
    return ctypes.create_string_buffer(b"\1" * size, size)


Make = Callable[[Driver, int], "int | ctypes.Array[ctypes.c_char]"]

KINDS: dict[str, Make] = {
    "device": lambda driver, size: driver.allocate(size),
    "pinned": lambda driver, size: driver.pinned(size),
    "pageable": lambda driver, size: pageable(size),
    "managed": lambda driver, size: driver.made("cuMemAllocManaged", size, CU_MEM_ATTACH_GLOBAL, kind=ctypes.c_uint64),
}


def copying(name: str, function: str, target: str, source: str, size: int, asynchronous: str = "") -> None:
    """A copy; if it is asynchronous, in the held or another stream."""

    def answer(driver: Driver, stream: int) -> Case:
        to, of = KINDS[target](driver, size), KINDS[source](driver, size)
        streams = {"": (), "held": (stream,), "other": (stream_of(driver, "non_blocking", 2),)}[asynchronous]
        yield
        yield lambda: driver.code(function, to, of, size, *streams)

    CASES[name] = answer


for label, number in SIZES.items():
    if label in ("1_KiB", "4_MiB"):
        for host in ("pageable", "pinned"):
            copying(f"HtoD_{host}_{label}", "cuMemcpyHtoD_v2", "device", host, number)
            copying(f"DtoH_{host}_{label}", "cuMemcpyDtoH_v2", host, "device", number)
        copying(f"DtoD_{label}", "cuMemcpyDtoD_v2", "device", "device", number)
    for host in ("pageable", "pinned"):
        for where in ("held", "other"):
            if where == "held" or label == "64_KiB":
                copying(f"HtoDAsync_{host}_{label}_{where}", "cuMemcpyHtoDAsync_v2", "device", host, number, where)
                copying(f"DtoHAsync_{host}_{label}_{where}", "cuMemcpyDtoHAsync_v2", host, "device", number, where)

for one in ("pageable", "pinned", "managed", "device"):
    for other in ("pageable", "pinned", "managed"):
        copying(f"cuMemcpy_{one}_to_{other}", "cuMemcpy", other, one, 64 * KIB)
        copying(f"cuMemcpyAsync_{one}_to_{other}_held", "cuMemcpyAsync", other, one, 64 * KIB, "held")


def filling(name: str, function: str, memory: str, asynchronous: bool = False) -> None:
    def answer(driver: Driver, stream: int) -> Case:
        to = KINDS[memory](driver, 64 * KIB)
        yield
        yield lambda: driver.code(function, to, 3, 64 * KIB, *((stream,) if asynchronous else ()))

    CASES[name] = answer


for one in ("device", "pinned", "managed"):
    filling(f"MemsetD8_{one}", "cuMemsetD8_v2", one)
    filling(f"MemsetD8Async_{one}_held", "cuMemsetD8Async", one, asynchronous=True)

CASES.declare("waits.copies")


@series(
    "waits.source_of_a_pending_copy", lambda: [f"{kind}_{label}" for kind in ("pageable", "pinned") for label in SIZES]
)
def source(driver: Driver, facts: Facts, step: str) -> None:
    """The host changes the source after cuMemcpyHtoDAsync has returned, and before the stream goes on."""
    kind, label = step.split("_", 1)
    size, stream = SIZES[label], stream_of(driver, "non_blocking")
    device, host = driver.allocate(size), KINDS[kind](driver, size)
    address = host if isinstance(host, int) else ctypes.addressof(host)
    ctypes.memset(address, 1, size)
    with held(driver, stream):
        call = Call(driver, lambda: driver.code("cuMemcpyHtoDAsync_v2", device, host, size, stream))
        facts["returns_while_held"] = early = call.returned(SOON)
        if early:
            ctypes.memset(address, 2, size)
    call.returned(10)
    finish(driver)
    if early:
        seen = driver.download(device, size)
        facts["first_byte"], facts["last_byte"] = seen[0], seen[-1]
        facts["all_bytes_are_equal"] = len(set(seen)) == 1


@series("waits.target_of_a_copy_to_the_host", lambda: SIZES)
def target(driver: Driver, facts: Facts, step: str) -> None:
    """Whether cuMemcpyDtoHAsync to pageable memory returns with the bytes, in five tries behind a long fill."""
    size, stream = SIZES[step], stream_of(driver, "non_blocking")
    device, large = driver.allocate(size), driver.allocate(256 * MIB)
    there = []
    for value in range(1, 6):
        host = pageable(size)
        ctypes.memset(host, 0, size)
        driver.do("cuMemsetD8Async", large, value, 256 * MIB, stream)
        driver.do("cuMemsetD8Async", device, value, size, stream)
        driver.do("cuMemcpyDtoHAsync_v2", host, device, size, stream)
        there.append(host.raw == bytes([value]) * size)
        driver.do("cuStreamSynchronize", stream)
    facts["always_there_at_return"] = all(there)
    facts["never_there_at_return"] = not any(there)
