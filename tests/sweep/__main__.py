"""Run the sweep: ``python -m cuarray_sim --devices 2 -m sweep``. See :mod:`sweep.sweep`."""

import sys

from .sweep import main

sys.exit(main())
