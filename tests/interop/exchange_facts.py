"""Test methods for an exchange from one library to another (a *route*). They run the checks of `demo/facts.py`.

A test file adds the route as a fixture.

Each test takes one layout and one number of dimensions, and arrays of every type. A case that the consumer is known to
refuse must be refused: if a newer peer accepts it, the test fails.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import facts
import pytest
from cases import TYPES, Case, cases
from driver import Driver
from route import Route

FORMS = cases(types=("float32",))

every_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{len(form.shape)}-d {form.layout}")


def check(fact: Callable[[Route, Case], None], route: Route, case: Case, refuses: Collection[str] = ()) -> None:
    """Check the fact. If a side lacks the layout or refuses it, check that the exchange is refused."""
    if case.layout in {*route.producer.lacks, *route.consumer.lacks, *refuses}:
        with pytest.raises(facts.Refused):
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
            check(facts.values_agree, route, replace(form, dtype=dtype), route.consumer.refuses)

    @every_form
    def test_write_by_consumer_is_seen_by_producer(self, route: Route, form: Case) -> None:
        for dtype in TYPES:
            check(facts.writes_are_seen, route, replace(form, dtype=dtype), route.consumer.refuses)

    @every_form
    def test_consumer_keeps_the_owner_alive(self, route: Route, form: Case) -> None:
        check(facts.owner_is_kept, route, form, route.consumer.refuses)

    def test_consumer_waits_for_producers_stream(self, route: Route, driver: Driver) -> None:
        facts.stream_is_honoured(route, driver.occupy)

    @pytest.mark.cuarray_sim(expect="data-race")
    def test_missing_wait_is_a_data_race(self, route: Route, driver: Driver) -> None:
        if not driver.defers_all_work:
            pytest.skip("a missing wait shows with certainty only on a driver that defers all work")
        facts.wait_is_needed(route)
