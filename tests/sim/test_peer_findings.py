"""Each script of ``docs/explanation/real-libraries`` gives the finding that ``real-libraries.md`` shows for it."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path

import generated
import pytest

DOCS = Path(__file__).parents[2] / "docs" / "explanation"
SCRIPTS = sorted((DOCS / "real-libraries").glob("*.py"))


def without_places(page: str) -> str:
    """Replace the paths and addresses of a page, which differ between machines and runs."""
    page = page.replace(f"{DOCS / 'real-libraries'}/", "")
    page = re.sub(r"/[^\s\"<>]*/site-packages/", "", page)
    # Offsets in libraries change with each build.
    page = re.sub(r"(\.so)\+0x[0-9a-f]+", r"\1", page)
    return re.sub(r"0x[0-9a-f]{9,}", "0x7f0000000000", page)


def documented(script: str) -> str:
    """Return the report that the document shows for a script."""
    text = (DOCS / "real-libraries.md").read_text()
    section = text.partition(f"(real-libraries/{script})")[2].partition("\n## ")[0]
    return section.partition("```text\n")[2].partition("\n```")[0]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_gives_the_documented_finding(run: Callable, script: Path, tmp_path: Path) -> None:
    for name in re.findall(r"^(?:from|import) (\w+)", script.read_text(), re.M):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    done = run("-m", "cuarray_sim", "--report", "out.html", str(script), "-")
    assert done.returncode == 66, done.stderr
    report = generated.normalized(done.stderr, DOCS / "real-libraries")
    assert report == documented(script.name)
    assert report.count("\n[") == 0, "each script gives exactly one finding"
    if (page := script.with_suffix(".html")).exists():
        assert generated.differences(page, without_places((tmp_path / "out.html").read_text())) == []


def test_each_script_has_at_most_ten_lines_and_is_documented_once() -> None:
    text = (DOCS / "real-libraries.md").read_text()
    assert SCRIPTS
    for script in SCRIPTS:
        assert text.count(f"(real-libraries/{script.name})") == 1
        lines = [
            line for line in script.read_text().splitlines()[1:] if line and not line.startswith(("from", "import"))
        ]
        assert len(lines) <= 10, script.name
