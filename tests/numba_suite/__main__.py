"""``python -m cuarray_sim -m numba_suite``; see :mod:`numba_suite.suite`."""

import sys

from .suite import main

if __name__ == "__main__":  # processes that numba's tests start import this module, too
    sys.exit(main())
