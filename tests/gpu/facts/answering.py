"""The process that answers: it writes each fact to a pipe as soon as it is known.

``python -m gpu.facts.answering DRIVER DESCRIPTOR MODULE ITEM...`` answers questions of a module; an item is ``NAME`` or ``NAME STEP``. The lines of the pipe are
JSON: ``{"begin": item}``, ``{"item": item, "fact": name, "value": value}``, ``{"end": item, "usable": bool}``.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any, TextIO

from .driver import Driver
from .question import QUESTIONS, Question


class Written(MutableMapping[str, Any]):
    """Facts of one question, or of a step of a series. Each is written when it is stored."""

    def __init__(self, item: str, pipe: TextIO) -> None:
        self.item, self.pipe = item, pipe
        self.stored: dict[str, Any] = {}

    def __setitem__(self, name: str, value: Any) -> None:
        self.stored[name] = value
        write(self.pipe, item=self.item, fact=name, value=value)

    def __getitem__(self, name: str) -> Any:
        return self.stored[name]

    def __delitem__(self, name: str) -> None:
        raise TypeError("a fact is written when it is stored")

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)


def write(pipe: TextIO, **line: Any) -> None:
    pipe.write(json.dumps(line) + "\n")
    pipe.flush()


def answer(driver: Driver, question: Question, item: str, step: str, pipe: TextIO) -> bool:
    """Answer one question; return whether the driver can answer another one in this process."""
    write(pipe, begin=item)
    facts = Written(item, pipe)
    try:
        if question.steps is None:
            question.answer(driver, facts)
        else:
            question.answer(driver, facts, step)
    except Exception as error:
        facts["!"] = f"{type(error).__name__}: {error}"
    usable = question.needs_context and driver.is_usable()
    write(pipe, end=item, usable=usable)
    return usable


def main() -> None:
    path, descriptor, module, *items = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # many crash on purpose
    import_module(f"gpu.facts.questions.{module}")
    pipe = os.fdopen(int(descriptor), "w", encoding="utf-8")
    driver, started = Driver(path), False
    for item in items:
        name, _, step = item.partition(" ")
        question = QUESTIONS[name]
        if question.needs_context and not started:
            driver.start()
            started = True
        if not answer(driver, question, item, step, pipe):
            break
    # No exit handler runs: after a bad answer it may hang, and all facts are written.
    pipe.close()
    os._exit(0)


if __name__ == "__main__":
    main()
