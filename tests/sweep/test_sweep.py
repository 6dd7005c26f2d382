"""The sweep distinguishes calls that are needed from calls that are not. `make sweep` runs it over cuarray."""

from __future__ import annotations

import pytest

import cuarray
from sweep.peer import Peer
from sweep.sweep import sweep, table

pytestmark = pytest.mark.usefixtures("simulator")


def needed(peer: Peer) -> None:
    produced = peer.array(peer.stream())
    cuarray.as_cuda_array(produced)
    peer.write(produced, peer.stream())


def needless(peer: Peer) -> None:
    produced = peer.array(peer.stream())
    array = cuarray.as_cuda_array(produced)
    array.stream.synchronize()
    peer.write(array, peer.stream())


def missing(peer: Peer) -> None:
    produced = peer.array(peer.stream())
    cuarray.as_cuda_array(produced, sync=False)
    peer.write(produced, peer.stream())


def failing(peer: Peer) -> None:
    raise ValueError("no such thing")


def test_needed_call_is_found_if_left_out() -> None:
    result = sweep("needed", needed)
    assert result.good
    assert (result.calls, result.found) == (1, ["data-race"])
    assert (
        "**1 scenarios, 1 ordering calls left out, 1 found, 0 covered by another call.** First findings: 1 data-race."
        in table([result])
    )


def test_needless_calls_are_reported_as_missed() -> None:
    result = sweep("needless", needless)
    assert not result.good
    # Each of the two waits makes the other needless.
    assert [missed.partition(": ")[2] for missed in result.missed] == [
        f"cuStreamSynchronize at test_sweep.py:{line}" for line in (22, 23)
    ]


def test_covered_calls_are_good_if_their_number_is_exact() -> None:
    assert sweep("needless", needless, covered=2).good
    assert not sweep("needless", needless, covered=1).good
    assert not sweep("needed", needed, covered=1).good


def test_scenario_with_a_race_is_reported_as_unclean() -> None:
    result = sweep("missing", missing)
    assert not result.good
    assert result.unclean is not None
    assert "data-race" in result.unclean


def test_scenario_that_raises_is_reported_as_unclean() -> None:
    result = sweep("failing", failing)
    assert result.unclean is not None
    assert "no such thing" in result.unclean
