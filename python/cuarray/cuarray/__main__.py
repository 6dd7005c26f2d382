"""The command ``cuarray``, also ``python -m cuarray``."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Sequence

from cuarray import __version__
from cuarray.check import command as check_command
from cuarray.inspection.report import Report
from cuarray.inspection.target import TargetError, evaluate

#: The exit statuses of ``cuarray inspect``.
CONFORMS, DEVIATES, NO_ARRAY = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    options = _parser().parse_args(argv)
    status: int = options.run(options)
    return status


def _inspect(options: argparse.Namespace) -> int:
    try:
        report = Report.of(evaluate(options.target))
    # An attribute may raise anything; the reader turns that into a TypeError with the cause.
    except (TargetError, TypeError) as error:
        if options.traceback:
            traceback.print_exc()
        else:
            print(f"cuarray inspect: {error}", file=sys.stderr)
            if isinstance(error, TypeError) and error.__cause__ is not None:
                cause = error.__cause__
                print(f"  caused by {type(cause).__name__}: {cause}", file=sys.stderr)
        return NO_ARRAY
    if options.json:
        print(json.dumps({"target": options.target, **report.as_json()}, indent=2))
    else:
        print(f"{options.target}, a {report.type_name}\n\n{report.text()}")
    return DEVIATES if report.deviations else CONFORMS


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cuarray", description="Inspect arrays with the CUDA Array Interface, and check libraries."
    )
    parser.add_argument("--version", action="version", version=f"cuarray {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    inspect = commands.add_parser(
        "inspect",
        help="show an array's interface, its layout, its pointer, and where it deviates from the text",
        description=(
            "Import a module, evaluate an expression in it, and show the CUDA Array Interface of the result: its entries, its "
            "layout in memory, the driver's attributes of its pointer, and every deviation from the text with its clause."
        ),
        epilog=(
            "Exit status: 0 without deviations, 1 with deviations, 2 if there is no array. "
            "On a machine without a GPU: python -m cuarray_sim -m cuarray inspect module:expression"
        ),
    )
    inspect.add_argument("target", metavar="module:expression", help="for example 'model:weights[0]'")
    inspect.add_argument("--json", action="store_true", help="print the report as JSON")
    inspect.add_argument("--traceback", action="store_true", help="show where the expression failed")
    inspect.set_defaults(run=_inspect)
    check_command.add_parser(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
