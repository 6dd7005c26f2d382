"""Run the sweep: ``python -m kernel_sweep``. See :mod:`kernel_sweep.sweep`."""

import sys

from .sweep import main

sys.exit(main())
