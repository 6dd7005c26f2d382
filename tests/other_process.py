"""A second process, to which objects are sent and which answers with another: what arrays that cross processes are tested with.

It is a new interpreter, not a fork: a CUDA driver does not survive one. It runs on the driver that this process runs on.
"""

from __future__ import annotations

import pickle
from typing import Any

import driver_probe

_BEGIN = """
import os, pickle, sys
import cuarray, driver_probe
globals().update(pickle.loads(bytes.fromhex(os.environ["SENT_BY_A_TEST"])))
answer = None
"""
_END = """
print("ANSWER:" + pickle.dumps(answer).hex())
"""


def ask(program: str, environment: dict[str, str | None] | None = None, **sent: Any) -> Any:
    """Runs a program in another process, with the names that it is sent, and returns what it calls ``answer``."""
    sent_as = {"SENT_BY_A_TEST": pickle.dumps(sent).hex()}
    printed = driver_probe.run_python(_BEGIN + program + _END, **(environment or {}), **sent_as)
    _, _, answer = printed.rpartition("ANSWER:")
    return pickle.loads(bytes.fromhex(answer))
