"""The record of a check's calls, as a program that shows its failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cuarray.check.outcome import Outcome
    from cuarray.check.registry import Check

__all__ = ["Recorder", "Script"]

#: The variable that holds the result of a function.
_RESULTS = {
    "make": "array",
    "make_in": "array",
    "pending": "array",
    "import_": "imported",
    "from_dlpack": "imported",
    "read": "elements",
    "new_stream": "stream",
    "values": "data",
    "pattern": "expected",
    "read_by_the_text": "elements",
    "bytes_at": "elements",
    "gather": "elements",
}
_WITHOUT_RESULT = ("write", "close", "fill", "hold", "wait")
_LITERALS = (int, float, str, bool, type(None))


class Script:
    """The lines of the program so far. Names of objects are kept, and the objects are not."""

    def __init__(self, adapters: Mapping[str, str], record: str | None = None) -> None:
        #: The modules of the adapters, by their names in the program.
        self.adapters = adapters
        #: A file that gets each line before it runs, for a process that does not survive it.
        self.file = record
        self.lines: list[str] = []
        self._names: dict[int, str] = {}
        self._numbers: Counter[str] = Counter()

    def add(self, line: str) -> None:
        """Add a line."""
        self.lines.append(line)
        if self.file is not None:
            with open(self.file, "a", encoding="utf-8") as file:
                file.write(f"{line}\n")

    def record(self, kind: str, expression: str, evaluate: Callable[[], Any]) -> Any:
        """Add a line that evaluates an expression, and evaluate it; an exception leaves the line as the last one."""
        if not kind:
            self.add(expression)
            return evaluate()
        self._numbers[kind] += 1
        number = self._numbers[kind]
        name = kind if number == 1 else f"{kind}{number}"
        self.add(f"{name} = {expression}")
        value = evaluate()
        if not isinstance(value, _LITERALS):
            self._names[id(value)] = name
        return value

    def name(self, value: Any) -> str:
        """Return the expression for an argument: the variable that holds it, or a literal."""
        if isinstance(value, _LITERALS):
            return repr(value)
        if id(value) in self._names:
            return self._names[id(value)]
        if type(value) in (tuple, list):
            entries = ", ".join(self.name(each) for each in value)
            comma = "," if type(value) is tuple and len(value) == 1 else ""
            return f"({entries}{comma})" if type(value) is tuple else f"[{entries}]"
        if type(value) is dict:
            return "{" + ", ".join(f"{key!r}: {self.name(each)}" for key, each in value.items()) + "}"
        if isinstance(value, bytes):
            return repr(value) if len(value) <= 16 else f"bytes({len(value)})"
        # The repr of a library's array may read its elements.
        return f"<{type(value).__name__}>"

    def program(self, check: Check, outcome: Outcome) -> str:
        """Return the whole program."""
        lines = [
            f"# {check.id}: {check.title}",
            *(f"import {module} as {name}" for name, module in self.adapters.items()),
            "from cuarray.check import parts",
            "",
            *self.lines,
            *(f"# {line}" for line in outcome.message.splitlines()[:4]),
        ]
        return "\n".join(lines) + "\n"


class Recorder:
    """The functions of a module; each call is recorded."""

    def __init__(self, script: Script, module: str, find: Callable[[str], Any]) -> None:
        self._script, self._module, self._find = script, module, find

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = self._find(name)

        def call(*arguments: Any, **options: Any) -> Any:
            script = self._script
            given = [*map(script.name, arguments), *(f"{key}={script.name(each)}" for key, each in options.items())]
            kind = "" if name in _WITHOUT_RESULT else _RESULTS.get(name, name)
            return script.record(
                kind, f"{self._module}.{name}({', '.join(given)})", lambda: function(*arguments, **options)
            )

        return call
