"""Expected outcomes (``expected.toml``), reasons of tests that do not pass (``reasons.toml``), and differences of a run from them.

A run with ``UPDATE=1`` writes ``expected.toml``. It lists only tests that do not pass, so that it is small and its changes are
readable. With other versions of Python or the libraries the set of tests differs. Then a run only checks that every test that does
not pass has a reason.
"""

from __future__ import annotations

import fnmatch
import json
import re
import tomllib
from dataclasses import dataclass, field

from .description import Suite
from .outcome import PASSED, SKIPPED, Module, Outcome


@dataclass(frozen=True)
class Reason:
    """A reason why tests do not pass."""

    name: str
    gpu: str
    """Outcome of these tests on a machine with a GPU: passed, skipped or failed."""
    description: str
    messages: tuple[str, ...]
    tests: tuple[str, ...] = ()
    varies: bool = False
    """The reason depends on the machine, so the tests may also pass."""

    def explains(self, name: str, outcome: Outcome) -> bool:
        """Return whether this reason explains an outcome. It explains a failure only if it names the test."""
        named = any(fnmatch.fnmatchcase(name, pattern) for pattern in self.tests)
        matched = any(re.search(message, outcome.message) for message in self.messages)
        return matched and (named or (outcome.result == SKIPPED and not self.tests))


def reasons(suite: Suite) -> list[Reason]:
    read = tomllib.loads(suite.reasons.read_text(encoding="utf-8"))["reason"]
    return [
        Reason(**{key: tuple(value) if isinstance(value, list) else value for key, value in each.items()})
        for each in read
    ]


def explanation(known: list[Reason], name: str, outcome: Outcome) -> Reason | None:
    return next((reason for reason in known if reason.explains(name, outcome)), None)


@dataclass(frozen=True)
class Expected:
    """The contents of ``expected.toml``."""

    versions: dict[str, str]
    passed: dict[str, int]
    """Numbers of passing tests by module."""
    not_passed: dict[str, tuple[str, str]]
    """Outcome and name of the reason of each other test, by full name."""
    whole: dict[str, int] = field(default_factory=dict)
    """Numbers of all tests of modules that run a part of them."""


def read(suite: Suite) -> Expected:
    if not suite.expected.exists():
        return Expected({}, {}, {})
    text = tomllib.loads(suite.expected.read_text(encoding="utf-8"))
    rest = {each["test"]: (each["outcome"], each["reason"]) for each in text.get("not_passed", [])}
    return Expected(text["versions"], text["passed"], rest, text.get("whole", {}))


def write(suite: Suite, modules: list[Module], known: list[Reason]) -> None:
    """Write the outcomes of a run to ``expected.toml``. Modules that did not run keep their outcomes, if the versions are the same."""
    before = read(suite)
    if before.versions != suite.versions():
        before = Expected({}, {}, {})
    ran = {module.name for module in modules}
    passed = {name: count for name, count in before.passed.items() if name not in ran}
    passed |= {module.name: module.count(PASSED) for module in modules}
    whole = {name: count for name, count in before.whole.items() if name not in ran}
    whole |= {module.name: module.whole for module in modules if suite.interval(module.name, module.whole) > 1}
    rest = {name: each for name, each in before.not_passed.items() if name.partition(":")[0] not in ran}
    for name, outcome in not_passed(modules):
        reason = explanation(known, name, outcome)
        assert reason is not None, f"{name} is not explained"
        rest[name] = outcome.result, reason.name
    ordered = [name for name in suite.modules() if name in passed]
    lines = [
        f"# Expected outcomes of {suite.library}'s own tests on the simulated driver. Written by `make {suite.name} UPDATE=1`.",
        "",
        "[versions]",
        *(f'{name} = "{version}"' for name, version in suite.versions().items()),
        "",
        "# Numbers of passing tests in each module.",
        "[passed]",
        *(f'"{name}" = {passed[name]}' for name in ordered),
        "",
    ]
    if whole:
        lines += [
            "# Numbers of all tests in modules that run a part of them.",
            "[whole]",
            *(f'"{name}" = {whole[name]}' for name in ordered if name in whole),
            "",
        ]
    lines += ["# All other tests. reasons.toml has the reasons."]
    for name in sorted(rest, key=lambda name: ordered.index(name.partition(":")[0])):
        result, reason = rest[name]
        lines += [
            "[[not_passed]]",
            f"test = {json.dumps(name, ensure_ascii=False)}",
            f'outcome = "{result}"',
            f'reason = "{reason}"',
            "",
        ]
    suite.expected.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def not_passed(modules: list[Module]) -> list[tuple[str, Outcome]]:
    """Return the full name and outcome of each test that does not pass."""
    every = ((f"{module.name}:{test}", outcome) for module in modules for test, outcome in module.tests.items())
    return [(name, outcome) for name, outcome in every if outcome.result != PASSED]


def differences(suite: Suite, modules: list[Module], expected: Expected, known: list[Reason]) -> list[str]:
    """Return the unexpected outcomes of a run, one line each."""
    wrong = []
    same = expected.versions == suite.versions()
    for name, outcome in not_passed(modules):
        reason = explanation(known, name, outcome)
        if reason is None:
            before = "it passed before" if same and name not in expected.not_passed else "unexplained"
            wrong.append(f"{name} {outcome.result}, {before}: {outcome.message}")
        elif same and expected.not_passed.get(name) != (outcome.result, reason.name):
            before = ", ".join(expected.not_passed.get(name, ("it passed",)))
            wrong.append(f"{name} {outcome.result} ({reason.name}); before: {before}")
    if not same:
        return wrong
    now = {name for name, _ in not_passed(modules)}
    passing = {name: reason for name, (_, reason) in expected.not_passed.items() if name not in now}
    here = {reason.name for reason in known if reason.varies}
    for module in modules:
        more = [name for name in passing if name.startswith(f"{module.name}:")]
        count = expected.passed.get(module.name)
        if count is None:
            wrong.append(f"{module.name}: the module is new")
        elif count + len(more) != module.count(PASSED):
            wrong.append(f"{module.name}: {module.count(PASSED)} tests pass; {count + len(more)} are expected to pass")
        wrong += [
            f"{name} passes or no longer exists; expected: {expected.not_passed[name][0]} ({passing[name]})"
            for name in more
            if passing[name] not in here
        ]
    return wrong
