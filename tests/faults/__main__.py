"""Run the sweep: ``python -m cuarray_sim --devices 2 -m faults``. See :mod:`faults.sweep`."""

import sys

from .sweep import main

sys.exit(main())
