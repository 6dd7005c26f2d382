"""Runs every block of the documents as written: README, docs/ and the README of each example.

    PYTHONPATH=tests python -m documents [--find-links FOLDER] [PAGE ...]

Each page gets an empty folder (an example: a copy of its own) and a virtual environment that holds what the page installs and
nothing else. Pages with the same installations share the environment. The wheels of cuarray come from ``--find-links`` (default:
``dist``), and everything else from pip's registry. :mod:`documents.blocks` has the conventions of a page.

- Console blocks run in bash, in order; their output is compared with what the page shows.
- Python blocks without a file name run in one process for each page, on the simulated driver. A finding fails the page.
- Rust blocks without a file name are compiled and run as documentation tests.
- C blocks without a file name are compiled. TOML, YAML, JSON and bash are parsed, and the steps of a workflow are run.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from .page import ROOT, Machine, Outcome, run_page

PATTERNS = (
    *("README.md", "COMPARE.md", "DESIGN.md", "docs/**/*.md"),
    *("examples/**/README.md", "crates/*/README.md", "python/*/README.md"),
)


def pages() -> list[Path]:
    """Return the pages, relative to the repository."""
    found = [path.relative_to(ROOT) for pattern in PATTERNS for path in sorted(ROOT.glob(pattern))]
    return [path for path in found if "target" not in path.parts]


def main() -> int:
    """Run the pages and print a line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE", help="a page or a folder; without one, all")
    parser.add_argument("--find-links", type=Path, default=ROOT / "dist", help="the folder with the wheels of cuarray")
    parser.add_argument("--keep", action="store_true", help="keep the folders of the pages")
    options = parser.parse_args()
    wanted = [path.resolve().relative_to(ROOT) for path in options.pages]
    chosen = [page for page in pages() if not wanted or {page, *page.parents} & set(wanted)]
    total, failures = Outcome(), 0
    start = time.monotonic()
    with Machine(options.find_links.resolve(), keep=options.keep) as machine:
        for page in chosen:
            begun = time.monotonic()
            outcome = run_page(machine, page)
            seconds = time.monotonic() - begun
            if outcome.blocks:
                print(f"{page}: {outcome}, {seconds:.0f} s", flush=True)
            for failure in outcome.failures:
                print(f"  FAILED {failure}".replace("\n", "\n    "), flush=True)
            failures += len(outcome.failures)
            total += outcome
    print(f"\n{len(chosen)} pages: {total}, {failures} failed, {time.monotonic() - start:.0f} s")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
