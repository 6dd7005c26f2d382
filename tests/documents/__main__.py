"""Runs every block of the documents as written: README, docs/ and the README of each example.

    PYTHONPATH=tests python -m documents [--find-links FOLDER] [PAGE ...]

Each page gets an empty folder (an example: its own copy) and a virtual environment that holds what the page installs and
nothing else. Pages with the same installations share the environment, and run one after the other; others run at the same time. The wheels of cuarray come from ``--find-links`` (default:
``dist``), and everything else from pip's registry. :mod:`documents.blocks` has the conventions of a page.

- Console blocks run in bash, in order; their output is compared with what the page shows.
- Python blocks without a file name run in one process for each page, on the simulated driver. A finding fails the page.
- Rust blocks without a file name are compiled and run as documentation tests.
- C blocks without a file name are compiled. TOML, YAML, JSON and bash are parsed, and the steps of a workflow are run.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .page import ROOT, Machine, Outcome, installs_of, run_page

PATTERNS = (
    *("README.md", "COMPARE.md", "DESIGN.md", "docs/**/*.md"),
    *("examples/**/README.md", "crates/*/README.md", "python/*/README.md"),
)


def pages() -> list[Path]:
    """Return the pages, relative to the repository."""
    found = [path.relative_to(ROOT) for pattern in PATTERNS for path in sorted(ROOT.glob(pattern))]
    return [path for path in found if "target" not in path.parts]


def groups(chosen: list[Path]) -> list[list[Path]]:
    """Return the pages by their environment, the largest group first."""
    found: dict[tuple[str, ...], list[Path]] = {}
    for page in chosen:
        found.setdefault(tuple(installs_of(page)), []).append(page)
    return sorted(found.values(), key=len, reverse=True)


def run_pages(machine: Machine, chosen: list[Path], jobs: int) -> Iterator[Outcome]:
    """Run the pages and print a line for each, at the end of the page."""

    def run_group(group: list[Path]) -> list[Outcome]:
        outcomes = []
        for page in group:
            begun = time.monotonic()
            outcomes.append(outcome := run_page(machine, page))
            lines = [f"{page}: {outcome}, {time.monotonic() - begun:.0f} s"] if outcome.blocks else []
            lines += [f"  FAILED {failure}".replace("\n", "\n    ") for failure in outcome.failures]
            sys.stdout.write("".join(f"{line}\n" for line in lines))
            sys.stdout.flush()
        return outcomes

    with ThreadPoolExecutor(jobs) as pool:
        for outcomes in pool.map(run_group, groups(chosen)):
            yield from outcomes


def main() -> int:
    """Run the pages and print a line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE", help="a page or a folder; without one, all")
    parser.add_argument("--find-links", type=Path, default=ROOT / "dist", help="the folder with the wheels of cuarray")
    parser.add_argument("--keep", action="store_true", help="keep the folders of the pages")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="pages at a time (all cores)"
    )
    options = parser.parse_args()
    wanted = [path.resolve().relative_to(ROOT) for path in options.pages]
    chosen = [page for page in pages() if not wanted or {page, *page.parents} & set(wanted)]
    total, failures = Outcome(), 0
    start = time.monotonic()
    with Machine(options.find_links.resolve(), keep=options.keep) as machine:
        for outcome in run_pages(machine, chosen, options.jobs):
            failures += len(outcome.failures)
            total += outcome
    print(f"\n{len(chosen)} pages: {total}, {failures} failed, {time.monotonic() - start:.0f} s")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
