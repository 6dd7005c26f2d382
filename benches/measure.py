"""Times of small calls, measured side by side.

A machine's speed drifts. So the compared calls take turns, A B C A B C ..., and each turn is long enough for the clock and short enough
for a constant speed. The figure of a call is the median of its turns. The ratio of two calls is the median of the ratios within each
round, which a slow period does not change. The garbage collector is off, as with `timeit`."""

import gc
import statistics
import timeit
from dataclasses import dataclass, field
from typing import Any

TURN_SECONDS = 0.001
ROUNDS = 201
share = 1.0  # of the rounds; less than one where time is short


@dataclass(frozen=True)
class Call:
    """A measured statement: its names, the untimed preparation of each turn, and the number of calls
    in it. A statement that needs its preparation each time runs once in a turn. One that returns nanoseconds measures itself.
    """

    statement: str
    names: dict[str, Any] = field(default_factory=dict)
    setup: str = "pass"
    calls: int = 1
    once: bool = False
    answers: bool = False


@dataclass(frozen=True)
class Times:
    """The nanoseconds of a call in each round."""

    rounds: list[float]

    @property
    def median(self):
        return statistics.median(self.rounds)

    def ratio_to(self, other):
        """Return the ratio of this call's time to the other's."""
        return statistics.median(own / others for own, others in zip(self.rounds, other.rounds, strict=True))

    @property
    def spread(self):
        """Return the interquartile range of the rounds as a fraction of the median."""
        low, _, high = statistics.quantiles(self.rounds, n=4)
        return (high - low) / self.median


def planned(rounds=ROUNDS):
    """Return the number of rounds that are measured."""
    return max(5, round(rounds * share))


def side_by_side(calls, rounds=ROUNDS):
    """Return the `Times` of each `Call`, by name."""
    timers = {name: timeit.Timer(call.statement, call.setup, globals=call.names) for name, call in calls.items()}
    loops = {name: 1 if calls[name].once else _loops(timer) for name, timer in timers.items()}
    times = {name: [] for name in calls}
    for _ in range(planned(rounds)):
        for name, timer in timers.items():
            if calls[name].answers:
                nanoseconds = eval(calls[name].statement, calls[name].names)
            else:
                nanoseconds = timer.timeit(loops[name]) / loops[name] * 1e9
            times[name].append(nanoseconds / calls[name].calls)
    return {name: Times(each) for name, each in times.items()}


def _loops(timer):
    """Return how often the statement fits into one turn, and warm it up. The best time counts, as interruptions only add to it."""
    loops = 1
    while (seconds := min(timer.repeat(3, loops))) < TURN_SECONDS / 4:
        loops *= 4
    gc.collect()
    return max(1, round(loops * TURN_SECONDS / seconds))
