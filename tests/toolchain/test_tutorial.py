"""docs/tutorial/race.svg is the picture of the report that docs/tutorial/first-race.md describes. `UPDATE=1` writes it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import generated
import pytest
from documents.picture import picture

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial"

# Without nvJitLink, numba-cuda links through the driver, so the picture has other calls. Its users have nvJitLink.
pytestmark = pytest.mark.usefixtures("nvjitlink")


def test_picture_is_that_of_the_tutorials_program(tmp_path: Path) -> None:
    program = (TUTORIAL / "first-race.md").read_text().partition("```python\n")[2].partition("```\n")[0]
    (tmp_path / "race.py").write_text(program)
    command = [sys.executable, "-W", "ignore", "-m", "cuarray_sim", "--report", "race.html", "race.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 66, done.stderr
    assert generated.differences(TUTORIAL / "race.svg", picture((tmp_path / "race.html").read_text())) == []
