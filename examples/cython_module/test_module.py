"""The Cython module works when compiled as C and C++, with and without the address sanitizer, on the simulated driver."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from compilers import SANITIZE, extension, run

HERE = Path(__file__).parent
EXPECTED = """\
<i8 (2, 3) on device 0, writable
[4, 5, 6]
[3, 6]
6
[4, 5, 6]
list object has no __cuda_array_c_interface__
object object has no __cuda_array_c_interface__
expected an array without a mask that has a row 2
"""


@pytest.mark.parametrize("sanitize", [(), SANITIZE], ids=["plain", "sanitized"])
@pytest.mark.parametrize("language", ["c", "c++"])
def test_cython_rows_are_exchanged_with_cuarray(tmp_path: Path, language: str, sanitize: tuple[str, ...]):
    source = tmp_path / ("rows.c" if language == "c" else "rows.cpp")
    as_cpp = ["--cplus"] if language == "c++" else []
    subprocess.run([sys.executable, "-m", "cython", *as_cpp, HERE / "rows.pyx", "-o", source], check=True)
    extension(source, tmp_path, *(["-x", language]), *sanitize)
    assert run(HERE / "exchange.py", tmp_path, sanitized=bool(sanitize)) == EXPECTED
