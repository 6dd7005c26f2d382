"""The commands of ``python -m gpu``: ``run``, ``rehearse`` and ``report``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from generated import is_updating

from . import rehearsal, report
from .facts.recorder import versions_in_child
from .run import Run, cores
from .slices import ROOT

RESULTS = ROOT / "build" / "gpu" / "results"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m gpu", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("run", "run all on the system's driver"), ("rehearse", "run all on the simulated driver")):
        command = commands.add_parser(name, help=text)
        command.add_argument("--seconds", type=float, default=480, help="the time limit (480)")
        command.add_argument("--results", type=Path, default=RESULTS, help=f"the folder of the results ({RESULTS})")
        command.add_argument("--jobs", type=int, default=cores(), help="processes at a time (one for each core)")
    command.add_argument("--placed", action="store_true", help=argparse.SUPPRESS)
    writing = commands.add_parser("report", help="write the page of a run into docs/results/gpu")
    writing.add_argument("--results", type=Path, default=RESULTS, help=f"the folder of the results ({RESULTS})")
    options = parser.parse_args()
    if options.command == "report":
        return report.write(options.results)
    if options.command == "rehearse" and not options.placed:
        return rehearsal.start()
    run = Run(options.results.resolve(), options.seconds, options.jobs, rehearsal=options.command == "rehearse")
    if options.command == "rehearse":
        wrong = rehearsal.rehearse(run, update=is_updating())
        print("\n".join(wrong) if wrong else "the rehearsal passed")
        return 1 if wrong else 0
    if not versions_in_child("libcuda.so.1")["devices"]:
        print("there is no CUDA driver with a device", file=sys.stderr)
        return 1
    run.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
