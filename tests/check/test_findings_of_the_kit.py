"""Each program of docs/findings prints what its page shows, so a corrected library fails its test."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from documents.blocks import blocks, commands, fits

PAGES = sorted((Path(__file__).parents[2] / "docs" / "findings").glob("*.md"))


class Defect(NamedTuple):
    """A program of a page, and the output and exit status that the page shows."""

    page: Path
    file: str
    source: str
    command: str
    output: str
    status: int


def defects() -> list[Defect]:
    found, files = [], {}
    for page in PAGES:
        for block in blocks(page, page.read_text()):
            if block.file:
                files[block.file] = block.text
                continue
            shown = commands(block.text) if block.language == "console" else []
            for number, command in enumerate(shown):
                file = shlex.split(command.text)[-1]
                if file in files:
                    asks = number + 1 < len(shown) and shown[number + 1].text == "echo $?"
                    status = int(shown[number + 1].output) if asks else 0
                    found.append(Defect(page, file, files[file], command.text, command.output, status))
    return found


@pytest.mark.parametrize("defect", defects(), ids=lambda defect: f"{defect.page.stem}-{defect.file}")
def test_program_shows_the_documented_defect(driver_kind: str, defect: Defect, tmp_path: Path) -> None:
    for name in re.findall(r"^(?:from|import) (\w+)", defect.source, re.M):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    (tmp_path / defect.file).write_text(defect.source)
    program, *arguments = shlex.split(defect.command)
    assert program == "python"
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path
    )
    # A shell reports the end by a signal as 128 and its number.
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    assert status == defect.status, done.stderr
    assert fits(defect.output, done.stdout), done.stdout


def test_three_defects_are_shown_by_the_libraries_of_make_peers() -> None:
    assert sum(defect.page.stem == "numba-cuda" for defect in defects()) >= 3
