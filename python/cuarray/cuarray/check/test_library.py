"""Each check as a test: ``pytest --pyargs cuarray.check --library ADAPTER``.

A failed *must* fails its test. A failed *should* and a known difference are expected failures, with their reasons.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

from cuarray.check.adapter import AdapterError
from cuarray.check.outcome import FAILED, KNOWN, PASSED, UNEXPECTED
from cuarray.check.registry import all_checks
from cuarray.check.report.text import failure
from cuarray.check.runner import Session, session


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test for each check of each library."""
    libraries = metafunc.config.getoption("library")
    if not libraries:
        raise pytest.UsageError(
            "pytest --pyargs cuarray.check needs --library ADAPTER; docs/reference/check.md describes it"
        )
    cases = [(library, check.id) for library in libraries for check in all_checks()]
    metafunc.parametrize(("library", "check"), cases, ids=[f"{library}-{check}" for library, check in cases])


@pytest.fixture(scope="module")
def open_session(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Session]]:
    """Start the process of a library at its first check."""
    timeout = request.config.getoption("library_timeout")
    with contextlib.ExitStack() as stack:
        opened: dict[str, Session | AdapterError] = {}

        def of(library: str) -> Session:
            if library not in opened:
                try:
                    opened[library] = stack.enter_context(session(library, timeout=timeout))
                except AdapterError as error:
                    opened[library] = error
            found = opened[library]
            if isinstance(found, AdapterError):
                pytest.fail(str(found), pytrace=False)
            return found

        yield of


def test_library_passes_check(open_session: Callable[[str], Session], library: str, check: str) -> None:
    """Run one check."""
    outcome = open_session(library).check(check)
    text = "\n".join(failure(outcome))
    if outcome.fails or outcome.status == UNEXPECTED:
        pytest.fail(text, pytrace=False)
    if outcome.status in (FAILED, KNOWN):
        pytest.xfail(text)
    if outcome.status != PASSED:
        pytest.skip(outcome.message)
