"""The command ``cuarray check``."""

from __future__ import annotations

import argparse
import itertools
import sys
import textwrap
from collections.abc import Sequence

from cuarray.check.adapter import AdapterError, shipped
from cuarray.check.clauses import CLAUSES
from cuarray.check.registry import Check, select
from cuarray.check.report.files import write_badge, write_json
from cuarray.check.report.page import write_page
from cuarray.check.report.text import Progress, failures, matrix, matrix_of_pairs, summary
from cuarray.check.runner import DRIVERS, Driver, Run, choose_driver, run, session

__all__ = ["add_parser", "main"]

#: The exit statuses.
PASSES, FAILS, NO_ADAPTER = 0, 1, 2


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line of ``cuarray``."""
    parser = commands.add_parser(
        "check",
        help="check that a library implements the CUDA Array Interface and DLPack",
        description=(
            "Check a library clause by clause: its exports, its imports, and the order of work. An adapter is a small module that "
            "tells how to make, read and import arrays of the library: docs/reference/check.md. Names of shipped adapters: "
            f"{', '.join(shipped())}."
        ),
        epilog=(
            "Marks: . passed, F must failed, f should failed, k known difference, - not claimed, s not run. "
            "Exit status: 0 if every must passes, 1 if one fails, 2 if an adapter cannot be loaded."
        ),
    )
    parser.add_argument(
        "adapters",
        metavar="ADAPTER",
        nargs="*",
        help="a module, a file, or the name of a shipped adapter; two are a producer and a consumer",
    )
    parser.add_argument(
        "--all", action="store_true", help="check all pairs of installed libraries with shipped adapters"
    )
    parser.add_argument("--each", action="store_true", help="check each library by itself, and no pairs")
    parser.add_argument("--only", metavar="CLAUSE", nargs="+", help="clauses, parts, names or patterns of checks")
    parser.add_argument("--list", action="store_true", help="list the checks, with their level, and run none")
    parser.add_argument("--timeout", metavar="S", type=float, default=30.0, help="seconds for each check (30)")
    parser.add_argument("--driver", choices=DRIVERS, default="auto", help="the machine's driver, or the simulated one")
    parser.add_argument("--json", metavar="FILE", help="write all results as JSON")
    parser.add_argument("--html", metavar="FILE", help="write a page")
    parser.add_argument("--badge", metavar="FILE", help="write a line of Markdown for a README")
    parser.add_argument("--quiet", action="store_true", help="print the matrix and the counts only")
    parser.set_defaults(run=main)


def main(options: argparse.Namespace) -> int:
    """Run the command; returns the exit status."""
    adapters = list(dict.fromkeys([*options.adapters, *(shipped() if options.all else [])]))
    pairs = not options.each and (options.all or len(options.adapters) > 1)
    try:
        checks = select(options.only, pairs=pairs)
        if options.list:
            _print_list(checks)
            return PASSES
        if not adapters:
            raise ValueError("name an adapter, or give --all")
        driver = choose_driver(options.driver)
    except (AdapterError, ValueError) as error:
        print(f"cuarray check: {error}", file=sys.stderr)
        return NO_ADAPTER
    status = PASSES
    if options.all:
        adapters, status = _loadable(adapters, options, driver)
    subjects = adapters
    if pairs:
        square = itertools.product(adapters, adapters) if options.all else itertools.pairwise(adapters)
        subjects = [f"{producer}>{consumer}" for producer, consumer in square]
    progress = Progress(sys.stdout)
    runs = []
    for subject in subjects:
        try:
            jobs = [each.id for each in checks]
            runs.append(run(subject, jobs, driver=driver, timeout=options.timeout, progress=progress))
        except AdapterError as error:
            status = NO_ADAPTER
            print(f"cuarray check: {error}", file=sys.stderr)
        progress.end()
    if not all(each.passes for each in runs):
        status = max(status, FAILS)
    _report(options, runs, square=pairs and options.all)
    return status


def _loadable(adapters: list[str], options: argparse.Namespace, driver: Driver) -> tuple[list[str], int]:
    """Leave out shipped adapters whose library is not installed."""
    found, status = [], PASSES
    for adapter in adapters:
        try:
            with session(adapter, driver=driver):
                found.append(adapter)
        except AdapterError as error:
            if adapter in options.adapters:
                status = NO_ADAPTER
            print(f"cuarray check: left out {adapter}: {str(error).partition(chr(10))[0]}", file=sys.stderr)
    return found, status


def _report(options: argparse.Namespace, runs: Sequence[Run], *, square: bool) -> None:
    if not runs:
        return
    if not options.quiet and not square:
        for each in runs:
            print(failures(each))
    print("\n" + (matrix_of_pairs(runs) if square else matrix(runs)) + "\n")
    for each in runs:
        print(summary(each))
    for path, write in ((options.json, write_json), (options.html, write_page), (options.badge, write_badge)):
        if path:
            write(path, runs)


def _print_list(checks: Sequence[Check]) -> None:
    clause = ""
    for each in checks:
        if each.clause != clause:
            clause = each.clause
            print("\n".join(textwrap.wrap(f"{clause}: {CLAUSES[clause]}", 100, subsequent_indent="  ")))
        print(f"  {each.level.value:6} {each.id}")
