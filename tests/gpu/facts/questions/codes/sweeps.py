"""The error code of every function in one situation at a time, as the sweeps of the simulator's tests ask for it.

``crates/cuarray-sim/tests/driver/error_codes`` has these sweeps. Each step is one call, since a call may crash a driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...driver import CUDA_SUCCESS, Driver
from ...entry_points import called
from ...question import Facts, series
from .arguments import wrong, zero
from .stage import changes_process, leave_contexts, retire, stage

DEFAULT_STREAM = "default_stream"

WITHOUT_STATE = ("initialization", "logs", "profiler", "coredump")
"""The groups of functions that may work before ``cuInit``. Each of their functions has its own process."""


def symbols() -> Iterable[str]:
    return called()


def ask(driver: Driver, facts: Facts, symbol: str, changed: Mapping[str, Any]) -> None:
    """Store the code of a call with valid arguments, except for those that are changed."""
    entry, here = called()[symbol], stage(driver)
    code = here.call(symbol, here.arguments(entry, changed))
    facts[""] = code
    if code == CUDA_SUCCESS and changes_process(symbol):
        retire(driver)


@series("codes.valid", symbols)
def valid_arguments(driver: Driver, facts: Facts, step: str) -> None:
    """The sweeps with one wrong argument mean something where this succeeds."""
    ask(driver, facts, step, {})


def before_init_steps() -> list[str]:
    entries = called().values()
    alone = [f"{entry.group}.{entry.symbol}" for entry in entries if entry.group in WITHOUT_STATE]
    return [*alone, *dict.fromkeys(entry.group for entry in entries if entry.group not in WITHOUT_STATE)]


@series("codes.before_init", before_init_steps, needs_context=False)
def before_init(driver: Driver, facts: Facts, step: str) -> None:
    """A step is a group of functions: no call with zeros initializes the driver, except that of ``cuInit``."""
    group, _, alone = step.partition(".")
    for symbol, entry in called().items():
        if entry.group == group and alone in ("", symbol):
            facts["" if alone else symbol] = driver.code(symbol, *map(zero, entry.parameters))


@series("codes.zeros", symbols)
def zeros(driver: Driver, facts: Facts, step: str) -> None:
    entry = called()[step]
    ask(driver, facts, step, {parameter.name: zero(parameter) for parameter in entry.parameters})


def wrong_arguments() -> list[str]:
    """A step is the function, the parameter, and the label of the wrong argument."""
    return [
        f"{symbol}.{parameter.name}.{label}"
        for symbol, entry in called().items()
        for parameter in entry.parameters
        for label in wrong(symbol, parameter)
    ]


@series("codes.one_wrong_argument", wrong_arguments)
def one_wrong_argument(driver: Driver, facts: Facts, step: str) -> None:
    symbol, name, label = step.split(".")
    parameter = next(each for each in called()[symbol].parameters if each.name == name)
    ask(driver, facts, symbol, {name: wrong(symbol, parameter)[label]})


def without_context_steps() -> list[str]:
    """Each function, and each with a stream once more, with the default stream of the missing context."""
    found = []
    for symbol, entry in called().items():
        found.append(symbol)
        if any(parameter.type == "CUstream" for parameter in entry.parameters):
            found.append(f"{symbol}.{DEFAULT_STREAM}")
    return found


@series("codes.without_context", without_context_steps)
def without_context(driver: Driver, facts: Facts, step: str) -> None:
    """``CUDA_ERROR_INVALID_CONTEXT`` is documented for 206 functions, which streams, events and addresses may make up for."""
    symbol, _, default = step.partition(".")
    entry, here, current = called()[symbol], stage(driver), driver.made("cuCtxGetCurrent")
    streams = [parameter.name for parameter in entry.parameters if parameter.type == "CUstream"]
    arguments = here.arguments(entry, dict.fromkeys(streams[:1], 0) if default else {})
    leave_contexts(driver)
    code = here.call(symbol, arguments)
    facts[""] = code
    if code == CUDA_SUCCESS and changes_process(symbol):
        retire(driver)
    else:
        driver.do("cuCtxSetCurrent", current)
