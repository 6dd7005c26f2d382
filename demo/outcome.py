"""The outcome of a route: the numbers of checks that held, were refused, and failed."""

import json
from dataclasses import asdict, dataclass, field

from cases import LAYOUTS

from cuarray.check import NotClaimed

FACTS = ("pointer", "values", "writes", "owner", "stream")


@dataclass
class Tally:
    held: int = 0
    failed: int = 0
    refused: int = 0

    def __str__(self):
        tried = self.held + self.failed
        if tried:
            return f"{self.held}/{tried}"
        return "—" if self.refused else ""


@dataclass
class Outcome:
    """The checks of one route, by layout and by fact; `nanoseconds` is the median of one exchange."""

    route: str
    layouts: dict[str, Tally] = field(default_factory=lambda: {layout: Tally() for layout in LAYOUTS})
    facts: dict[str, Tally] = field(default_factory=lambda: {fact: Tally() for fact in FACTS})
    nanoseconds: float | None = None
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def check(self, fact, what, function, *arguments):
        """Count the result of `function` under `fact`; return "held", "failed" or "refused"."""
        try:
            function(*arguments)
        except NotClaimed as refusal:
            found = "refused"
            self.note(str(refusal))
        except Exception as error:
            found = "failed"
            self.failures.append(f"{self.route}, {what}, {fact}: {_one_line(error)}")
        else:
            found = "held"
        tally = self.facts[fact]
        setattr(tally, found, getattr(tally, found) + 1)
        return found

    def count_array(self, layout, found):
        """Count an array under its layout: failed if one of its checks failed, refused if one was refused."""
        worst = next((each for each in ("failed", "refused") if each in found), "held")
        tally = self.layouts[layout]
        setattr(tally, worst, getattr(tally, worst) + 1)

    def leave(self, fact, reason):
        """Record that a peer does not support a fact."""
        self.facts[fact].refused += 1
        self.note(reason)

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    @property
    def has_failed(self):
        return bool(self.failures)

    def to_json(self):
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text):
        found = json.loads(text)
        for kind in ("layouts", "facts"):
            found[kind] = {key: Tally(**tally) for key, tally in found[kind].items()}
        return cls(**found)


def _one_line(error):
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
