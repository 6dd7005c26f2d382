"""The one rule for pages and lists that a command generates: it compares them, and writes them with ``UPDATE=1`` only."""

from __future__ import annotations

import difflib
import os
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
