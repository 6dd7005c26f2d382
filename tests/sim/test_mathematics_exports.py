"""The built stand-ins for mathematical libraries export each function that NVIDIA's headers declare."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import pytest

from cuarray_sim.stand_ins import STAND_INS

RECORD = Path(__file__).resolve().parents[1] / "project/mathematics_names.txt"
FILES = {
    "cublas 12": "libcublas.so.12",
    "cublas 13": "libcublas.so.13",
    "cublasLt 12": "libcublasLt.so.12",
    "cublasLt 13": "libcublasLt.so.13",
    "cufft 12": "libcufft.so.11",
    "cufft 13": "libcufft.so.12",
    "curand 12": "libcurand.so.10",
    "curand 13": "libcurand.so.10",
    "cusparse 12": "libcusparse.so.12",
    "cusparse 13": "libcusparse.so.12",
    "cudnn 12": "libcudnn.so.9",
    "cudnn 13": "libcudnn.so.9",
}
"""The file of each section of the recorded names."""


@pytest.mark.parametrize("section", FILES)
def test_library_exports_each_declared_function(simulator: str, section: str) -> None:
    file = FILES[section]
    (stand_in,) = (each for each in STAND_INS if file in each.files)
    if not (stand_in.path / file).is_file():
        pytest.skip(f"the package was built without {stand_in.name}")
    found = re.search(rf"^{section}:\n((?: {{4}}.*\n)+)", RECORD.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert found
    library = ctypes.CDLL(str(stand_in.path / file))
    assert [name for name in found[1].split() if not hasattr(library, name)] == []
