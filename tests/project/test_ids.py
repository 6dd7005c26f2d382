"""Tests of the names of tests: processes that share the tests of a run must collect equal names."""

from __future__ import annotations

import re

import pytest

ADDRESS = re.compile(r"\bat 0x[0-9a-f]+")


def test_no_id_contains_an_address(request: pytest.FixtureRequest) -> None:
    """Checks the ids of all tests of this run. ``pytest.param(value, id=...)`` gives a value another id."""
    ids = [item.nodeid for item in request.session.items]
    assert [each for each in ids if ADDRESS.search(each)] == []
