"""Run the suite: ``python -m cuarray_sim -m numba_suite``. See :mod:`numba_suite.suite`."""

import sys

from .suite import main

if __name__ == "__main__":  # processes started by numba's tests import this module
    sys.exit(main())
