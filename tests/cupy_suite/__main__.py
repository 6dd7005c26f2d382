"""Run the suite: ``python -m cuarray_sim -m cupy_suite``. See :mod:`peer_suite.suite`."""

import sys

from peer_suite.suite import main

from . import SUITE

if __name__ == "__main__":  # processes started by CuPy's tests import this module
    sys.exit(main(SUITE))
