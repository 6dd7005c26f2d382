"""Run the suite: ``python -m planted_mathematics``. See :mod:`planted_mathematics.scoreboard`."""

import sys

from .scoreboard import main

sys.exit(main())
