"""The paths between modules that Rust sources write: ``use`` declarations, and paths from ``crate`` or ``super`` in the code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

# Comments, string literals and character literals hold no paths. A lifetime looks like an open character literal.
NO_CODE = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | b?r(?P<hashes>\#*)".*?"(?P=hashes) | [bc]?"(?:\\.|[^"\\])*" | b?'(?:\\.[^']*|[^'\\\n])'""",
    re.VERBOSE | re.DOTALL,
)
USE = re.compile(r"^[ ]*(?P<public>pub(?:\([^)]*\))?\s+)?use\s+(?P<tree>[^;]+);", re.MULTILINE)
PATH = re.compile(r"(?<![\w:])\$?(?P<path>(?:crate|super)(?:::\w+)+)")
TEST_MODULE = re.compile(
    r"^(?P<indent> *)#\[cfg\([^\n]*\btest\b[^\n]*\)\]\n(?: *#\[[^\n]*\]\n)*(?P=indent)(?:pub )?mod \w+ \{.*?^(?P=indent)\}",
    re.MULTILINE | re.DOTALL,
)
INLINE_MODULE = re.compile(
    r"^(?P<indent> *)(?:pub(?:\([^)]*\))? )?mod (?P<name>\w+) \{\n.*?^(?P=indent)\}", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Reference:
    """A path as it is written, and its line."""

    path: tuple[str, ...]
    line: int
    public: bool = False


def without_comments(text: str) -> str:
    """Return the text with comments and literals blanked out, and with the same line numbers."""
    return NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def leaves(tree: str) -> Iterator[tuple[str, ...]]:
    """The paths of a tree such as ``a::{b, c::{self, D as E}}``, with the original name for an alias."""
    tree = tree.strip()
    opening = tree.find("{")
    if opening < 0:
        path = tuple(part.strip() for part in re.sub(r"\s+as\s+\w+$", "", tree).split("::"))
        yield path[:-1] if path[-1] == "self" else path
        return
    before = tuple(part.strip() for part in tree[:opening].split("::") if part.strip())
    depth, start = 0, opening + 1
    for at in range(opening + 1, len(tree)):
        character = tree[at]
        if (character == "," or character == "}") and depth == 0:
            if tree[start:at].strip():
                yield from (before + leaf for leaf in leaves(tree[start:at]))
            start = at + 1
        depth += (character == "{") - (character == "}")


@dataclass(frozen=True)
class Source:
    """A Rust file and the path of its module."""

    file: Path
    root: Path

    @cached_property
    def module(self) -> tuple[str, ...]:
        parts = self.file.relative_to(self.root).with_suffix("").parts
        return parts[:-1] if parts[-1] in ("mod", "lib") else parts

    @cached_property
    def code(self) -> str:
        """The text of the file without its test modules."""
        text = without_comments(self.file.read_text())
        return TEST_MODULE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)

    @cached_property
    def inline_modules(self) -> list[re.Match[str]]:
        return list(INLINE_MODULE.finditer(self.code))

    def module_at(self, offset: int) -> tuple[str, ...]:
        """The module that a place in the file is in, inline modules included."""
        inline = (found["name"] for found in self.inline_modules if found.start() <= offset < found.end())
        return self.module + tuple(inline)

    def absolute(self, path: tuple[str, ...], offset: int) -> tuple[str, ...] | None:
        """The path from the root of the crate; ``None`` if it leads out of the crate or begins with an imported name."""
        if path[0] == "crate":
            return path[1:]
        at = self.module_at(offset)
        if path[0] == "self":
            return at + path[1:]
        while path and path[0] == "super":
            at, path = at[:-1], path[1:]
            if path and path[0] != "super":
                return at + path
        return at if not path else None

    @cached_property
    def references(self) -> list[Reference]:
        """Every path that begins with ``crate``, ``self`` or ``super``, from the root of the crate."""
        found = []
        for use in USE.finditer(self.code):
            line = self.code.count("\n", 0, use.start()) + 1
            for leaf in leaves(use["tree"]):
                path = self.absolute(leaf, use.start()) if leaf else None
                if path:
                    found.append(Reference(path, line, bool(use["public"])))
        rest = USE.sub(lambda use: re.sub(r"[^\n]", " ", use.group()), self.code)
        for inline in PATH.finditer(rest):
            path = self.absolute(tuple(inline["path"].split("::")), inline.start())
            if path:
                found.append(Reference(path, rest.count("\n", 0, inline.start()) + 1))
        return found

    @cached_property
    def exports(self) -> list[tuple[str, tuple[str, ...]]]:
        """The names that the file makes available under itself: ``pub use a::b::Name`` as ``Name`` and ``a::b::Name``."""
        found = []
        for use in USE.finditer(self.code):
            renamed = dict(re.findall(r"(\w+)\s+as\s+(\w+)", use["tree"]))
            for leaf in leaves(use["tree"]):
                if use["public"] and leaf and leaf[0] not in ("crate", "super"):
                    name = renamed.get(leaf[-1], leaf[-1])
                    found.append((name, self.module + (leaf[1:] if leaf[0] == "self" else leaf)))
        return found


@cache
def sources(root: Path) -> list[Source]:
    """Return all files of a crate except its tests."""
    files = (file for file in sorted(root.rglob("*.rs")) if "tests" not in file.relative_to(root).with_suffix("").parts)
    return [Source(file, root) for file in files]
