"""The fault sweep covers all public names, and detects operations that do not survive a fault. `make faults` runs it."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any

import driver_probe
import pytest

import cuarray
from faults.operations import OPERATIONS, Attempt, Operation, public_names
from faults.sweep import Result, sweep, table

pytestmark = pytest.mark.usefixtures("simulator")


@pytest.fixture(autouse=True)
def no_current_context(simulator: str) -> Iterator[None]:
    """Leave no context current: where a library has left one, cuarray need not push its own, so fewer calls can fail."""
    before = driver_probe.current_context()
    driver_probe.call("cuCtxSetCurrent", None)
    yield
    driver_probe.call("cuCtxSetCurrent", ctypes.c_void_p(before))


def swept(attempt: Attempt) -> Result:
    return sweep(Operation("an operation", (), lambda: attempt))


def test_every_public_name_has_an_operation() -> None:
    covered = {name for operation in OPERATIONS.values() for name in operation.covers}
    assert public_names() - covered == set(), "add an operation in tests/faults/operations"
    assert covered - public_names() == set(), "no such public name"


def test_operation_that_survives_its_faults_is_good() -> None:
    stream = cuarray.stream()
    result = swept(lambda: stream.query())
    assert result.wrong == []
    assert set(result.outcomes) == {"raised", "handled"}
    assert result.handled == {"cuCtxPopCurrent_v2"}
    assert f"{result.outcomes.total()} faults" in table([result])


def test_lost_error_is_wrong() -> None:
    event = cuarray.event()

    def swallow() -> None:
        with contextlib.suppress(cuarray.CudaError):
            event.record()

    assert any("cuEventRecord" in wrong and wrong.endswith("no error") for wrong in swept(swallow).wrong)


def test_error_without_the_driver_name_is_wrong() -> None:
    event = cuarray.event()

    def rename() -> None:
        try:
            event.record()
        except cuarray.CudaError:
            raise ValueError("something failed") from None

    assert any("raised ValueError('something failed')" in wrong for wrong in swept(rename).wrong)


def test_lost_object_is_wrong() -> None:
    kept: list[Any] = []
    event = cuarray.event()

    def leak() -> None:
        try:
            event.record()
        except cuarray.CudaError:
            kept.append(cuarray.stream())
            raise

    assert any("streams changed" in wrong for wrong in swept(leak).wrong)


def test_reference_that_is_kept_after_an_error_is_wrong() -> None:
    kept: list[Any] = []
    event = cuarray.event()

    def keep() -> None:
        try:
            event.record()
        except cuarray.CudaError:
            kept.append(event)
            raise

    assert any("references changed" in wrong for wrong in swept(keep).wrong)


def test_reference_to_a_name_is_the_interpreters_own() -> None:
    kept: list[str] = []
    event = cuarray.event()
    name = "".join(("rec", "ord"))

    def keep() -> None:
        try:
            getattr(event, name)()
        except cuarray.CudaError:
            kept.append(name)
            raise

    assert swept(keep).wrong == []
    assert kept


def test_context_left_current_is_wrong() -> None:
    event = cuarray.event()
    entered: list[Any] = []

    def leave() -> None:
        try:
            event.record()
        except cuarray.CudaError:
            entered.append(driver_probe.primary_context())
            entered[-1].__enter__()
            raise

    try:
        assert any("current context changed" in wrong for wrong in swept(leave).wrong)
    finally:
        while entered:
            entered.pop().__exit__(None, None, None)


def test_second_attempt_with_another_result_is_wrong() -> None:
    event = cuarray.event()
    failures: list[int] = []

    def spoil() -> int:
        try:
            event.record()
        except cuarray.CudaError:
            failures.append(1)
            raise
        return len(failures)

    assert any("the second attempt returned" in wrong for wrong in swept(spoil).wrong)
