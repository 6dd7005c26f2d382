"""Times of small calls, taken side by side.

A machine's speed drifts, and other programs come and go. So the calls that are to be compared take turns, A B C A B C ...,
each turn long enough for the clock and short enough for the machine to stay the same; what is told of each is the median
of its turns. The garbage collector rests meanwhile, as with `timeit`.
"""

import gc
import statistics
import timeit
from dataclasses import dataclass

TURN_SECONDS = 0.004
TURNS = 61


@dataclass(frozen=True)
class Time:
    """Nanoseconds of one call: the median of all turns, and the quarters on either side of it."""

    median: float
    low: float
    high: float


def side_by_side(calls, turns=TURNS):
    """The `Time` of each call, by name; a call is a statement and the names that it uses."""
    timers = {name: timeit.Timer(statement, globals=names) for name, (statement, names) in calls.items()}
    loops = {name: _loops(timer) for name, timer in timers.items()}
    times = {name: [] for name in calls}
    for _ in range(turns):
        for name, timer in timers.items():
            times[name].append(timer.timeit(loops[name]) / loops[name] * 1e9)
    return {name: _summary(each) for name, each in times.items()}


def _loops(timer):
    """How often the call fits into one turn; warms it up, too."""
    loops = 1
    while (seconds := timer.timeit(loops)) < TURN_SECONDS / 4:
        loops *= 4
    gc.collect()
    return max(1, round(loops * TURN_SECONDS / seconds))


def _summary(times):
    low, median, high = statistics.quantiles(times, n=4)
    return Time(median, low, high)
