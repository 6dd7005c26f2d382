"""The facts of an exchange; a mutant changes one of them.

The right library passes each value that the text determines through :func:`fact`. Without a mutant, the value is returned as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Mutant", "activate", "fact", "happens"]


class Mutant(NamedTuple):
    """A wrong library: the right one, with one rule applied to one fact."""

    #: Where the fact is, what it is: ``export.tensor.strides``.
    fact: str
    #: The change, as the page names it.
    rule: str
    change: Callable[[Any], Any]

    @property
    def name(self) -> str:
        """The name in the page."""
        return f"{self.fact}: {self.rule}"

    @property
    def role(self) -> str:
        """The side of an exchange that is wrong."""
        return "producer" if self.fact.startswith("export.") else "consumer"

    @property
    def is_of_tensors(self) -> bool:
        """Whether the fact is one of DLPack, and not of the dictionary."""
        return self.fact.split(".")[1] in ("tensor", "request", "capsule", "deleter", "device", "copy")


_active: Mutant | None = None


def activate(mutant: Mutant | None) -> None:
    """Make this process a wrong library."""
    global _active
    _active = mutant


def fact(name: str, value: Any) -> Any:
    """Return the value of a fact, which the active mutant may change."""
    return _active.change(value) if _active is not None and _active.fact == name else value


def happens(name: str, what: Any = True) -> bool:
    """Return whether a step takes place; ``what`` is the case, for a mutant that leaves it out in one case only."""
    return bool(_active.change(what)) if _active is not None and _active.fact == name else True
