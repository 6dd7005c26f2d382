"""Changes of modules right after their import."""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

__all__ = ["after_import", "execute_then"]


def after_import(name: str, change: Callable[[ModuleType], None]) -> None:
    """Call a function with the module of a name once it is imported. A second call with one function has no effect."""
    finder = next((finder for finder in sys.meta_path if isinstance(finder, _Finder) and finder.name == name), None)
    if finder is None:
        finder = _Finder(name)
        sys.meta_path.insert(0, finder)
    if change not in finder.changes:
        finder.changes.append(change)


def execute_then(loader: Any, change: Callable[[ModuleType], None]) -> None:
    """Make a loader change a module after its execution."""
    execute = loader.exec_module

    def execute_and_change(module: ModuleType) -> None:
        execute(module)
        change(module)

    loader.exec_module = execute_and_change


class _Finder:
    """Finds a module as the other finders do, with a loader that changes it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.changes: list[Callable[[ModuleType], None]] = []

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self.name:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    execute_then(spec.loader, self._change)
                return spec
        return None

    def _change(self, module: ModuleType) -> None:
        for change in self.changes:
            change(module)
