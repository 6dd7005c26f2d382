"""The page docs/results/interoperability.md."""

from __future__ import annotations

import datetime
import fnmatch
import itertools
import re
from collections.abc import Sequence
from pathlib import Path

from generated import differences as page_differences
from generated import is_updating

from square.pairs import Pair

PAGE = Path(__file__).parents[2] / "docs" / "results" / "interoperability.md"
ADAPTERS = {
    "cuarray": "cuarray",
    "numba_cuda": "numba-cuda",
    "numba_cuda_mlir": "numba-cuda-mlir",
    "cupy": "CuPy",
    "pytorch": "PyTorch",
    "jax": "JAX",
    "pycuda": "PyCUDA",
    "cuda_core": "cuda.core",
    "mpi4py": "mpi4py",
    "warp": "Warp",
}
RECORDED = {
    "square.recorded.rmm": "RMM *(recorded)*",
    "square.recorded.cudf": "cuDF column *(recorded)*",
    "square.recorded.dali": "DALI *(recorded)*",
    "square.recorded.pylibraft": "pylibraft *(recorded)*",
}
#: Libraries that the environment of the square lacks, because they are large or built here, and their partners. `make square-NAME` checks their pairs.
APART = {"pylibcudf": "pylibcudf", "rmm": "RMM", "warp": "Warp with the shared runtime"}
PARTNERS = ("cuarray", "numba_cuda", "numba_cuda_mlir", "cuda_core", "mpi4py")
#: Libraries without arrays of their own, and one that imports none.
NO_PRODUCER, NO_CONSUMER = ("cuda_core", "mpi4py"), ("pycuda",)
# Warp is in the square with its wheel, and apart with the library that is built here.
NAMES = {**APART, **ADAPTERS, **RECORDED}
#: The parts of a cell: a letter, and the checks behind it.
LETTERS = {
    "L": ("layouts", "I8.*"),
    "T": ("types", "I3.*"),
    "Z": ("arrays without elements", "I5.*"),
    "R": ("the read-only flag", "I4.*"),
    "M": ("the memory of a dropped producer", "L2.*"),
    "W": ("the consumer waits for the producer", "S2.*"),
    "B": ("the producer waits for the consumer", "S3.*"),
    "D": ("order through DLPack", "DL3.*"),
}

HEAD = """# Which libraries exchange arrays

`make square UPDATE=1` writes this page. Each library of a row makes arrays, and each library of a column imports them by `__cuda_array_interface__`. The
checks are those of `cuarray check A B`, on the simulated driver, which proves the order of work.

Written on {date}, with {versions}.

A cell has a letter for each group of checks that applies. A capital letter means that all checks hold. A small letter in italics means that at least one
fails: something is lost on the way, or refused.

| letter | group |
|---|---|
{letters}

"""
TAIL = """
## Reasons

Every failure has a reason in an adapter of the kit, in its list `KNOWN` or `NOT_CLAIMED`; `make square` fails without one. `D1` to `D24` are
[disagreements](../reference/glossary.md#disagreements) of libraries with the text.

| library | reason | checks | pairs |
|---|---|---|---|
{reasons}

## Lost on the way

Failures of each producer and consumer, with the number of partners. Layouts that a consumer refuses with an error are here too.

| library | as | check | partners |
|---|---|---|---|
{lost}

## Systems that do not run here

Rows marked *recorded* replay dictionaries over memory of the kit, as the published sources build them. The libraries were not run. The modules in
[tests/square/recorded](https://github.com/cuarray/cuarray/tree/main/tests/square/recorded) name the sources.

- PyArrow's `CudaBuffer` and ArrayViews export no `__cuda_array_interface__`, so there is nothing to replay. PyArrow imports arrays
  by `Context.buffer_from_object`, which reads `shape`, `strides`, `typestr` and `data`, and neither `stream` nor `mask`. A
  [test](https://github.com/cuarray/cuarray/tree/main/tests/interop/test_arrow.py) makes the driver calls of its operations.
- mpi4py asks for DLPack first, with the stream -1, which means no synchronization. JAX takes -1 for a stream's handle, so each import of a JAX array fails with
  `CUDA_ERROR_INVALID_HANDLE` ([JAX](../findings/jax.md)).
- RMM's wheels have a static CUDA runtime, which does not start on the simulated driver. [RMM](#rmm) is built with the shared one.
- Warp's allocations and copies need such a runtime too. Its arrays are over memory of the kit here. Exports, imports, layouts and streams are Warp's.
  [A part](#warp-with-the-shared-runtime) has Warp with its own allocations and copies, by the library that `make peers-warp` builds.
"""

APART_HEAD = """
## {name}

`make square-{target} UPDATE=1` writes this part. Written on {date}, with {versions}.

"""


def is_asked(producer: str, consumer: str) -> bool:
    """Return whether a pair has checks."""
    return producer not in NO_PRODUCER and consumer not in NO_CONSUMER and consumer not in RECORDED


def cell(pair: Pair) -> str:
    """Return the letters of a pair."""
    letters = []
    for letter, (_, pattern) in LETTERS.items():
        if fnmatch.filter(pair.failed, pattern):
            letters.append(f"*{letter.lower()}*")
        elif fnmatch.filter(pair.passed, pattern):
            letters.append(letter)
    return " ".join(letters) or "-"


def table(pairs: Sequence[Pair]) -> list[str]:
    """Return the square."""
    cells = {(pair.producer, pair.consumer): cell(pair) for pair in pairs}
    producers = list(dict.fromkeys(pair.producer for pair in pairs))
    consumers = list(dict.fromkeys(pair.consumer for pair in pairs))
    lines = [
        f"| producer ↓ consumer → | {' | '.join(NAMES[each] for each in consumers)} |",
        "|---" * (len(consumers) + 1) + "|",
    ]
    for producer in producers:
        row = [cells.get((producer, consumer), "") for consumer in consumers]
        lines.append(f"| {NAMES[producer]} | {' | '.join(row)} |")
    return lines


def write(pairs: Sequence[Pair], date: datetime.date) -> str:
    """Return the page."""
    versions = sorted(
        {version for pair in pairs for version in pair.versions if "recorded" not in version}, key=str.lower
    )
    letters = "\n".join(f"| {letter} | {meaning} |" for letter, (meaning, _) in LETTERS.items())
    head = HEAD.format(date=date, versions=", ".join(versions), letters=letters)
    return (
        head
        + "\n".join(table(pairs))
        + "\n"
        + TAIL.format(reasons="\n".join(_reasons(pairs)), lost="\n".join(_lost(pairs)))
        + _parts_apart(PAGE.read_text(encoding="utf-8") if PAGE.exists() else "")
    )


def _parts_apart(text: str) -> str:
    """Return the end of the page, which has the libraries apart."""
    starts = [at for name in APART.values() if (at := text.find(f"\n## {name}\n")) >= 0]
    return text[min(starts) :] if starts else ""


def write_apart(adapter: str, pairs: Sequence[Pair], date: datetime.date) -> str:
    """Return the part of the page of a library apart: a row as a producer, one as a consumer, and the reasons of failures."""
    versions = sorted({version for pair in pairs for version in pair.versions}, key=str.lower)
    cells = {(pair.producer, pair.consumer): cell(pair) for pair in pairs}
    partners = [adapter, *PARTNERS]
    rows = {
        "as a producer →": [cells.get((adapter, each), "") for each in partners],
        "as a consumer ←": [cells.get((each, adapter), "") for each in partners],
    }
    lines = [
        f"| {APART[adapter]} | {' | '.join(NAMES[each] for each in partners)} |",
        "|---" * (len(partners) + 1) + "|",
    ]
    lines += [f"| {role} | {' | '.join(row)} |" for role, row in rows.items()]
    lines += ["", "| library | reason | checks | pairs |", "|---|---|---|---|", *_reasons(pairs)]
    head = APART_HEAD.format(
        name=APART[adapter], target=adapter.replace("_", "-"), date=date, versions=", ".join(versions)
    )
    return head + "\n".join(lines) + "\n"


def compare_apart(adapter: str, pairs: Sequence[Pair]) -> list[str]:
    """Compare the part of a library apart, and write it with ``UPDATE=1``. A failure without a reason is a difference too."""
    text = PAGE.read_text(encoding="utf-8")
    start = text.find(f"\n## {APART[adapter]}\n")
    before, part = (text, "") if start < 0 else (text[:start], text[start:])
    following = part.find("\n## ", 1)
    part, after = (part, "") if following < 0 else (part[:following], part[following:])
    date = datetime.date.today()
    if not is_updating() and (written := re.search(r"Written on (\S+),", part)):
        date = datetime.date.fromisoformat(written[1])
    found = page_differences(PAGE, before + write_apart(adapter, pairs, date) + after)
    unexplained = [
        f"{NAMES[pair.producer]} → {NAMES[pair.consumer]}: no adapter gives a reason for {', '.join(pair.unexplained)}"
        for pair in pairs
        if pair.unexplained
    ]
    return [*found, *unexplained]


def _reasons(pairs: Sequence[Pair]) -> list[str]:
    """Return a line for each reason: its library, the failed checks without their cases, and the number of pairs."""
    found: dict[str, tuple[set[str], set[tuple[str, str]]]] = {}
    for pair in pairs:
        for check, reason in pair.reasons.items():
            checks, partners = found.setdefault(reason, (set(), set()))
            checks.add(".".join(check.split(".")[:2]))
            partners.add((pair.producer, pair.consumer))
    lines = []
    for reason in sorted(found, key=str.lower):
        library, _, text = reason.partition(": ")
        checks, partners = found[reason]
        names = ", ".join(f"`{check}`" for check in sorted(checks))
        lines.append(f"| {library} | {_linked(text)} | {names} | {len(partners)} |")
    return lines


def _linked(reason: str) -> str:
    """Return a reason with a link in place of a page's path."""
    return re.sub(r"docs/((?:findings|explanation)/([\w-]+)\.md)", r"[\2](../\1)", reason)


def _lost(pairs: Sequence[Pair]) -> list[str]:
    """Return a line for each check that fails with at least half of the partners of a library."""
    lines = []
    for role, name in itertools.product(("producer", "consumer"), NAMES):
        own = [pair for pair in pairs if getattr(pair, role) == name]
        counts: dict[str, int] = {}
        for pair in own:
            for check in pair.failed:
                counts[check] = counts.get(check, 0) + 1
        lines += [
            f"| {NAMES[name]} | {role} | `{check}` | {count} of {len(own)} |"
            for check, count in sorted(counts.items())
            if 2 * count >= len(own)
        ]
    return lines


def compare(pairs: Sequence[Pair]) -> list[str]:
    """Compare the whole page, and write it with ``UPDATE=1``. Its date is that of the last update."""
    date = datetime.date.today()
    if not is_updating() and (
        written := re.search(r"^Written on (\S+),", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    ):
        date = datetime.date.fromisoformat(written[1])
    return page_differences(PAGE, write(pairs, date))


def differences(pairs: Sequence[Pair], text: str) -> list[str]:
    """Return a line for each cell that differs from the page's, by the names of its row and column."""
    rows = [
        [part.strip() for part in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")
    ]
    start = next((index for index, row in enumerate(rows) if row[0].startswith("producer ↓")), None)
    if start is None:
        return ["the page has no square"]
    columns = rows[start]
    written = {
        (row[0], name): part
        for row in rows[start + 1 :]
        if len(row) == len(columns)
        for name, part in zip(columns, row, strict=True)
    }
    found = []
    for pair in pairs:
        names = (NAMES[pair.producer], NAMES[pair.consumer])
        if written.get(names) != cell(pair):
            seen = "; ".join(
                f"{check}: {re.sub(r'0x[0-9a-f]+', '…', message)}" for check, message in pair.failed.items()
            )
            found.append(f"{names[0]} → {names[1]}: {cell(pair)}, and the page says {written.get(names)} ({seen})")
        if pair.unexplained:
            found.append(f"{names[0]} → {names[1]}: no adapter gives a reason for {', '.join(pair.unexplained)}")
    return found
