"""The one rule for pages and lists that a command generates: it compares them, and writes them with ``UPDATE=1`` only."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path


def is_updating() -> bool:
    """Whether this run may write generated files."""
    return os.environ.get("UPDATE") == "1"


def differences(file: Path, text: str) -> list[str]:
    """Compare a generated file with its text; return the lines that differ. With ``UPDATE=1``, write the file and return none."""
    if is_updating():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return []
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    found = difflib.unified_diff(before.splitlines(), text.splitlines(), str(file), "this run", lineterm="", n=0)
    return [*found, f"{file} is generated; UPDATE=1 writes it, if each difference is right"] if before != text else []


def normalized(report: str, folder: Path) -> str:
    """Remove addresses, paths and other parts of a report of a program in a folder that differ between machines and runs."""
    report = report.replace(f"{folder}/", "")
    report = re.sub(r"^(      by [\w.]+), .*$", r"\1", report, flags=re.M)
    report = re.sub(r"/\S*/(\w+)_\w{8}\.cu\b", r"\1.cu", report)
    report = re.sub(r"/\S*/(site-packages|include)/", "", report)
    report = re.sub(r" at 0x[0-9a-f]+|, line \d+ of the PTX|\.cpython-\S+", "", report)
    # Lines about the CUDA runtime, which name files.
    report = re.sub(r"^cuarray-sim: .*\n?", "", report, flags=re.M)
    return report.strip()
