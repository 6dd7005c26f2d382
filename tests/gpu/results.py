"""The files that a run leaves behind: at most eight, each under 16 MiB, and each complete at every moment."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from .file_run import NO_TIME, FileRun, Outcome

MOST_BYTES = 15 << 20
"""The size at which a JUnit file keeps no more texts of failures."""

END = "</testsuites>\n"
# XML has no such characters, not even as references.
FORBIDDEN = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class JUnit:
    """A JUnit file that grows by a suite for each file of tests."""

    def __init__(self, file: Path) -> None:
        self.file = file
        file.write_text(f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n{END}', encoding="utf-8")

    def add(self, run: FileRun) -> None:
        with self.file.open("r+b") as file:
            size = file.seek(0, 2)
            file.seek(size - len(END))
            file.write((suite(run, with_texts=size < MOST_BYTES) + END).encode())


def suite(run: FileRun, with_texts: bool) -> str:
    counted = {name: sum(each.outcome == name for each in run.outcomes) for name in ("passed", "failed", "skipped")}
    errors = len(run.outcomes) - sum(counted.values()) + bool(run.problem)
    head = (
        f"<testsuite name={text(run.file)} tests='{len(run.outcomes)}' failures='{counted['failed']}' "
        f"errors='{errors}' skipped='{counted['skipped']}' time='{run.seconds}'>\n"
    )
    cases = [case(run.file, each, with_texts) for each in run.outcomes]
    if run.problem:
        kind = "not run" if run.problem.startswith(NO_TIME) else "error"
        cases.append(case(run.file, Outcome("the file itself", kind, 0.0, run.problem), with_texts))
    return head + "".join(cases) + "</testsuite>\n"


def case(file: str, outcome: Outcome, with_texts: bool) -> str:
    name = outcome.test.removeprefix(f"{file}::")
    start = f"<testcase classname={text(file)} name={text(name)} time='{outcome.seconds}'"
    if outcome.outcome == "passed":
        return f"{start}/>\n"
    kind = outcome.outcome if outcome.outcome in ("skipped", "failed") else "error"
    tag = "failure" if kind == "failed" else kind
    told = outcome.text if with_texts else outcome.text[-200:]
    if kind == "skipped":
        return f"{start}><skipped message={text(told)}/></testcase>\n"
    return f"{start}><{tag} type={text(outcome.outcome)}>{escape(FORBIDDEN.sub('?', told))}</{tag}></testcase>\n"


def text(value: str) -> str:
    return quoteattr(FORBIDDEN.sub("?", value))


def write(file: Path, data: Any) -> None:
    """Write JSON in one step, so that the file is never half written."""
    part = file.with_suffix(".part")
    part.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    part.replace(file)
