"""Times of small calls, taken side by side.

A machine's speed drifts, and other programs come and go. So the calls that are to be compared take turns, A B C A B C ...,
each turn long enough for the clock and short enough for the machine to stay the same. What is told of a call is the
median of its turns; what is told of two is the median of the ratios within each round, which a slow minute cannot move.
The garbage collector rests meanwhile, as with `timeit`.
"""

import gc
import statistics
import timeit
from dataclasses import dataclass, field
from typing import Any

TURN_SECONDS = 0.001
ROUNDS = 201


@dataclass(frozen=True)
class Call:
    """What is timed: a statement, the names that it uses, what is done before each turn without being timed, and how many calls
    the statement makes. One that needs its preparation anew runs once in a turn; one that answers its nanoseconds has timed itself.
    """

    statement: str
    names: dict[str, Any] = field(default_factory=dict)
    setup: str = "pass"
    calls: int = 1
    once: bool = False
    answers: bool = False


@dataclass(frozen=True)
class Times:
    """Nanoseconds of one call, in each round."""

    rounds: list[float]

    @property
    def median(self):
        return statistics.median(self.rounds)

    def ratio_to(self, other):
        """How many times longer this call takes than the other."""
        return statistics.median(mine / its for mine, its in zip(self.rounds, other.rounds, strict=True))

    @property
    def spread(self):
        """How wide the middle half of the rounds is, as a part of the median."""
        low, _, high = statistics.quantiles(self.rounds, n=4)
        return (high - low) / self.median


def side_by_side(calls, rounds=ROUNDS):
    """The `Times` of each `Call`, by name."""
    timers = {name: timeit.Timer(call.statement, call.setup, globals=call.names) for name, call in calls.items()}
    loops = {name: 1 if calls[name].once else _loops(timer) for name, timer in timers.items()}
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, timer in timers.items():
            if calls[name].answers:
                nanoseconds = eval(calls[name].statement, calls[name].names)
            else:
                nanoseconds = timer.timeit(loops[name]) / loops[name] * 1e9
            times[name].append(nanoseconds / calls[name].calls)
    return {name: Times(each) for name, each in times.items()}


def _loops(timer):
    """How often the statement fits into one turn; warms it up, too. What is interrupted takes longer than it does, so the best counts."""
    loops = 1
    while (seconds := min(timer.repeat(3, loops))) < TURN_SECONDS / 4:
        loops *= 4
    gc.collect()
    return max(1, round(loops * TURN_SECONDS / seconds))
