"""The table of kernels: each instruction with its modifiers and types, and what it answers by :mod:`exact`."""

from __future__ import annotations

from .bits import bits
from .case import Case, width
from .comparisons import comparisons
from .conversions import conversions
from .extended import extended
from .floats import floats
from .functions import functions
from .halves import halves
from .integers import integers
from .video import video

CASES = [
    *(*integers(), *extended(), *bits(), *comparisons(), *floats(), *halves(), *functions(), *conversions(), *video()),
]

__all__ = ["CASES", "Case", "width"]
