"""Run the suite: ``python -m racy_kernels``. See :mod:`racy_kernels.scoreboard`."""

import sys

from .scoreboard import main

sys.exit(main())
