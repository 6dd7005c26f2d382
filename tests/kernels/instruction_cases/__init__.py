"""The table of test kernels: each instruction with its modifiers and types, and its result by :mod:`exact_arithmetic`."""

from __future__ import annotations

from .bits import bits
from .carries import carries
from .case import Case, Computation, width
from .comparisons import comparisons
from .conversions import conversions
from .floats import floats
from .functions import functions
from .halves import halves
from .integers import integers
from .video import video

CASES = [
    *(*integers(), *carries(), *bits(), *comparisons(), *floats(), *halves(), *functions(), *conversions(), *video()),
]

__all__ = ["CASES", "Case", "Computation", "width"]
