"""The cases of the suite, as their sources describe them.

Each file of ``kernels/`` is one class of errors. A case is a kernel with two builds: ``WRONG(...)`` is present in the wrong one, and
``RIGHT(...)`` in the right one. A case has tags in the comment above it:

- ``// error: WORDS``: the wrong build has a finding whose advice has these words. ``// clean: REASON``: there is no wrong build.
- ``// kind: KIND``: the kind of the finding, if it is no ``synchronization-error``.
- ``// fix: CLASS``: the class of the fix (:mod:`advice.fixes`), if the difference between the builds does not tell.
- ``// grid: BLOCKS x THREADS``, then ``cooperative`` if the launch is.
- ``// out: EXPRESSION``: the first elements of ``out`` after the right build has run, in Python.

The finding names a line that ends with ``// error``, or, in a function above the kernels, with ``// error of CASE``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from racy_kernels.kernels import Source

FOLDER = Path(__file__).parent / "kernels"
MACROS = "#define RIGHT CLEAN\n#define WRONG RACY\n#define FULL 0xffffffffu\n"
TAG = re.compile(r"// (error|clean|kind|grid|fix|out): (.*)")
START = re.compile(r"KERNEL\((\w+)\)")


@dataclass
class Case:
    """A kernel with its right build and, unless it is only right, its wrong one."""

    name: str
    group: str
    """The class of the error: the name of the file, with spaces."""
    description: str
    words: str | None
    """Words of the advice; ``None`` if there is no wrong build."""
    kind: str
    reason: str
    """The reason why a case without a wrong build is right."""
    blocks: int
    threads: int
    cooperative: bool
    results: dict[str, str]
    """Expressions for the elements of a buffer."""
    cluster: int = 0
    lines: set[int] = field(default_factory=set)
    """The lines of the error."""


def read(path: Path) -> tuple[Source, list[Case]]:
    """Read the cases of a file."""
    source, cases = Source(path, path.read_text(encoding="utf-8"), []), []
    comment: list[str] = []
    elsewhere: dict[str, set[int]] = {}
    for number, line in enumerate(source.text.splitlines(), 1):
        if line.startswith("// "):
            comment.append(line)
            continue
        if start := START.match(line):
            cases.append(_case(path, start[1], comment))
        if line.endswith("// error"):
            cases[-1].lines.add(number)
        if of := re.search(r"// error of (\w+)$", line):
            elsewhere.setdefault(of[1], set()).add(number)
        comment = []
    for case in cases:
        case.lines |= elsewhere.get(case.name, set())
    return source, cases


def _case(path: Path, name: str, comment: list[str]) -> Case:
    tags = {found[1]: found[2] for line in comment if (found := TAG.fullmatch(line))}
    assert ("error" in tags) != ("clean" in tags), f"{path.name}: {name} needs an error, or a reason why it is clean"
    grid = re.fullmatch(r"(\d+) x (\d+)( cooperative)?", tags.get("grid", ""))
    assert grid, f"{path.name}: {name} has the grid {tags.get('grid')}"
    return Case(
        name=name,
        group=path.stem.replace("_", " "),
        description=" ".join(line.removeprefix("// ") for line in comment if not TAG.fullmatch(line)),
        words=tags.get("error"),
        kind=tags.get("kind", "synchronization-error"),
        reason=tags.get("clean", ""),
        blocks=int(grid[1]),
        threads=int(grid[2]),
        cooperative=bool(grid[3]),
        results={"out": tags["out"]} if "out" in tags else {},
    )


def files() -> list[tuple[Source, list[Case]]]:
    """Return all files with their cases, in the order of their names."""
    return [read(path) for path in sorted(FOLDER.glob("*.cu"))]
