"""Two processes with their own drivers exchange arrays of cuarray with mpi4py."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import driver as demo_driver
import peer_mpi4py
import pytest
from cases import cases
from outcome import Outcome

CONTIGUOUS = len(cases(layouts=("C", "F")))
STRIDED = len(cases()) - CONTIGUOUS
COLLECTIVES = Path(__file__).with_name("mpi_collectives.py")


@pytest.fixture(scope="session")
def mpi() -> None:
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed; `make peers` installs the versions of requirements/peers.txt")
    _, why_not = peer_mpi4py.version()
    assert why_not is None, f"mpi4py is installed and cannot be used: {why_not}"


@pytest.fixture(scope="session")
def outcomes(mpi: None, driver: demo_driver.Driver) -> dict[str, Outcome]:
    """Return the outcomes of the demo's two processes by route. They run once for all tests."""
    return {outcome.route: outcome for outcome in peer_mpi4py.survey(driver)}


def find(outcomes: dict[str, Outcome], route: str) -> Outcome:
    if route not in outcomes:
        failures = [failure for outcome in outcomes.values() for failure in outcome.failures]
        notes = [note for outcome in outcomes.values() for note in outcome.notes]
        assert not failures, failures
        pytest.skip(f"this machine does not have the route: {notes}")
    return outcomes[route]


SENDING = ["cuarray → mpi4py", "numba-cuda → cuarray → mpi4py"]
RECEIVING = ["mpi4py → cuarray", "mpi4py → cuarray → numba-cuda"]


@pytest.mark.parametrize("route", SENDING + RECEIVING)
def test_route_has_no_failures(outcomes: dict[str, Outcome], route: str) -> None:
    assert find(outcomes, route).failures == []


@pytest.mark.parametrize("route", SENDING)
@pytest.mark.parametrize("fact", ["pointer", "values"])
def test_contiguous_arrays_are_sent_in_place_and_strided_refused(
    outcomes: dict[str, Outcome], route: str, fact: str
) -> None:
    tally = find(outcomes, route).facts[fact]
    assert (tally.held, tally.failed, tally.refused) == (CONTIGUOUS, 0, STRIDED)


@pytest.mark.parametrize("route", RECEIVING)
def test_contiguous_arrays_are_received_in_place_and_strided_refused(outcomes: dict[str, Outcome], route: str) -> None:
    tally = find(outcomes, route).facts["writes"]
    assert (tally.held, tally.failed, tally.refused) == (CONTIGUOUS, 0, STRIDED)


@pytest.mark.parametrize("route", SENDING + RECEIVING)
def test_pending_request_keeps_the_array(outcomes: dict[str, Outcome], route: str) -> None:
    assert find(outcomes, route).facts["owner"].held == 1


def test_import_waits_so_that_pending_work_is_sent(outcomes: dict[str, Outcome], driver: demo_driver.Driver) -> None:
    """On the simulated driver also checks that without the wait stale data are sent."""
    expected = 1
    if driver.is_simulated:
        # The stale data, and the findings before and after them.
        expected += 1 if driver.findings() is None else 3
    assert find(outcomes, SENDING[1]).facts["stream"].held == expected


def test_collectives_give_right_results_on_simulated_memory(mpi: None, driver: demo_driver.Driver) -> None:
    if not driver.is_simulated:
        pytest.skip("this MPI reads the memory on the host, which cannot read memory of a real device")
    output = peer_mpi4py.run_ranks(COLLECTIVES, [], driver.environment_for_mpi, time_limit=120)
    assert output.count("collectives passed") == 2, output
