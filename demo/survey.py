"""All checks of a route, and the time of an exchange."""

import gc
import statistics
import time

import facts
from cases import SMALL, cases
from outcome import Outcome

import cuarray


def survey(route, driver, step=lambda done, total: None):
    """Check every case on `route`; call `step` with the progress."""
    outcome = Outcome(str(route))
    every = cases()
    for number, case in enumerate(every):
        found = [
            outcome.check("pointer", case, facts.arrives_in_place, route, case),
            outcome.check("values", case, facts.values_agree, route, case),
            outcome.check("writes", case, facts.writes_are_seen, route, case),
        ]
        outcome.count_array(case.layout, found)
        step(number + 1, len(every))
    # Frozen objects are skipped, so that each collection in a check is short.
    gc.collect()
    gc.freeze()
    for case in cases(types=("float32",)):
        outcome.check("owner", case, facts.owner_is_kept, route, case)
    gc.unfreeze()
    if reason := route.lacks_streams:
        outcome.leave("stream", reason)
        if (findings := driver.findings()) is not None:
            outcome.check("writes", "findings", facts.nothing_is_found, findings)
    else:
        _check_streams(outcome, route, driver)
    outcome.nanoseconds = exchange_time(route)
    return outcome


def _check_streams(outcome, route, driver):
    outcome.check("stream", "pending work", facts.stream_is_honoured, route)
    if route.through_cuarray:
        outcome.check("stream", "pending work, handed on", facts.stream_goes_through, route)
    if driver.is_simulated:
        outcome.check("stream", "without the wait", facts.wait_is_needed, route)
    if (findings := driver.findings()) is not None:
        outcome.check("stream", "the race without the wait", facts.race_is_found, findings)


def exchange_time(route, seconds=0.25):
    """Return the median time of the import of a small array without pending work, in nanoseconds."""
    offered = route.offer(route.producer.make(SMALL))
    leave = route.consumer.adapter.function("import_")

    def through_cuarray(offered):
        leave(cuarray.as_cuda_array(offered))

    exchange = through_cuarray if route.through_cuarray else leave
    batch, times = 50, []
    for _ in range(batch):
        exchange(offered)
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        start = time.perf_counter_ns()
        for _ in range(batch):
            exchange(offered)
        times.append((time.perf_counter_ns() - start) / batch)
    return statistics.median(times)
