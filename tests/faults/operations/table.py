"""The table of operations, and the public names that they cover."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cuarray

__all__ = ["OPERATIONS", "Attempt", "Operation", "operation", "public_names"]

#: Runs an operation once, and returns a value to compare. The objects of its closure are watched for references.
Attempt = Callable[[], Any]


@dataclass(frozen=True)
class Operation:
    """An operation of the package."""

    name: str
    covers: tuple[str, ...]
    """The public names that it calls."""
    prepare: Callable[[], Attempt]
    """Prepares an attempt. No fault is injected meanwhile."""


OPERATIONS: dict[str, Operation] = {}


def operation(name: str, *covers: str) -> Callable[[Callable[[], Attempt]], Callable[[], Attempt]]:
    """Add an operation to the table. Without ``covers``, it covers the public name ``name``."""

    def add(prepare: Callable[[], Attempt]) -> Callable[[], Attempt]:
        assert name not in OPERATIONS, name
        OPERATIONS[name] = Operation(name, covers or (name,), prepare)
        return prepare

    return add


#: Names that every class has.
_COMMON = {"__doc__", "__module__", "__weakref__", "__lt__", "__le__", "__gt__", "__ge__"}


def public_names() -> set[str]:
    """Return the functions of the package, and the methods and properties of its classes."""
    names: set[str] = set()
    for name in cuarray.__all__:
        value = getattr(cuarray, name)
        if isinstance(value, type):
            names.update(f"{name}.{member}" for member in vars(value) if member not in _COMMON)
        elif callable(value):
            names.add(name)
    return names
