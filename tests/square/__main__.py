"""Check all pairs of libraries, and write or compare docs/results/interoperability.md.

    python -m square [--keep FOLDER] [ADAPTER ...]
    python -m square --apart ADAPTER

Every check runs on the simulated driver. With all libraries, the whole page is compared, apart from its date. A library that is not
installed is left out, and then only the cells of the others are compared. `UPDATE=1` needs all. A failure without a reason in an adapter
fails the comparison. `--apart` checks the pairs of a library that is too large for the square, and compares its part of the page.
"""

from __future__ import annotations

import argparse
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
    parser.add_argument("--apart", choices=page.APART, help="a library apart, with its partners")
    options = parser.parse_args()
    # For an MPI without CUDA.
    os.environ.setdefault("CUARRAY_SIM_HOST_READABLE", "1")
    if options.apart:
        return _apart(options.apart, options.jobs)
    every = [*page.ADAPTERS, *page.RECORDED]
    wanted = options.adapters or every
    found = [each for each in wanted if each in page.RECORDED or installed(each)]
    if is_updating() and found != every:
        parser.error(
            f"without {', '.join(sorted(set(every) - set(found)))}; `make square UPDATE=1` checks all libraries"
        )
    pairs = [(producer, consumer) for producer in found for consumer in found if page.is_asked(producer, consumer)]
    with ThreadPoolExecutor(options.jobs) as pool:
        results = []
        for result in pool.map(lambda pair: _kept(options.keep, *pair), pairs):
            results.append(result)
            print(
                f"{len(results):3}/{len(pairs)} {result.producer} → {result.consumer}: {page.cell(result)}", flush=True
            )
    whole = page.compare(results) if found == every else []
    differences = [*page.differences(results, page.PAGE.read_text(encoding="utf-8")), *whole]
    print("\n".join(differences) or "as in docs/results/interoperability.md")
    return 1 if differences else 0


def _apart(adapter: str, jobs: int) -> int:
    if missing := [each for each in (adapter, *page.PARTNERS) if not installed(each)]:
        print(f"not installed: {', '.join(missing)}", file=sys.stderr)
        return 2
    both = [
        (adapter, adapter),
        *((adapter, each) for each in page.PARTNERS),
        *((each, adapter) for each in page.PARTNERS),
    ]
    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda pair: run_pair(*pair), [pair for pair in both if page.is_asked(*pair)]))
    differences = page.compare_apart(adapter, results)
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
