"""Smoke test of the installed wheels: `python -m cuarray_sim tests/project/smoke.py` in an environment with nothing else.

Imports an array from a dictionary, orders work in two streams, reads it back, and sees the simulator find a race.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import cuarray
import cuarray_sim

for package, module in (("cuarray", cuarray), ("cuarray-sim", cuarray_sim)):
    folder = Path(module.__file__ or "").parent
    assert "site-packages" in folder.parts, f"{package} was imported from {folder}"
    assert importlib.metadata.version(package) == cuarray.__version__
for file in ("py.typed", "include/cuarray.h"):
    assert (Path(cuarray.__file__).parent / file).is_file(), f"the wheel cuarray lacks {file}"

source = np.arange(12.0).reshape(3, 4)
array = cuarray.to_device(source)


class Producer:
    """An array of another library."""

    __cuda_array_interface__ = array.__cuda_array_interface__


stream = cuarray.stream()
with cuarray.borrow(Producer(), stream=stream) as borrowed:
    result = borrowed.copy_to_host(stream=stream)
assert (result == source).all()
assert (cuarray.as_cuda_array(Producer())[::-1, 1].copy_to_host() == source[::-1, 1]).all()

RACE = """
import cuarray, numpy as np
cuarray.config.sync = False
one, two = cuarray.stream(), cuarray.stream()
array = cuarray.to_device(np.zeros(1000), stream=one)
class Silent:
    __cuda_array_interface__ = {**array.__cuda_array_interface__, "stream": None}
cuarray.as_cuda_array(Silent(), sync=False).copy_to_host(stream=two)
"""
with tempfile.TemporaryDirectory() as folder:
    script = Path(folder) / "race.py"
    script.write_text(RACE)
    command = [sys.executable, "-I", "-m", "cuarray_sim", str(script)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
assert found.returncode == 66, found.stderr
assert "data-race" in found.stderr, found.stderr
print(f"cuarray and cuarray-sim {cuarray.__version__} work in {sys.prefix}")
