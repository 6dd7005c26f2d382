"""Test methods for an exchange from one library to another (a *route*). They run the checks of `demo/facts.py`.

A test file adds the route as a fixture.

Each test takes one layout and one number of dimensions, and arrays of every type. If a side lacks the layout, the exchange must be
refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import facts
import pytest
from cases import TYPES, Case, cases
from driver import Driver
from route import Route

from cuarray.check import NotClaimed

FORMS = cases(types=("float32",))

every_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{len(form.shape)}-d {form.layout}")


def check(fact: Callable[[Route, Case], None], route: Route, case: Case) -> None:
    """Check the fact. If a side lacks the layout, check that the exchange is refused."""
    if route.producer.lacks(case) or route.consumer.lacks(case):
        with pytest.raises(NotClaimed):
            fact(route, case)
    else:
        fact(route, case)


class ExchangeFacts:
    @every_form
    def test_consumer_sees_same_address_and_layout(self, route: Route, form: Case) -> None:
        for dtype in TYPES:
            check(facts.arrives_in_place, route, replace(form, dtype=dtype))

    @every_form
    def test_consumer_reads_same_values(self, route: Route, form: Case) -> None:
        for dtype in TYPES:
            check(facts.values_agree, route, replace(form, dtype=dtype))

    @every_form
    def test_write_by_consumer_is_seen_by_producer(self, route: Route, form: Case) -> None:
        for dtype in TYPES:
            check(facts.writes_are_seen, route, replace(form, dtype=dtype))

    @every_form
    def test_consumer_keeps_the_owner_alive(self, route: Route, form: Case) -> None:
        check(facts.owner_is_kept, route, form)

    def test_consumer_waits_for_producers_stream(self, route: Route) -> None:
        facts.stream_is_honoured(route)

    @pytest.mark.cuarray_sim(expect="data-race")
    def test_missing_wait_is_a_data_race(self, route: Route, driver: Driver) -> None:
        if not driver.is_simulated:
            pytest.skip("a missing wait shows with certainty only on a driver that defers all work")
        facts.wait_is_needed(route)
