"""The list of all checks: :func:`check` adds a function to it."""

from __future__ import annotations

import fnmatch
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from cuarray.check.clauses import CLAUSES, DISAGREEMENTS, Level

if TYPE_CHECKING:
    from cuarray.check.trial import Trial

__all__ = ["Check", "all_checks", "check", "find", "select"]

_CHECKS: dict[str, Check] = {}


@dataclass(frozen=True)
class Check:
    """A check: its function, and what a report says about it."""

    #: The clause, a dot, and the name; for example ``P1.exported-stream-covers-own-work``.
    id: str
    clause: str
    #: The requirement in one sentence.
    title: str
    level: Level
    #: The parts of a library that it belongs to; it does not run if one is not claimed.
    parts: tuple[str, ...]
    #: The functions of the adapter that it needs.
    needs: tuple[str, ...]
    #: The disagreement of real libraries that it shows, if it fails.
    known: str | None
    #: The correction of the usual cause.
    advice: str
    #: The kinds of findings that fail it on the simulated driver.
    findings: tuple[str, ...]
    function: Callable[..., None]
    #: The functions that the consumer's adapter needs, for a check of two libraries; None for a check of one.
    consumer_needs: tuple[str, ...] | None = None
    #: The argument of a check with cases.
    argument: tuple[Any, ...] = ()
    #: The checks of one library, of the producer and of the consumer, whose failure explains that of a pair.
    of_producer: tuple[str, ...] = ()
    of_consumer: tuple[str, ...] = ()

    def run(self, trial: Trial) -> None:
        """Run the check; a failure is an exception."""
        self.function(trial, *self.argument)


#: Findings about the order of work and the lifetime of memory and streams.
ORDER = (
    "data-race",
    "use-after-free",
    "use-before-allocation",
    "free-before-pending-work",
    "destroyed-handle",
    "captured-stream-synchronized",
    "out-of-bounds",
)


def check(
    clause: str,
    parts: str,
    *,
    needs: str,
    level: Level = Level.MUST,
    known: str | None = None,
    advice: str = "",
    findings: Sequence[str] = ORDER,
    cases: Mapping[str, Any] | None = None,
    consumer: str | None = None,
    of_producer: str = "",
    of_consumer: str = "",
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a check. ``parts`` and ``needs`` are names separated by spaces, and each entry of ``cases`` is a separate check.

    ``consumer`` names the functions of the second adapter, for a check of two libraries. ``of_producer`` and ``of_consumer`` name
    the checks of one library that test its side; ``{case}`` stands for the case.
    """
    if clause not in CLAUSES or (known is not None and known not in DISAGREEMENTS):
        raise ValueError(f"{clause!r} or {known!r} is unknown")

    def register(function: Callable[..., None]) -> Callable[..., None]:
        name = function.__name__.replace("_", "-")
        title = (inspect.getdoc(function) or "").partition("\n")[0]
        for case, argument in cases.items() if cases else [("", None)]:
            number = f"{clause}.{name}" + (f".{case}" if case else "")
            if number in _CHECKS:
                raise ValueError(f"two checks are named {number}")
            _CHECKS[number] = Check(
                number,
                clause,
                title.format(case=case) if case else title,
                level,
                tuple(parts.split()),
                tuple(needs.split()),
                known,
                advice,
                tuple(findings),
                function,
                None if consumer is None else tuple(consumer.split()),
                (argument,) if case else (),
                tuple(of_producer.format(case=case).split()),
                tuple(of_consumer.format(case=case).split()),
            )
        return function

    return register


@cache
def _load() -> None:
    from cuarray.check import checks

    for module in sorted(each.name for each in pkgutil.iter_modules(checks.__path__)):
        importlib.import_module(f"{checks.__name__}.{module}")


def all_checks(*, pairs: bool = False) -> list[Check]:
    """Return all checks of one library, or of two, in the order of the report."""
    _load()
    return [each for each in _CHECKS.values() if (each.consumer_needs is not None) == pairs]


def find(name: str) -> Check:
    """Return the check of a name."""
    _load()
    return _CHECKS[name]


def select(only: Iterable[str] | None, *, pairs: bool = False) -> list[Check]:
    """Return the checks of these clauses, or whose names match these patterns; all of them for None.

    :raises ValueError: a pattern matches no check.
    """
    if not only:
        return all_checks(pairs=pairs)
    chosen: list[Check] = []
    for pattern in only:
        found = [
            each
            for each in all_checks(pairs=pairs)
            if pattern in (each.clause, each.id, *each.parts)
            or fnmatch.fnmatchcase(each.id, pattern)
            or each.id.startswith(f"{pattern}.")
        ]
        if not found:
            raise ValueError(f"no check has the name, clause or part {pattern!r}; --list shows all")
        chosen += [each for each in found if each not in chosen]
    return chosen
