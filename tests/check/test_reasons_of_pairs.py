"""A refusal in a pair is a known difference only if the consumer imports the same memory without the difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuarray.check.outcome import FAILED, KNOWN, Outcome
from cuarray.check.runner import run

PRODUCER = """
NAME = "producer"
from cuarray.check import parts
{known}

class Array(parts.Foreign):
    {dlpack}

def make(shape, typestr, *, strides=None, readonly=False, stream=None, device=0):
    memory = parts.Memory(4096)
    entries = dict(shape=shape, typestr=typestr, data=(memory.pointer, {readonly}), version={version})
    return Array(entries, memory)
"""

CONSUMER = """
NAME = "consumer"
import cuarray
from cuarray.check.adapters.cuarray import read
NOT_CLAIMED = {not_claimed}
KNOWN = {known}

def import_(obj, *, stream=None):
    entries = obj.__cuda_array_interface__
    if {refused}:
        raise BufferError("no")
    return cuarray.from_cuda_array_interface(entries, obj)
"""
CHECK = "I8.pair-keeps-the-layout.C-order"


@pytest.fixture
def outcome_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver_kind: str):
    """Return a function that checks a producer and a consumer with these properties."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def check(
        refused: str,
        *,
        version: int = 3,
        readonly: bool = False,
        dlpack: str = "pass",
        producer_known: str = "",
        consumer_known: str = "{}",
        not_claimed: str = "{}",
    ) -> Outcome:
        producer = PRODUCER.format(known=producer_known, dlpack=dlpack, readonly=readonly, version=version)
        consumer = CONSUMER.format(refused=refused, known=consumer_known, not_claimed=not_claimed)
        (tmp_path / "some_producer.py").write_text(producer)
        (tmp_path / "some_consumer.py").write_text(consumer)
        (outcome,) = run("some_producer>some_consumer", [CHECK]).outcomes
        return outcome

    return check


OLD = "entries['version'] < 3"
UNCLAIMED = "{'old-versions': 'version 3 is documented'}"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"refused": OLD, "version": 2, "not_claimed": UNCLAIMED}, "consumer: version 3 is documented"),
        ({"refused": OLD, "version": 1, "consumer_known": "{'I7.older-version-is-read.*': 'D9'}"}, "consumer: D9"),
        (
            {"refused": "entries['data'][1]", "readonly": True, "not_claimed": "{'read-only': 'no flag'}"},
            "consumer: no flag",
        ),
        (
            {
                "refused": "hasattr(obj, '__dlpack__')",
                "dlpack": "__dlpack__ = None",
                "producer_known": "KNOWN = {'DL3.stream-minus-one-*': 'a handle'}",
            },
            "producer: a handle",
        ),
    ],
    ids=["version-not-claimed", "version-known", "read-only", "stream-minus-one"],
)
def test_refusal_is_known_if_the_difference_is_its_cause(outcome_of, options: dict, reason: str) -> None:
    outcome = outcome_of(**options)
    assert (outcome.status, outcome.advice) == (KNOWN, reason), outcome
    assert "the consumer refuses the array: BufferError: no" in outcome.message


@pytest.mark.parametrize(
    "options",
    [
        {"refused": "True", "version": 2, "not_claimed": UNCLAIMED},
        {"refused": OLD, "version": 2},
        {"refused": "entries['data'][1]", "readonly": True, "version": 2, "not_claimed": UNCLAIMED},
    ],
    ids=["everything-is-refused", "nothing-is-named", "another-cause"],
)
def test_refusal_for_another_cause_fails(outcome_of, options: dict) -> None:
    outcome = outcome_of(**options)
    assert outcome.status == FAILED, outcome
