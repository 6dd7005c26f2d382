"""The results for people: ``docs/results/numba-suite.md``."""

from __future__ import annotations

from collections import Counter

from .expected import Reason, explanation, not_passed, versions
from .outcome import FAILED, OUTCOMES, PASSED, SKIPPED, TIMED_OUT, Module

HEAD = """\
# numba-cuda's own tests on the simulated driver

Written by `make numba-suite UPDATE=1`. `make numba-suite` runs every test module that the numba-cuda wheel ships for its GPU target
(`numba.cuda.tests`), unmodified, on two simulated devices, each module in a process of its own, and fails where a test does
otherwise than stands here. CI runs it. Left out are `cudasim`, the tests of numba's own simulator, and `benchmarks`.

With {versions}, and without `nvidia-nvjitlink`, so that numba-cuda hands PTX to the driver.

**{passed} of the {run} tests that a machine with a GPU would pass, pass here: {percent:.1f} %.** Those are all but {skipped} that are skipped there, too, and {failed}
that fail there, too; which, was read from the tests, and not tried on a GPU.
"""


def markdown(modules: list[Module], known: list[Reason]) -> str:
    """The tables; every test that does not pass has a reason."""
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
        "## What does not pass, and why",
        "",
        "| reason | tests | here | with a GPU | |",
        "|---|---:|---|---|---|",
    ]
    for reason in known:
        here = Counter(outcome.what for _, outcome, because in explained if because is reason)
        if here:
            lines.append(
                f"| {reason.name} | {here.total()} | {', '.join(sorted(here))} | {reason.gpu} | {reason.words} |"
            )
    for title, whats in (("failed", (FAILED, TIMED_OUT)), ("skipped", (SKIPPED,))):
        listed = [(name, reason) for name, outcome, reason in explained if outcome.what in whats]
        lines += ["", f"### Tests that are {title}" if title == "skipped" else "### Tests that fail", ""]
        lines += ["| test (in `numba.cuda.tests`) | reason |", "|---|---|"] if listed else ["None."]
        lines += [f"| `{name}` | {reason.name} |" for name, reason in listed]
    lines += ["", "## By module", "", "| module | passed | failed | skipped | timed out |", "|---|---:|---:|---:|---:|"]
    lines += ["| {} | {} |".format(module.name, " | ".join(_counts(module))) for module in modules]
    totals = [str(sum(module.count(what) for module in modules)) for what in OUTCOMES]
    lines.append(f"| **all** | {' | '.join(totals)} |")
    return "\n".join(lines) + "\n"


def _counts(module: Module) -> list[str]:
    return [str(module.count(what) or "") for what in OUTCOMES]
