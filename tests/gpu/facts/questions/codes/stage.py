"""A process in which any function of the driver can be called, again and again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...driver import CUDA_SUCCESS, Driver
from ...entry_points import EntryPoint, words
from .arguments import valid
from .objects import Objects

CHANGES = words(
    "cuCtx cuDevicePrimaryCtx cuStreamBegin cuDeviceSet cuDeviceRegister cuMemSetMemPool cuThread cuCoredumpSet "
    "cuLogs cuProfiler"
)


def changes_process(symbol: str) -> bool:
    """Whether a call that succeeds changes a setting of the process, the device or the thread."""
    return any(symbol.startswith(start) for start in CHANGES) and "Get" not in symbol


MOST_CONTEXTS = 8
"""More contexts than a step pushes to the stack of its thread."""


class Stage:
    """Live objects, and calls with them."""

    def __init__(self, driver: Driver) -> None:
        self.driver, self.objects = driver, Objects(driver)

    def arguments(self, entry: EntryPoint, changed: Mapping[str, Any]) -> list[Any]:
        """Valid arguments, except for those that are changed."""
        made = dict(changed)
        # An executable graph is made after the nodes that it has to contain.
        for parameter in sorted(entry.parameters, key=lambda each: each.type == "CUgraphExec"):
            if parameter.name not in made:
                made[parameter.name] = valid(self.objects, entry.symbol, parameter)
        return [made[parameter.name] for parameter in entry.parameters]

    def call(self, symbol: str, arguments: list[Any]) -> str:
        """Call a function. If it succeeds, it may have ended or changed an object, so the next call gets others."""
        code = self.driver.code(symbol, *arguments)
        if code == CUDA_SUCCESS:
            self.objects = Objects(self.driver)
        return code


STAGES: dict[int, Stage] = {}


def stage(driver: Driver) -> Stage:
    """The stage of this process, which the steps of all series share."""
    if id(driver) not in STAGES:
        STAGES[id(driver)] = Stage(driver)
    return STAGES[id(driver)]


def leave_contexts(driver: Driver) -> None:
    """Leave this thread without a current context. A null context replaces the top of the thread's stack only."""
    for _ in range(MOST_CONTEXTS):
        driver.number("cuCtxSetCurrent", 0)


def retire(driver: Driver) -> None:
    """Let the next step have a new process: one without a current context is not used again."""
    leave_contexts(driver)
