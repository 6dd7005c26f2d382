"""Declaration of questions to a driver.

A question is a function that calls the driver and stores *facts*: values by name, which two drivers can be compared by. So a fact holds
no address, handle or time, but what is true of it: a result code, whether two addresses are equal, which of two operations ran first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

Facts = MutableMapping[str, Any]
"""The facts of one question. A value is a string, a number, a boolean, null, or a list of these; it is recorded when it is stored."""

PATIENCE = 20.0
"""The seconds that an answer may take."""


@dataclass(frozen=True)
class Question:
    """A question, or a series of questions of one form, which share a process while its driver is usable."""

    name: str
    """Name in lower case with dots: the subject, then the case. The names of its facts begin with it."""
    answer: Callable[..., None]
    """Stores the facts. It takes the driver, the facts, and the step of a series."""
    steps: Callable[[], Iterable[str]] | None = None
    """The steps of a series, always in one order. A crash, a time limit or a dead context costs the answer of one step."""
    seconds: float = PATIENCE
    needs_context: bool = True
    """Whether the primary context of device 0 is current at the start. Without it, the driver is not initialized either."""
    devices: int = 1
    """The least number of devices. With fewer, the question is left out."""


QUESTIONS: dict[str, Question] = {}
"""All questions by name, in the order in which they are asked."""


def question(name: str, **settings: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declare a question: ``answer(driver, facts)``. It gets its own process."""

    def declare(answer: Callable[..., None]) -> Callable[..., None]:
        assert name not in QUESTIONS, f"two questions are named {name}"
        QUESTIONS[name] = Question(name, answer, **settings)
        return answer

    return declare


def series(
    name: str, steps: Callable[[], Iterable[str]], **settings: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declare a series: ``answer(driver, facts, step)``. Facts of a step are named ``NAME.STEP`` or ``NAME.STEP.FACT``."""
    return question(name, steps=steps, **settings)
