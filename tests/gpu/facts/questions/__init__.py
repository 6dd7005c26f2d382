"""The questions. The order of the modules is the order in which they are asked: the most valuable come first."""

from __future__ import annotations

from ..question import QUESTIONS
from . import devices, peers


def names() -> list[str]:
    """The names of all questions."""
    return list(QUESTIONS)


__all__ = ["devices", "names", "peers"]
