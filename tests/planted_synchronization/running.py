"""Run the kernels of the suite in one process with the simulated driver.

    python -m cuarray_sim -m planted_synchronization.running FOLDER

The folder has the PTX of both builds of each file, which :func:`racy_kernels.running.compile_all` writes. Standard output is one JSON object: the result of
each run, by the build and the case.
"""

from __future__ import annotations

import json
import string
import sys
from pathlib import Path
from typing import Any

from racy_kernels.running import Launcher, difference, lines_of

from .cases import files

BUILDS = ("right", "wrong")


def findings(source: str) -> list[dict[str, Any]]:
    """Return the findings so far, with the lines of ``source`` that they name, and forget them."""
    import cuarray_sim

    found = []
    for finding in cuarray_sim.findings()["findings"]:
        lines = [line for side in finding["sides"] for line in lines_of(side, source)]
        waits = [
            f"{letter}: {place['waits']}"
            for letter, place in zip(string.ascii_uppercase, _places(finding), strict=False)
            if place["waits"]
        ]
        found.append(
            {"kind": finding["kind"], "missing": finding["missing"] or "", "waits": "; ".join(waits), "lines": lines}
        )
    cuarray_sim.clear_findings()
    return found


def _places(finding: dict[str, Any]) -> list[dict[str, Any]]:
    """The places in the kernel of the sides that have one."""
    return [side["place"] for side in finding["sides"] if side["place"]]


def main(folder: Path) -> None:
    """Run both builds of each case, and print the results."""
    launcher, results = Launcher(), {}
    for source, cases in files():
        for build in BUILDS:
            ptx = (folder / f"{source.path.stem}.{build}.ptx").read_bytes()
            module = launcher.load(ptx)
            for case in cases:
                if build == "wrong" and case.words is None:
                    continue
                wrong = None
                try:
                    buffers = launcher.run(module, case)
                    if build == "right":
                        wrong = difference(case, buffers)
                except RuntimeError as error:
                    wrong = str(error) if build == "right" else None
                    found = findings(source.name)
                    launcher = launcher.renewed()
                    module = launcher.load(ptx)
                else:
                    found = findings(source.name)
                results[f"{build} {case.name}"] = {"findings": found, "wrong": wrong}
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
