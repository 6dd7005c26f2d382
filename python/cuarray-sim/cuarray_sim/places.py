"""The user's line of a finding or of a leak, for lists that have one line for each: pytest's summary, GitHub, and ``cuarray-sim diff``."""

from __future__ import annotations

import os
from pathlib import PurePath

from .findings_report import Finding, Frame, KernelPlace, Site, SourceLine

__all__ = ["command", "line_of_finding", "line_of_site", "shown"]

Line = Frame | SourceLine


def line_of_finding(finding: Finding) -> Line | None:
    """Return the most telling line: of the later call before the earlier one, and of a kernel before its launch."""
    lines = (line_of_site(side["site"], side["place"]) for side in reversed(finding["sides"]))
    return next(filter(None, lines), None)


def line_of_site(site: Site, kernel: KernelPlace | None = None) -> Line | None:
    """Return the line of a call, outside of installed packages if possible."""
    native = site["native"]
    of_kernel = [kernel["source"], kernel["inlined_at"]] if kernel else []
    lines = list(filter(None, [*of_kernel, site["user"], site["innermost"], native and native["source"]]))
    return next((line for line in lines if not _is_installed(line["file"])), lines[0] if lines else None)


def _is_installed(file: str) -> bool:
    return "/include/" in file or "-packages/" in file


def shown(line: Line | None, before: str = "") -> str:
    """Return ``file:line`` after a word, with the file named from the current folder; nothing without a line."""
    return "" if line is None else f"{before}{_below(line['file'], os.getcwd())}:{line['line']}"


def command(kind: str, line: Line | None, message: str) -> str:
    """Return the command of a workflow by which GitHub shows a message beside a line."""
    root = os.environ.get("GITHUB_WORKSPACE", os.getcwd())
    place = "" if line is None else f"file={_escaped(_below(line['file'], root), ':,')},line={line['line']},"
    return f"::error {place}title=cuarray-sim {kind}::{_escaped(message)}"


def _below(file: str, root: str) -> str:
    path = PurePath(file)
    return str(path.relative_to(root)) if path.is_relative_to(root) else file


def _escaped(text: str, more: str = "") -> str:
    return "".join(f"%{ord(each):02X}" if each in "%\r\n" + more else each for each in text)
