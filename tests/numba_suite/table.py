"""The page of results: ``docs/results/numba-suite.md``."""

from __future__ import annotations

from collections import Counter

from .expected import Reason, explanation, not_passed, versions
from .outcome import FAILED, OUTCOMES, PASSED, SKIPPED, TIMED_OUT, Module

HEAD = """\
# numba-cuda's own tests on the simulated driver

`make numba-suite UPDATE=1` writes this page. `make numba-suite` runs every test module that the numba-cuda wheel ships for its GPU
target (`numba.cuda.tests`), unmodified, on two simulated devices. Each module runs in its own process. The run fails if an outcome
differs from this page. CI runs it. The run leaves out `cudasim`, the tests of numba's own simulator, and `benchmarks`.

Versions: {versions}. `nvidia-nvjitlink` is not installed, so numba-cuda passes PTX to the driver.

**{passed} of the {run} tests that would pass on a machine with a GPU pass here: {percent:.1f} %.** Of the others, {skipped} would be skipped on a GPU as well, and {failed}
would fail there as well. These outcomes on a GPU were read from the tests; they were not run on one.
"""


def markdown(modules: list[Module], known: list[Reason]) -> str:
    """Return the page. Every test that does not pass must have a reason."""
    why = [(name, outcome, explanation(known, name, outcome)) for name, outcome in not_passed(modules)]
    explained = [(name, outcome, reason) for name, outcome, reason in why if reason is not None]
    on_a_gpu = Counter(reason.gpu for _, _, reason in explained)
    passed = sum(module.count(PASSED) for module in modules)
    run = passed + on_a_gpu["passed"]
    libraries = [f"{name.capitalize() if name == 'python' else name} {version}" for name, version in versions().items()]
    lines = [
        HEAD.format(
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
        lines += ["| test (in `numba.cuda.tests`) | reason |", "|---|---|"] if listed else ["None."]
        lines += [f"| `{name}` | {reason.name} |" for name, reason in listed]
    lines += ["", "## By module", "", "| module | passed | failed | skipped | timed out |", "|---|---:|---:|---:|---:|"]
    lines += ["| {} | {} |".format(module.name, " | ".join(_counts(module))) for module in modules]
    totals = [str(sum(module.count(result) for module in modules)) for result in OUTCOMES]
    lines.append(f"| **all** | {' | '.join(totals)} |")
    return "\n".join(lines) + "\n"


def _counts(module: Module) -> list[str]:
    return [str(module.count(result) or "") for result in OUTCOMES]
