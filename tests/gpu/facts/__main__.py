"""The commands of ``python -m gpu.facts``: ``record`` and ``compare``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from .comparison import compare
from .recorder import Recorder, Recording


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m gpu.facts", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    record = commands.add_parser("record", help="ask a driver all questions, and write the facts as sorted JSON")
    record.add_argument(
        "file", type=Path, help="the file; until the end, lines are appended to FILE with the suffix .jsonl"
    )
    record.add_argument(
        "--driver", default="libcuda.so.1", help="the driver library (default: the system's libcuda.so.1)"
    )
    record.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time (default: one for each core)"
    )
    record.add_argument("--seconds", type=float, default=3600, help="the time limit; questions left then are listed")
    record.add_argument("--only", default="", help="the start of the names of the questions to ask")
    comparing = commands.add_parser(
        "compare", help="print the facts that differ; exit with 1 if a difference is not known"
    )
    comparing.add_argument("files", nargs=2, type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.command == "compare":
        return compare(*options.files)
    recording = write(options.file, options.driver, options.jobs, options.seconds, options.only)
    print(
        f"{len(recording.facts)} facts, {len(recording.failed)} questions failed, {len(recording.not_asked)} not asked"
    )
    for item, reason in sorted(recording.failed.items()):
        print(f"  {item}: {reason}")
    return 0


def write(file: Path, driver: str, jobs: int, seconds: float, only: str = "", planted: bool = False) -> Recording:
    """Record the facts of a driver into a file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    journal = file.with_suffix(".jsonl")
    recording = Recorder(driver, journal, seconds, only, planted).record(jobs)
    file.write_text(recording.text(), encoding="utf-8")
    journal.unlink()
    return recording


if __name__ == "__main__":
    sys.exit(main())
