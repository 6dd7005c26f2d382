"""The facts that hold on every route, as test methods; a test file adds the route.

Each test takes one layout and one number of dimensions, and arrays of every type. A case that the consumer is known to
refuse must be refused, and in that way: if a peer learns to read it, the test says so.
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
    """The fact, or where the layout is one that a side lacks, or `refuses`, that it says so."""
    if case.layout in {*route.producer.lacks, *route.consumer.lacks, *refuses}:
        with pytest.raises(facts.Refused):
            fact(route, case)
    else:
        fact(route, case)


class ExchangeFacts:
    @every_form
    def test_arrives_in_place(self, route: Route, form: Case) -> None:
        for dtype in TYPES:
            check(facts.arrives_in_place, route, replace(form, dtype=dtype))

    @every_form
    def test_values_agree(self, route: Route, form: Case) -> None:
        for dtype in TYPES:
            check(facts.values_agree, route, replace(form, dtype=dtype), route.consumer.refuses)

    @every_form
    def test_writes_are_seen(self, route: Route, form: Case) -> None:
        for dtype in TYPES:
            check(facts.writes_are_seen, route, replace(form, dtype=dtype), route.consumer.refuses)

    @every_form
    def test_owner_is_kept(self, route: Route, form: Case) -> None:
        check(facts.owner_is_kept, route, form, route.consumer.refuses)

    def test_stream_is_honoured(self, route: Route, driver: Driver) -> None:
        facts.stream_is_honoured(route, driver.occupy)

    @pytest.mark.cuarray_sim(expect="data-race")
    def test_wait_is_needed(self, route: Route, driver: Driver) -> None:
        if not driver.defers_all_work:
            pytest.skip("only where all work is deferred is a missing wait sure to show")
        facts.wait_is_needed(route)
