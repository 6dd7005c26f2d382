"""Mutants that no check has to find, each with the reason."""

from __future__ import annotations

#: By the names of mutants.
REASONS: dict[str, str] = {
    "import.read-only: is refused": "a refusal is safe: nothing writes to the memory. Libraries without read-only arrays refuse them",
}
