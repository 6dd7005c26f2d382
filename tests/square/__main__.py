"""Check all pairs of libraries, and write or compare docs/results/interoperability.md.

    python -m square [--keep FOLDER] [ADAPTER ...]

Every check runs on the simulated driver. A library that is not installed is left out, and `UPDATE=1` refuses to leave out any. A failure without a reason in an adapter fails the comparison.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from generated import is_updating

from square import page
from square.pairs import Pair, installed, run_pair


def main() -> int:
    parser = argparse.ArgumentParser(prog="square", description="Check all pairs of libraries on the simulated driver.")
    parser.add_argument("adapters", nargs="*", help="adapters; without them all of the page")
    parser.add_argument("--keep", type=Path, help="a folder for the result of each pair; existing results are used")
    parser.add_argument("--jobs", type=int, default=2, help="pairs that run at once (2)")
    options = parser.parse_args()
    # For an MPI without CUDA.
    os.environ.setdefault("CUARRAY_SIM_HOST_READABLE", "1")
    wanted = options.adapters or [*page.ADAPTERS, *page.RECORDED]
    found = [each for each in wanted if each in page.RECORDED or installed(each)]
    if is_updating() and found != wanted:
        parser.error(
            f"not installed: {', '.join(sorted(set(wanted) - set(found)))}; `make square` installs all of them"
        )
    pairs = [(producer, consumer) for producer in found for consumer in found if page.is_asked(producer, consumer)]
    with ThreadPoolExecutor(options.jobs) as pool:
        results = []
        for result in pool.map(lambda pair: _kept(options.keep, *pair), pairs):
            results.append(result)
            print(
                f"{len(results):3}/{len(pairs)} {result.producer} → {result.consumer}: {page.cell(result)}", flush=True
            )
    text = page.write(results, datetime.date.today())
    if is_updating():
        page.PAGE.write_text(text, encoding="utf-8")
    differences = page.differences(results, page.PAGE.read_text(encoding="utf-8"))
    print("\n".join(differences) or "as in docs/results/interoperability.md")
    return 1 if differences else 0


def _kept(folder: Path | None, producer: str, consumer: str) -> Pair:
    file = folder / f"{producer}.{consumer}.json" if folder is not None else None
    if file is not None and file.exists():
        return Pair.of(json.loads(file.read_text()))
    result = run_pair(producer, consumer)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(result.as_json()))
    return result


if __name__ == "__main__":
    sys.exit(main())
