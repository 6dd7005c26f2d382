"""The report of each program of ``reports`` is the text beside it; ``UPDATE=1`` writes the texts.

The programs have the errors of public bug reports, in the project's own words. A program with tests runs by ``pytest --cuarray-sim``.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import generated
import pytest

for library in ("cuda.core", "numba.cuda"):
    pytest.importorskip(library, reason=f"{library} is not installed; `make peers` installs it")

PROGRAMS = sorted(Path(__file__).with_name("reports").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_report_is_the_expected_text(run: Callable, program: Path, tmp_path: Path) -> None:
    shutil.copy(program, tmp_path)
    source = program.read_text()
    if "\ndef test_" in source:
        done = run("-m", "pytest", "-q", "--cuarray-sim", "-W", "ignore", program.name)
        text = re.sub(r" in [\d.]+s$", "", done.stdout, flags=re.M)
    else:
        launcher = [] if "cuarray_sim.install()" in source else ["-W", "ignore", "-m", "cuarray_sim"]
        text = run(*launcher, program.name).stderr
    assert generated.differences(program.with_suffix(".txt"), f"{generated.normalized(text, tmp_path)}\n") == []
