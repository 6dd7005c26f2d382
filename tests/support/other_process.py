"""A second process for tests of arrays that cross processes: it receives objects and returns one.

The process is a new interpreter and not a fork, because CUDA drivers do not support forks. It uses the same driver.
"""

from __future__ import annotations

import pickle
from typing import Any

import driver_probe

_BEGIN = """
import os, pickle, sys
import cuarray, driver_probe
globals().update(pickle.loads(bytes.fromhex(os.environ["SENT_BY_A_TEST"])))
result = None
"""
_END = """
print("RESULT:" + pickle.dumps(result).hex())
"""


def run_in_other_process(program: str, environment: dict[str, str | None] | None = None, **sent: Any) -> Any:
    """Runs a program in another process with the objects ``sent`` as its variables, and returns its variable ``result``."""
    sent_as = {"SENT_BY_A_TEST": pickle.dumps(sent).hex()}
    printed = driver_probe.run_python(_BEGIN + program + _END, **(environment or {}), **sent_as)
    _, _, result = printed.rpartition("RESULT:")
    return pickle.loads(bytes.fromhex(result))
