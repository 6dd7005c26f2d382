"""One fault that many checks see is one line at the beginning of the report, with the checks that fail by it."""

from __future__ import annotations

import html
from pathlib import Path

import pytest
import wrong_libraries
from wrong_libraries import WRAPPED

from cuarray.check import causes
from cuarray.check.outcome import FAILED, KNOWN, PASSED, Outcome
from cuarray.check.registry import select
from cuarray.check.report.page import page
from cuarray.check.report.text import by_cause, failures
from cuarray.check.runner import Run

#: An array that has only the dictionary of one whose memory is released at once.
FREED = (
    WRAPPED
    + """
class Array:
    def __init__(self, entries):
        self.__cuda_array_interface__ = entries

def make(*arguments, **layout):
    return Array(sound.make(*arguments, **layout).__cuda_array_interface__)

def write(array, data, *, stream=None):
    parts.upload(array.__cuda_array_interface__["data"][0], data, stream or 1)

def read(array, *, stream=None):
    entries = array.__cuda_array_interface__
    return parts.gather(entries["data"][0], entries["shape"], entries["strides"], parts.size_of(entries["typestr"]), stream or 1)
"""
)
CHANGED = (
    WRAPPED
    + """
class Changed:
    def __init__(self, array):
        self.array, self.__dlpack_device__ = array, array.__dlpack_device__

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__

    def __dlpack__(self, **request):
        return self.array.__dlpack__(**request)

def make(*arguments, **layout):
    return Changed(sound.make(*arguments, **layout))
"""
)
STRIDES_IN_ELEMENTS = (
    CHANGED
    + """
class Changed(Changed):
    @property
    def __cuda_array_interface__(self):
        strides = tuple(step // self.array.itemsize for step in self.array.strides)
        return {**self.array.__cuda_array_interface__, "strides": strides}
"""
)
TENSOR_STRIDES_IN_BYTES = (
    CHANGED
    + """
class Changed(Changed):
    def __dlpack__(self, **request):
        capsule = self.array.__dlpack__(**request)
        tensor = tensors.Capsule(capsule).tensor
        for axis in range(tensor.ndim):
            tensor.strides[axis] *= self.array.itemsize
        return capsule
"""
)
NO_TENSORS = CHANGED + "\ndel Changed.__dlpack__"
NO_MEMORY = CHANGED + (
    "\nclass Changed(Changed):\n    __cuda_array_interface__ = property(\n"
    "        lambda self: {**self.array.__cuda_array_interface__, 'data': (4096, False)})"
)
#: The checks that a fault is looked for in: entries, elements, layouts, order of work, tensors.
ONLY = ("I1", "I3", "I6", "I8", "P1", "DL2")


@pytest.mark.parametrize(
    ("source", "cause", "count"),
    [
        (FREED, causes.FREED, 40),
        (STRIDES_IN_ELEMENTS, causes.STRIDES_IN_ELEMENTS, 20),
        (TENSOR_STRIDES_IN_BYTES, causes.TENSOR_STRIDES_IN_BYTES, 2),
        (NO_TENSORS, causes.NO_TENSORS, 4),
        (NO_MEMORY, causes.UNKNOWN, 10),
    ],
    ids=["freed", "strides-in-elements", "tensor-strides-in-bytes", "no-tensors", "no-memory"],
)
def test_root_cause_is_the_first_line_and_has_its_own_correction(
    source: str, cause: causes.Cause, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver_kind: str
) -> None:
    if cause is causes.FREED and driver_kind != "simulated":
        pytest.skip("only the simulated driver knows that memory was freed")
    jobs = [each.id for each in select(ONLY) if "producer" in each.parts]
    found = wrong_libraries.check(tmp_path, monkeypatch, source, *jobs)
    failed = [each for each in found.outcomes if each.status == FAILED and "no __dlpack__" not in each.message]
    if cause is causes.NO_TENSORS:
        failed = [each for each in found.outcomes if each.status == FAILED]
    assert len(failed) >= count
    assert {(each.cause, each.advice) for each in failed} == {cause}
    first = failures(found).strip().splitlines()[0]
    assert first == f"CAUSE  {cause.text}: {len(failed)} checks fail by it"
    assert html.escape(first.removeprefix("CAUSE  ")) in page([found])


def test_array_that_the_check_drops_is_not_called_freed_too_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver_kind: str
) -> None:
    source = CHANGED + (
        "\nclass Changed(Changed):\n    def __dlpack__(self, **request):\n"
        "        self.tensor = parts.tensor(parts.Memory(4096), (1024,))\n        self.tensor.owner = None\n"
        "        return self.tensor.__dlpack__(**request)"
    )
    (outcome,) = wrong_libraries.check(
        tmp_path, monkeypatch, source, "DL6.tensor-keeps-the-memory-until-its-deleter"
    ).outcomes
    assert (outcome.status, outcome.cause) == (FAILED, "")


def _outcome(check: str, message: str, *, status: str = FAILED, cause: str = "", level: str = "must") -> Outcome:
    return Outcome(check, check.partition(".")[0], "A title.", level, status, message, cause=cause)


def test_same_error_of_three_checks_is_a_root_cause() -> None:
    error = "unexpected OSError: no memory"
    same = [_outcome("I1.a", error), _outcome("I2.b.1", error, level="should"), _outcome("DL1.c", error)]
    other = [_outcome("I3.d.1", "seen"), _outcome("I3.d.2", "seen too")]
    assert by_cause([*other, *same]) == [("OSError: no memory", [same[0], same[2], same[1]]), ("", other)]
    assert by_cause([*other, *same[1:]]) == [("", other), ("", [same[1]]), ("", [same[2]])]


def test_largest_root_cause_is_first_and_known_differences_have_none() -> None:
    small, large = (
        [_outcome("I1.a", "seen", cause="small")],
        [_outcome(f"I8.b.{n}", "seen", cause="large") for n in "12"],
    )
    known = [_outcome(f"P1.c.{n}", "unexpected KeyError: 1", status=KNOWN) for n in "123"]
    passed = [_outcome("S1.d", "", status=PASSED)]
    groups = by_cause([*known, *passed, *small, *large])
    assert groups == [("large", large), ("small", small), ("", known)]


def test_group_of_a_cause_names_its_other_checks_in_full() -> None:
    run = Run("a", "1", "m", "simulated", [_outcome("I1.a", "seen", cause="c"), _outcome("I8.b.1", "seen", cause="c")])
    assert "    FAIL too: I8.b.1" in failures(run).splitlines()
