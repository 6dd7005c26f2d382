"""Mutants that no check has to find, each with the reason."""

from __future__ import annotations

#: By the names of mutants.
REASONS: dict[str, str] = {}
