"""Run the suite: ``python -m planted_synchronization``. See :mod:`planted_synchronization.scoreboard`."""

import sys

from .scoreboard import main

sys.exit(main())
