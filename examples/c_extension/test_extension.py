"""The extension module works when compiled as C and C++, with and without the address sanitizer, on the simulated driver."""

from __future__ import annotations

from pathlib import Path

import pytest
from compilers import SANITIZE, extension, run

HERE = Path(__file__).parent
EXPECTED = """\
|u1 (8,) [0, 0, 0, 0, 0, 0, 0, 0]
[-1, -1, -1] [255, 255, 255, 255, 255, 255, 255, 255]
[0, 0, 0]
cannot fill the array: it is not contiguous
cannot fill the array: it is not contiguous
cannot fill the array: it is not contiguous
'list' object has no attribute '__cuda_array_interface__'
"""


@pytest.mark.parametrize("sanitize", [(), SANITIZE], ids=["plain", "sanitized"])
@pytest.mark.parametrize("language", [("-std=c99",), ("c++", "-std=c++17")], ids=["c", "c++"])
def test_c_extension_exchanges_arrays_with_cuarray(
    tmp_path: Path, language: tuple[str, ...], sanitize: tuple[str, ...]
):
    as_cpp = ("-x", "c++", "-Wno-missing-field-initializers", "-std=c++17") if "c++" in language else language
    extension(HERE / "buffers.c", tmp_path, *as_cpp, *sanitize)
    assert run(HERE / "exchange.py", tmp_path, sanitized=bool(sanitize)) == EXPECTED
