"""Pages of what runs on a GPU have shown: ``docs/results/gpu.md``, and a dated page for each run in ``docs/results/gpu``."""

from __future__ import annotations

import datetime
import json
import re
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from .facts.comparison import Difference, differences, known, shown
from .facts.recorder import Recording
from .slices import LEFT_OUT, NOT_REHEARSED, ROOT, SLICES

RECORDED = ROOT / "tests" / "gpu" / "recorded"
SIMULATED = RECORDED / "simulated.json"
"""The facts of the simulated driver, as of the last change."""

PAGES = ROOT / "docs" / "results" / "gpu"
INDEX = ROOT / "docs" / "results" / "gpu.md"
SUMMARY = ROOT / "docs" / "SUMMARY.md"

HEAD = """# Runs on a GPU

`make gpu` asks NVIDIA's driver for facts, runs the tests and the conformance kit on it, and measures. `make gpu-report` writes a page for
each run. [CONTRIBUTING.md](../../CONTRIBUTING.md#a-gpu-for-eight-minutes) says how.
"""

NONE = "No run yet: no part of the project has met a GPU. The facts below are those of the simulated driver.\n"


def recordings() -> dict[str, Recording]:
    """The recorded facts of real drivers, by the name of the file."""
    return {file.stem: Recording.read(file) for file in sorted(RECORDED.glob("*.json")) if file != SIMULATED}


def index() -> str:
    """The text of ``docs/results/gpu.md``."""
    real, simulated = recordings(), Recording.read(SIMULATED)
    lines = [HEAD, "## Runs\n"]
    lines += [f"- [{name}](gpu/{name}.md): {device(found.about)}" for name, found in real.items()] or [NONE]
    lines += ["\n## Facts\n" if real else "## Facts\n"]
    groups: dict[str, int] = {}
    for fact in simulated.facts:
        groups[fact.partition(".")[0]] = groups.get(fact.partition(".")[0], 0) + 1
    lines += [
        f"The recorder (`tests/gpu/facts`) knows {len(simulated.facts)} facts of the simulated driver. Each question runs in a process that may "
        "crash or hang. A fact is a value that two drivers can be compared by.\n",
        "| subject | facts |\n|---|---:|",
        *(f"| {name} | {count} |" for name, count in sorted(groups.items())),
        "\nTo compare the simulated driver with a recording: `PYTHONPATH=tests python3 -m gpu.facts compare RECORDING "
        "tests/gpu/recorded/simulated.json`.\n",
        "## Facts that may differ\n",
        "These facts of a GPU may differ from those of the simulated driver, for the reason given. Every other difference is a defect.\n",
        "| facts | reason |\n|---|---|",
        *(f"| {', '.join(f'`{each}`' for each in entry.facts)} | {entry.reason} |" for entry in known()),
        "\n## Tests that do not run on a GPU\n",
        "| folder | reason |\n|---|---|",
        *(f"| `{folder}` | {reason} |" for folder, reason in LEFT_OUT.items()),
        "\nThe rehearsal on the simulated driver also leaves out:\n",
        *(f"- `{file}`: {reason}" for file, reason in NOT_REHEARSED.items()),
    ]
    return "\n".join(lines) + "\n"


def device(about: dict[str, Any]) -> str:
    return f"{about['device']}, driver {about['kernel_module'] or about['driver_api']}"


def write(results: Path) -> int:
    """Write the page of a run, keep its facts, and name it in the index."""
    recording = Recording.read(
        next(file for file in (results / "facts.json", results / "facts.jsonl") if file.exists())
    )
    if recording.about["simulated"]:
        print(f"{results} has the results of the simulated driver; only those of a GPU become a page", file=sys.stderr)
        return 1
    date = datetime.datetime.fromtimestamp((results / "summary.json").stat().st_mtime).date().isoformat()
    name = f"{date}-{re.sub('[^a-z0-9]+', '-', recording.about['device'].lower()).strip('-')}"
    PAGES.mkdir(exist_ok=True)
    (PAGES / f"{name}.md").write_text(page(name, results, recording), encoding="utf-8")
    (RECORDED / f"{name}.json").write_text(recording.text(), encoding="utf-8")
    shutil.copy(results / "timings.json", PAGES / f"{name}-timings.json")
    INDEX.write_text(index(), encoding="utf-8")
    line, summary = f"  - [{name}](results/gpu/{name}.md)\n", SUMMARY.read_text(encoding="utf-8")
    if line not in summary:
        SUMMARY.write_text(re.sub(r"(\n.*\(results/gpu\.md\)\n)", rf"\1{line}", summary), encoding="utf-8")
    print(PAGES / f"{name}.md")
    return 0


def page(name: str, results: Path, recording: Recording) -> str:
    """The text of the page of a run."""
    summary = json.loads((results / "summary.json").read_text(encoding="utf-8"))
    different = differences(recording, Recording.read(SIMULATED))
    unknown = [each for each in different if each.reason is None]
    lines = [
        f"# {name}\n",
        f"{device(recording.about)}. The run took {summary['seconds']:.0f} s on {summary['jobs']} cores",
    ]
    lines[-1] += "." if summary["complete"] else ", and was cut off."
    lines += [
        "",
        "| library | version |\n|---|---|",
        *(f"| {each} | {of} |" for each, of in summary["libraries"].items()),
    ]
    lines += ["\n## Tests\n", "| slice | outcomes |\n|---|---|"]
    for slice_name in [each.name for each in SLICES]:
        counted = summary.get("tests", {}).get(slice_name, {})
        lines.append(
            f"| {slice_name} | {', '.join(f'{count} {outcome}' for outcome, count in sorted(counted.items())) or 'did not run'} |"
        )
    lines += [f"\nFiles that did not run: {', '.join(f'`{file}`' for file in summary.get('not_run', [])) or 'none'}.\n"]
    lines += ["### Tests that failed\n", *(failures(results / "junit.xml") or ["None."])]
    lines += ["\n## Conformance kit\n", *kit(results / "kit.json")]
    lines += [
        "\n## Facts\n",
        f"{len(recording.facts)} facts; {len(different)} differ from the simulated driver, {len(unknown)} without a reason.",
    ]
    lines += facts_table("Without a reason", unknown) + facts_table(
        "With a reason", [each for each in different if each.reason]
    )
    lines += ["\n### Questions without an answer\n"]
    lines += [f"- `{item}`: {reason}" for item, reason in sorted(recording.failed.items())] or ["None."]
    lines += ["\n## Timings\n", *timings(results / "timings.json")]
    return "\n".join(lines) + "\n"


def facts_table(title: str, found: list[Difference]) -> list[str]:
    if not found:
        return []
    rows = [
        f"| `{each.name}` | {cell(each.values[0])} | {cell(each.values[1])} | {each.reason or ''} |" for each in found
    ]
    return [f"\n### {title}\n", "| fact | GPU | simulated | reason |\n|---|---|---|---|", *rows]


def cell(value: Any) -> str:
    return shown(value).replace("|", "\\|").replace("\n", " ")


def failures(junit: Path) -> list[str]:
    """A line for each test that did not pass, with the last line of its text."""
    if not junit.exists():
        return ["No test ran."]
    found = []
    for suite in ElementTree.parse(junit).getroot():
        for case in suite:
            bad = next((each for each in case if each.tag in ("failure", "error")), None)
            if bad is not None:
                last = ((bad.text or "").strip().splitlines() or ["no text"])[-1]
                found.append(f"- `{suite.get('name')}::{case.get('name')}` ({bad.get('type')}): {cell(last)}")
    return found


def kit(file: Path) -> list[str]:
    if not file.exists():
        return ["It did not run."]
    read = json.loads(file.read_text(encoding="utf-8"))
    lines = []
    for each in read["libraries"]:
        bad = [f"`{check['check']}`: {check['message']}" for check in each["checks"] if check["status"] == "failed"]
        lines.append(f"- {each['library']} {each['version']}: {len(each['checks'])} checks, {len(bad)} failed")
        lines += [f"  - {cell(line)}" for line in bad]
    return lines + [f"- {library} left out: {cell(reason[-200:])}" for library, reason in read["left_out"].items()]


def timings(file: Path) -> list[str]:
    if not file.exists():
        return ["None."]
    lines = []
    for section, found in json.loads(file.read_text(encoding="utf-8")).items():
        if "problem" in found:
            lines.append(f"{section}: {cell(found['problem'][-200:])}\n")
        for table in found.get("tables", []):
            lines += [
                f"{table['title']}\n",
                "| " + " | ".join(table["heads"]) + " |",
                "|---" * len(table["heads"]) + "|",
            ]
            lines += ["| " + " | ".join(row) + " |" for row in table["rows"]]
            lines += ["", *(f"- {note}" for note in table["notes"]), ""]
    return lines
