"""The page of results of a suite."""

from __future__ import annotations

from collections import Counter

from .description import Suite
from .expected import Expected, Reason
from .outcome import FAILED, OUTCOMES, PASSED, SKIPPED, TIMED_OUT


def markdown(suite: Suite, outcomes: Expected, known: list[Reason]) -> str:
    """Return the page. Every test that does not pass must have a reason."""
    by_name = {reason.name: reason for reason in known}
    explained = [(name, result, by_name[reason]) for name, (result, reason) in outcomes.not_passed.items()]
    on_a_gpu = Counter(reason.gpu for _, _, reason in explained)
    passed = sum(outcomes.passed.values())
    run = passed + on_a_gpu["passed"]
    libraries = [
        f"{name.capitalize() if name == 'python' else name} {version}" for name, version in outcomes.versions.items()
    ]
    lines = [
        suite.head.format(
            versions=", ".join(libraries),
            passed=passed,
            run=run,
            percent=100 * passed / run,
            skipped=on_a_gpu["skipped"],
            failed=on_a_gpu["failed"],
        ),
        "## Reasons of tests that do not pass",
        "",
        "| reason | tests | here | with a GPU | description |",
        "|---|---:|---|---|---|",
    ]
    for reason in known:
        here = Counter(result for _, result, because in explained if because is reason)
        if here:
            lines.append(
                f"| {reason.name} | {here.total()} | {', '.join(sorted(here))} | {reason.gpu} | {reason.description} |"
            )
    for title, wanted in (("failed", (FAILED, TIMED_OUT)), ("skipped", (SKIPPED,))):
        listed = [(name, reason) for name, result, reason in explained if result in wanted]
        lines += ["", f"### Tests that are {title}" if title == "skipped" else "### Tests that fail", ""]
        lines += [f"| test (in `{suite.package.rstrip('.')}`) | reason |", "|---|---|"] if listed else ["None."]
        lines += [f"| `{_cell(name)}` | {reason.name} |" for name, reason in listed]
    # The number of all tests, where a part of some modules runs.
    columns = [*OUTCOMES, "of"] if suite.parts else [*OUTCOMES]
    lines += ["", "## By module", "", f"| module | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    counts = Counter((name.partition(":")[0], result) for name, result, _ in explained)
    counts.update({(module, PASSED): count for module, count in outcomes.passed.items()})
    counts.update({(module, "of"): count for module, count in outcomes.whole.items()})
    for module in outcomes.passed:
        lines.append(f"| {module} | {' | '.join(str(counts[module, column] or '') for column in columns)} |")
    totals = [str(sum(counts[module, result] for module in outcomes.passed)) for result in OUTCOMES]
    lines.append(f"| **all** | {' | '.join([*totals, *['' for _ in columns[len(totals) :]]])} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Return a text with the marks escaped that would end a cell of a table."""
    return text.replace("|", "\\|").replace("`", "'")
