"""Run the suite: ``python -m cuarray_sim -m cupy_suite``. See :mod:`peer_suite.suite`."""

import os
import sys
from pathlib import Path

from peer_suite.suite import main

from . import SUITE

if __name__ == "__main__":  # processes started by CuPy's tests import this module
    # CuPy reads the path of nvcc here.
    os.environ.setdefault("NVCC", str(Path(__file__).with_name("nvcc")))
    # The run has two devices. Tests that need more are skipped.
    os.environ.setdefault("CUPY_TEST_GPU_LIMIT", "2")
    sys.exit(main(SUITE))
