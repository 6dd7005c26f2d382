"""The names that tests use: as usual, and with a wrong argument, which is a call inside of `pytest.raises`."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path


def _raises(statement: ast.With) -> bool:
    calls = (item.context_expr for item in statement.items)
    return any(
        isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "raises"
        for call in calls
    )


class Uses(ast.NodeVisitor):
    """Collects names. Strings count as used names, because tests get members by their names."""

    def __init__(self) -> None:
        self.usual: set[str] = set()
        self.wrong: set[str] = set()
        self._refused = False

    def _add(self, name: str) -> None:
        if not self._refused:
            self.usual.add(name)

    def visit_With(self, node: ast.With) -> None:
        if not _raises(node):
            self.generic_visit(node)
            return
        before, self._refused = self._refused, True
        for statement in node.body:
            self.visit(statement)
        self._refused = before

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else None
        if name and self._refused:
            self.wrong.add(name)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._add(node.attr)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self._add(node.id)

    def visit_keyword(self, node: ast.keyword) -> None:
        self._add(node.arg or "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._add(node.value)


def of(paths: Iterable[Path]) -> Uses:
    """The names that the tests of these files use."""
    uses = Uses()
    for path in paths:
        uses.visit(ast.parse(path.read_text(encoding="utf-8")))
    return uses
