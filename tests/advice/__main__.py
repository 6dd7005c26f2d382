"""Run both suites: ``python -m advice``. See :mod:`advice.scoreboard`."""

import sys

from .scoreboard import main

sys.exit(main())
