"""The rehearsal: the whole run on the simulated driver, which takes the place of the system's driver.

The driver is found as NVIDIA's would be, by the loader's search path: no launcher, no plugin, no setting of the simulator.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

from .facts.comparison import lines
from .facts.question import QUESTIONS
from .facts.questions import declare
from .facts.recorder import Recording
from .packages import DIST
from .report import INDEX, SIMULATED, index, recordings
from .run import Run
from .slices import PLANTED, ROOT

RESULTS = ("facts.json", "timings.json", "junit.xml", "kit.json", "summary.json")

MOST_BYTES = 16 << 20

EXPECTED = {
    "test_hang_costs_one_test": "hung",
    "test_crash_costs_one_test": "crashed",
    "test_dead_context_costs_one_test": "dead context",
}
"""The outcomes of planted tests; all others pass."""


def place_driver(folder: Path) -> None:
    """Put the driver of the wheel into a folder, by the name that programs load."""
    (wheel,) = DIST.glob("cuarray_sim-*.whl")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (each for each in opened.namelist() if each.endswith("/libcuda.so.1"))
        with opened.open(name) as source, (folder / "libcuda.so.1").open("wb") as target:
            shutil.copyfileobj(source, target)


def start() -> int:
    """Start this command again with the driver in the loader's search path."""
    folder = ROOT / "build" / "gpu" / "driver"
    place_driver(folder)
    for name in [name for name in os.environ if name.startswith(("CUARRAY", "LD_"))]:
        del os.environ[name]
    os.environ["LD_LIBRARY_PATH"] = str(folder)
    os.execv(sys.executable, [sys.executable, "-m", "gpu", *sys.argv[1:], "--placed"])


def rehearse(run: Run, update: bool) -> list[str]:
    """Run the whole; return what went wrong."""
    run.run()
    took = time.monotonic() - run.started
    wrong = [] if took < run.seconds + 30 else [f"the run took {took:.0f} s, and may take {run.seconds:.0f} s"]
    for name in RESULTS:
        file = run.results / name
        if not file.exists() or file.stat().st_size > MOST_BYTES:
            wrong.append(f"{file} is missing, or larger than 16 MiB")
    left = {file.name for file in run.results.iterdir()} - set(RESULTS)
    wrong += [f"{name} was left behind" for name in sorted(left)]
    return wrong + outcomes(run.results / "junit.xml") + facts(run.results / "facts.json", update)


def outcomes(junit: Path) -> list[str]:
    """Return the tests with another outcome than expected. Tests that did not run are none."""
    wrong, planted = [], {}
    for suite in ElementTree.parse(junit).getroot():
        for case in suite:
            name = str(case.get("name"))
            bad = next((each for each in case if each.tag in ("failure", "error")), None)
            outcome = "passed" if bad is None else str(bad.get("type"))
            if suite.get("name") in PLANTED.paths:
                planted[name] = outcome
            elif bad is not None and outcome != "not run":
                wrong.append(f"{suite.get('name')}::{name}: {outcome}: {(bad.text or '').strip()[-600:]}")
    if len(planted) != 7:
        wrong.append(f"7 planted tests have an outcome each, not {len(planted)}: {planted}")
    wrong += [
        f"planted {name}: {outcome}, not {EXPECTED.get(name, 'passed')}"
        for name, outcome in planted.items()
        if outcome != EXPECTED.get(name, "passed")
    ]
    return wrong


def facts(file: Path, update: bool) -> list[str]:
    """Return the facts that differ from the recorded ones; with ``update``, record them."""
    now = Recording.read(file)
    declare()
    from .facts.questions import planted  # only now, so that its questions belong to its module

    bad = {f"planted.step {step}": reason for step, reason in planted.BAD.items()}
    wrong = [f"{item}: {reason}" for item, reason in now.failed.items() if bad.get(item) != reason]
    wrong += [f"{item} has an answer" for item in bad if item not in now.failed]
    wrong += [f"there was no time for the question {item}" for item in now.not_asked if not needs_devices(item)]
    if update:
        SIMULATED.parent.mkdir(exist_ok=True)
        SIMULATED.write_text(now.without_results().text(), encoding="utf-8")
        INDEX.write_text(index(), encoding="utf-8")
        return wrong
    text, unknown = lines(Recording.read(SIMULATED), now, explain=False)
    wrong += [*text, "UPDATE=1 records the facts, if the change is right"] if unknown else []
    for name, real in recordings().items():
        text, unknown = lines(real, now)
        wrong += [f"facts of {name} and of the simulated driver:", *text] if unknown else []
    return wrong


def needs_devices(item: str) -> bool:
    return QUESTIONS[item.partition(" ")[0]].devices > 1
