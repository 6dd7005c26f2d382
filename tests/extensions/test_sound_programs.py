"""Programs that cannot race have no findings, also if the driver's release of memory does not wait for work (``sound_programs.py``)."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import sound_programs

pytestmark = pytest.mark.usefixtures("simulator")


@pytest.mark.parametrize("name", sound_programs.PROGRAMS)
def test_sound_program_has_no_findings(name: str) -> None:
    environment = {
        **os.environ,
        "CUARRAY_SIM_FREE_SYNCHRONIZES": "0",
        "CUARRAY_SIM_DEVICES": "2",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    finished = subprocess.run(
        [sys.executable, sound_programs.__file__, name], env=environment, capture_output=True, text=True, timeout=60
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout == ""
