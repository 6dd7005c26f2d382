"""Each script of ``real-libraries/values`` prints the text that ``real-libraries.md`` shows for it."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "explanation"
SCRIPTS = sorted((DOCS / "real-libraries" / "values").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_prints_the_documented_text(driver_kind: str, script: Path) -> None:
    for name in re.findall(r"^(?:from|import) (\w+)", script.read_text(), re.M):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "cuarray_sim", str(script)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    text = (DOCS / "real-libraries.md").read_text()
    section = text.partition(f"(real-libraries/values/{script.name})")[2]
    assert done.stdout == section.partition("```text\n")[2].partition("```")[0]
