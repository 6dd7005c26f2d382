"""Which functions a driver has, under which names and versions, and the texts of its codes."""

from __future__ import annotations

import ctypes

from ...driver import Driver
from ...entry_points import LATEST, EntryPoint, implemented, refused
from ...question import Facts, question

LEGACY_STREAM, PER_THREAD_STREAM = 1, 2  # CU_GET_PROC_ADDRESS flags
STATUS = {0: "found", 1: "no such name", 2: "version not sufficient"}

HIGHEST_CODE = 1000


def all_entries() -> list[EntryPoint]:
    return [*implemented(), *refused()]


def part(since: int) -> str:
    """Functions that are later than the driver that is asked are apart: it lacks them, and the simulator has them."""
    return "of_later_versions." if since > LATEST else ""


@question("symbols", needs_context=False)
def symbols(driver: Driver, facts: Facts) -> None:
    """Whether the library exports each documented symbol, with those for the per-thread default stream."""
    for entry in all_entries():
        for symbol in (entry.symbol, entry.per_thread):
            if symbol:
                facts[f"{part(entry.since)}{symbol}"] = hasattr(driver.library, symbol)


def found(driver: Driver, name: str, version: int, flags: int) -> str:
    """The result of ``cuGetProcAddress_v2``, its status, and whether it returns an address."""
    address, status = ctypes.c_void_p(), ctypes.c_int(-1)
    code = driver.code("cuGetProcAddress_v2", name, ctypes.byref(address), version, flags, ctypes.byref(status))
    return f"{code}, {STATUS.get(status.value, status.value)}, {'an' if address.value else 'no'} address"


@question("symbols_by_name", needs_context=False)
def symbols_by_name(driver: Driver, facts: Facts) -> None:
    """``cuGetProcAddress_v2`` for each name and version of the driver's functions, and for the version before the first one."""
    first: dict[str, int] = {}
    for entry in all_entries():
        first[entry.name] = min(entry.since, first.get(entry.name, entry.since))
    for name, since in first.items():
        for flags, label in ((0, "default"), (LEGACY_STREAM, "legacy"), (PER_THREAD_STREAM, "per_thread")):
            facts[f"{part(since)}{name}.{LATEST}.{label}"] = found(driver, name, LATEST, flags)
        facts[f"{part(since)}{name}.before_first"] = found(driver, name, since - 10, 0)
    for entry in all_entries():
        facts[f"{part(entry.since)}{entry.name}.{entry.since}"] = found(driver, entry.name, entry.since, 0)


@question("texts", needs_context=False)
def texts(driver: Driver, facts: Facts) -> None:
    """The name and the description of each code that the driver knows."""
    for code in range(HIGHEST_CODE + 1):
        for function, kind in (("cuGetErrorName", "name"), ("cuGetErrorString", "description")):
            text = ctypes.c_char_p()
            if driver.number(function, code, ctypes.byref(text)) == 0:
                facts[f"{code}.{kind}"] = text.value.decode() if text.value else None
    for function in ("cuGetErrorName", "cuGetErrorString"):
        text = ctypes.c_char_p(b"before")
        facts[f"unknown.{function}"] = driver.code(function, 123456, ctypes.byref(text))
        facts[f"unknown.{function}.text_is_null"] = text.value is None
