"""Scenarios of the sweep: one small function for each operation of cuarray that orders work.

Each scenario is a correct exchange between cuarray and another library (:mod:`sweep.peer`). It contains the conflicting accesses
before and after each ordering call of cuarray, so that leaving out any call gives a finding.
"""

from . import borrowing, capturing, copying, freeing, importing, pending, waiting
from .table import COVERED, SCENARIOS, Scenario

__all__ = [
    "COVERED",
    "SCENARIOS",
    "Scenario",
    "borrowing",
    "capturing",
    "copying",
    "freeing",
    "importing",
    "pending",
    "waiting",
]
