"""Questions that hang, crash and break their context, for the rehearsal. Each may cost one answer only, also within a series."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from ..driver import Driver, kernels
from ..question import Facts, series

BAD = {"hang": "took too long", "crash": "its process ended by SIGABRT"}
"""The steps without an answer, each with the reason."""


def steps() -> Iterable[str]:
    return ["before", "hang", "after_the_hang", "crash", "after_the_crash", "dead_context", "after_the_dead_context"]


@series("planted.step", steps, seconds=3.0)
def step(driver: Driver, facts: Facts, step: str) -> None:
    if step == "hang":
        time.sleep(3600)
    if step == "crash":
        os.abort()
    if step == "dead_context":
        driver.launch(driver.function(driver.module(kernels(".visible .entry stop() { trap; }")), "stop"))
    facts[""] = driver.is_usable()
