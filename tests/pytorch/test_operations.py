"""The committed table of PyTorch's operations is what they do now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_table_of_operations_is_current() -> None:
    script = Path(__file__).with_name("operations.py")
    done = subprocess.run(
        [sys.executable, "-m", "cuarray_sim", str(script)], capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\nmake torch-operations UPDATE=1 writes the table"
