"""What cuarray does that orders work: one small function for each way of doing it.

Each is an exchange between cuarray and another library (:mod:`sweep.peer`), right as it is written. What cuarray enqueues or
waits for in it is there because some access before and some access after it conflict; both are in the scenario, so that
leaving any one of its ordering calls out must be found.
"""

from . import borrowing, capturing, copying, freeing, importing, pending, waiting
from .table import SCENARIOS, Scenario

__all__ = ["SCENARIOS", "Scenario", "borrowing", "capturing", "copying", "freeing", "importing", "pending", "waiting"]
