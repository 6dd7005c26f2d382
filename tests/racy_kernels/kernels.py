"""The kernels of the suite, as their sources describe them.

Each file of ``kernels/`` is one class of patterns. A kernel has tags in the comment above it:

- ``// racy: NAMES``: the racy build has a race on one of these variables, which are shared variables or the kernel's
  parameters. ``// strict: NAMES; REASON``: the race is only one in the strict mode. ``// clean: REASON``: there is no racy build.
- ``// grid: BLOCKS x THREADS``, then ``cooperative`` or ``cluster N`` if the launch has these attributes.
- ``// fix: CLASS``: the class of the fix (:mod:`advice.fixes`), if the difference between the builds does not tell.
- ``// orders: ORDERS``: values of ``CUARRAY_SIM_KERNEL_ORDER``, with spaces between. The kernel runs in each of these orders.
- ``// out: EXPRESSION``, ``// data: EXPRESSION``: the first elements of a buffer after the clean build has run, in Python.

All races of a racy build are between lines that end with ``// races``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "kernels"
PRELUDE = (FOLDER / "prelude.cuh").read_text()
TAG = re.compile(r"// (racy|strict|clean|grid|orders|fix|out|data|work): (.*)")
START = re.compile(r"KERNEL\((\w+)\)")


@dataclass
class Kernel:
    """A kernel, with its clean build and, unless it is only clean, its racy one."""

    name: str
    group: str
    """The class of the pattern: the name of the file, with spaces."""
    description: str
    verdict: str
    """``racy``, ``strict`` or ``clean``."""
    variables: set[str]
    reason: str
    """The reason why only the strict mode reports it, or why it is clean."""
    blocks: int
    threads: int
    cooperative: bool
    cluster: int
    orders: tuple[str, ...]
    """The orders of blocks and warps in which the kernel runs."""
    results: dict[str, str]
    """Expressions for the elements of a buffer."""
    lines: set[int] = field(default_factory=set)
    """The lines that may race."""


@dataclass
class Source:
    """A file of kernels."""

    path: Path
    text: str
    kernels: list[Kernel]

    @property
    def name(self) -> str:
        return self.path.name

    def build(self, racy: bool, macros: str = "") -> str:
        """Return the source of one build, with macros in front of the kernels. Line numbers are those of the file."""
        lines = self.text.splitlines(keepends=True)
        # The macros of the prelude have short names, so they follow the headers.
        start = max((number for number, line in enumerate(lines, 1) if line.startswith("#include")), default=0)
        head = f'#line 1 "{self.name}"\n' + "".join(lines[:start])
        macros = ("#define RACY_BUILD\n" if racy else "") + PRELUDE + macros
        return head + macros + f'#line {start + 1} "{self.name}"\n' + "".join(lines[start:])


def read(path: Path) -> Source:
    """Read the kernels of a file."""
    source = Source(path, path.read_text(), [])
    comment: list[str] = []
    for number, line in enumerate(source.text.splitlines(), 1):
        if line.startswith("// "):
            comment.append(line)
            continue
        if start := START.match(line):
            source.kernels.append(_kernel(path, start[1], comment))
        if line.rstrip(" )").endswith("// races"):
            source.kernels[-1].lines.add(number)
        comment = []
    return source


def _kernel(path: Path, name: str, comment: list[str]) -> Kernel:
    tags = {found[1]: found[2] for line in comment if (found := TAG.fullmatch(line))}
    verdicts = [verdict for verdict in ("racy", "strict", "clean") if verdict in tags] or ["clean"]
    assert len(verdicts) == 1, f"{path.name}: {name} needs one verdict"
    assert "grid" in tags, f"{path.name}: {name} needs a grid"
    (verdict,) = verdicts
    names, _, reason = tags[verdict].partition("; ") if verdict != "clean" else ("", "", tags.get("clean", ""))
    grid = re.fullmatch(r"(\d+) x (\d+)( cooperative)?(?: cluster (\d+))?", tags["grid"])
    assert grid, f"{path.name}: {name} has the grid {tags['grid']}"
    return Kernel(
        name=name,
        group=path.stem.replace("_", " "),
        description=" ".join(line.removeprefix("// ") for line in comment if not TAG.fullmatch(line)),
        verdict=verdict,
        variables=set(names.split(", ")) - {""},
        reason=reason,
        blocks=int(grid[1]),
        threads=int(grid[2]),
        cooperative=bool(grid[3]),
        cluster=int(grid[4] or 0),
        orders=tuple(tags.get("orders", "forward").split()),
        results={buffer: tags[buffer] for buffer in ("out", "data", "work") if buffer in tags},
    )


def sources(folder: Path = FOLDER) -> list[Source]:
    """Return all files of kernels in a folder, in the order of their names."""
    return [read(path) for path in sorted(folder.glob("*.cu"))]
