"""The page of results of a suite."""

from __future__ import annotations

from collections import Counter

from .description import Suite
from .expected import Reason, explanation, not_passed
from .outcome import FAILED, OUTCOMES, PASSED, SKIPPED, TIMED_OUT, Module


def markdown(suite: Suite, modules: list[Module], known: list[Reason]) -> str:
    """Return the page. Every test that does not pass must have a reason."""
    why = [(name, outcome, explanation(known, name, outcome)) for name, outcome in not_passed(modules)]
    explained = [(name, outcome, reason) for name, outcome, reason in why if reason is not None]
    on_a_gpu = Counter(reason.gpu for _, _, reason in explained)
    passed = sum(module.count(PASSED) for module in modules)
    run = passed + on_a_gpu["passed"]
    libraries = [
        f"{name.capitalize() if name == 'python' else name} {version}" for name, version in suite.versions().items()
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
        here = Counter(outcome.result for _, outcome, because in explained if because is reason)
        if here:
            lines.append(
                f"| {reason.name} | {here.total()} | {', '.join(sorted(here))} | {reason.gpu} | {reason.description} |"
            )
    for title, wanted in (("failed", (FAILED, TIMED_OUT)), ("skipped", (SKIPPED,))):
        listed = [(name, reason) for name, outcome, reason in explained if outcome.result in wanted]
        lines += ["", f"### Tests that are {title}" if title == "skipped" else "### Tests that fail", ""]
        lines += [f"| test (in `{suite.package.rstrip('.')}`) | reason |", "|---|---|"] if listed else ["None."]
        lines += [f"| `{_cell(name)}` | {reason.name} |" for name, reason in listed]
    lines += ["", "## By module", "", "| module | passed | failed | skipped | timed out |", "|---|---:|---:|---:|---:|"]
    lines += ["| {} | {} |".format(module.name, " | ".join(_counts(module))) for module in modules]
    totals = [str(sum(module.count(result) for module in modules)) for result in OUTCOMES]
    lines.append(f"| **all** | {' | '.join(totals)} |")
    return "\n".join(lines) + "\n"


def _counts(module: Module) -> list[str]:
    return [str(module.count(result) or "") for result in OUTCOMES]


def _cell(text: str) -> str:
    """Return a text with the marks escaped that would end a cell of a table."""
    return text.replace("|", "\\|").replace("`", "'")
