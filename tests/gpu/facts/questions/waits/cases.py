"""Which calls return while a stream is held. The manual states it for few calls (docs/reference/simulator.md, *When work runs*)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

from ...driver import Driver
from ...gates import Call, finish, held, stream_of
from ...question import Facts, question, series

KIB, MIB = 1 << 10, 1 << 20

RETURNS = 0.5
"""The seconds in which a call that waits for nothing has surely returned."""

Case = Iterator[Any]
"""A case prepares itself, yields, and is continued with the stream held; then it yields the call."""


class Cases(dict[str, Callable[[Driver, int], Case]]):
    """The cases of one series."""

    def add(self, made: Callable[[Driver, int], Case]) -> Callable[[Driver, int], Case]:
        self[made.__name__] = made
        return made

    def simple(self, name: str, function: str, *arguments: Any) -> None:
        """A call that needs no preparation, and makes nothing or a handle that is kept."""
        self[name] = lambda driver, stream: iter((None, lambda: driver.code(function, *arguments)))

    def declare(self, name: str) -> None:
        """Declare the series."""

        @series(name, lambda: self)
        def answer(driver: Driver, facts: Facts, step: str) -> None:
            """Whether a call returns while a non-blocking stream is held, or a blocking one, which holds later legacy work too."""
            for kind in ("non_blocking", "blocking"):
                stream = stream_of(driver, kind)
                prepared = self[step](driver, stream)
                next(prepared)
                finish(driver)
                with held(driver, stream):
                    call = Call(driver, next(prepared))
                    facts[f"returns_while_a_{kind}_stream_is_held"] = call.returned(RETURNS)
                call.returned(10)
                facts[f"result_{kind}"] = call.result
                finish(driver)


def place(kind: Any = ctypes.c_void_p) -> Any:
    return ctypes.byref(kind())


def fill(driver: Driver, memory: int, stream: int) -> None:
    driver.do("cuMemsetD8Async", memory, 1, KIB, stream)


@question("waits.destroy_the_held_stream")
def destroy_held(driver: Driver, facts: Facts) -> None:
    stream = driver.stream()
    with held(driver, stream):
        call = Call(driver, lambda: driver.code("cuStreamDestroy_v2", stream))
        facts["returns_while_held"] = call.returned(RETURNS)
    call.returned(10)
    facts["result"] = call.result
    finish(driver)
