"""Run all mutants against all checks that could find them, and compare with docs/results/kit-mutants.md."""

from __future__ import annotations

import sys

import generated

from kit_mutants.page import PAGE, render, run_all, unexplained


def main() -> int:
    """Print what differs; return the exit status."""
    found, failures = run_all(quick=False)
    problems = [*failures, *unexplained(found), *generated.differences(PAGE, render(found))]
    print("\n".join(problems) or f"{len(found)} mutants, as {PAGE.name} says")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
