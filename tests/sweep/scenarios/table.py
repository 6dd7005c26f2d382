"""The table of scenarios, and helpers that several of them use."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import cuarray

from ..peer import KINDS, SIZE, Peer

Scenario = Callable[[Peer], None]

SCENARIOS: dict[str, Scenario] = {}

COVERED: dict[str, int] = {}
"""For some scenarios, the exact number of calls whose effect a later call of cuarray has too."""


def scenario(name: str, *, covered: int = 0) -> Callable[[Scenario], Scenario]:
    """Add a function to the table."""

    def add(function: Scenario) -> Scenario:
        assert name not in SCENARIOS, name
        SCENARIOS[name] = function
        COVERED[name] = covered
        return function

    return add


def for_each_kind(name: str, function: Callable[..., None], kinds: tuple[str, ...] = KINDS) -> None:
    """Add a function to the table once for each kind of stream."""
    for kind in kinds:
        scenario(f"{name}: {kind}")(partial(function, kind=kind))


def pinned(value: int = 2, size: int = SIZE) -> Any:
    """Return page-locked host memory, which a copy accesses when it runs, not when it is enqueued."""
    array = cuarray.pinned_array(size, "u1")
    array[...] = value
    return array


def in_a_thread(function: Callable[[], None]) -> None:
    """Run a function in another thread and wait for it."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            function()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
