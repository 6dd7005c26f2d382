"""The codes of calls with handles of ended objects, and with numbers that no handle has. Most drivers crash for many of these."""

from __future__ import annotations

from collections import Counter

from ...driver import CUDA_SUCCESS, Driver
from ...entry_points import called
from ...question import Facts, series
from .arguments import INVENTED, NUMBERS
from .objects import ENDS, Objects
from .stage import retire, stage

INVENTED_FOR_EACH = 3
"""The functions of each type of handle that are asked about an invented handle."""


def handles() -> list[str]:
    """A step is the function and the parameter."""
    return [
        f"{symbol}.{parameter.name}"
        for symbol, entry in called().items()
        for parameter in entry.parameters
        if parameter.type in ENDS
    ]


@series("codes.ended_handles", handles, seconds=5)
def ended_handles(driver: Driver, facts: Facts, step: str) -> None:
    """The object ends right before the call, so that nothing else lies in its memory yet."""
    symbol, name = step.split(".")
    entry, here, ended = called()[symbol], stage(driver), Objects(driver)
    kind = next(parameter.type for parameter in entry.parameters if parameter.name == name)
    assert ended[kind]
    place = [parameter.name for parameter in entry.parameters].index(name)
    arguments = here.arguments(entry, {name: 0})
    arguments[place] = ended.end(kind)
    code = here.call(symbol, arguments)
    facts[""] = code
    if code == CUDA_SUCCESS:
        retire(driver)  # the memory of the process may be damaged


def invented() -> list[str]:
    """A few functions for each type of handle that is a pointer of the driver."""
    asked: Counter[str] = Counter()
    found = []
    for symbol, entry in called().items():
        for parameter in entry.parameters:
            if parameter.type in ENDS and parameter.type not in NUMBERS and asked[parameter.type] < INVENTED_FOR_EACH:
                asked[parameter.type] += 1
                found.append(f"{symbol}.{parameter.name}")
    return found


@series("codes.invented_handles", invented, seconds=5)
def invented_handles(driver: Driver, facts: Facts, step: str) -> None:
    symbol, name = step.split(".")
    here = stage(driver)
    code = here.call(symbol, here.arguments(called()[symbol], {name: INVENTED}))
    facts[""] = code
    if code == CUDA_SUCCESS:
        retire(driver)
