"""``assert_ordered``: ordered work passes, and work without an edge fails with the simulator's report.

Blocks that fail run in their own processes, because a finding fails a test under ``--cuarray-sim``.
"""

from __future__ import annotations

import driver_probe
import pytest

import cuarray
from cuarray.testing import assert_ordered

PROGRAM = """
import cuarray
from cuarray.check import parts
from cuarray.testing import assert_ordered

stream, other = parts.stream(), parts.stream()
array = cuarray.device_array(1000, "<f4", stream=stream)

def exchange(wait):
    with assert_ordered(stream):
        parts.fill(array.ptr, 7, 4000, stream)
        if wait:
            parts.wait(other, stream)
        elements = parts.bytes_at(array.ptr, 4000, other)
        assert parts.is_simulated() or elements == bytes([7]) * 4000

def outcome(wait):
    try:
        exchange(wait)
    except AssertionError as error:
        return str(error)
    return "passes"

"""


def run(program: str) -> str:
    return driver_probe.run_python(PROGRAM + program)


def test_ordered_exchange_passes(driver: str) -> None:
    stream = cuarray.stream()
    with assert_ordered(stream):
        array = cuarray.device_array(1000, "<f4", stream=stream)
        array[...] = 3
        values = cuarray.as_cuda_array(array).copy_to_host()
    assert (values == 3).all()


def test_read_without_an_edge_fails_with_the_report(simulator: str) -> None:
    lines = run("print(outcome(wait=False))").splitlines()
    assert lines[0] == "not ordered: data-race"
    assert "data-race" in lines[1]
    assert any("missing: " in line for line in lines)


def test_read_without_an_edge_fails_each_time(simulator: str) -> None:
    printed = run("print([outcome(wait).partition(':')[0] for wait in (False, False, True, False)])")
    assert printed.strip() == "['not ordered', 'not ordered', 'passes', 'not ordered']"


def test_finding_before_the_block_is_not_counted(simulator: str) -> None:
    program = (
        "parts.fill(array.ptr, 7, 4000, stream); parts.bytes_at(array.ptr, 4000, other); parts.wait(stream, other)\n"
    )
    assert run(program + "print(outcome(wait=True))").strip() == "passes"


def test_exception_of_the_block_passes_through(driver: str) -> None:
    with pytest.raises(KeyError), assert_ordered(1):
        raise KeyError("of the user")


def test_unequal_values_fail_the_block_on_a_gpu(driver: str) -> None:
    if driver == "simulated":
        pytest.skip("the simulated driver proves the order; test_read_without_an_edge_fails_with_the_report")
    assert run("print(outcome(wait=False) != 'passes')").strip() == "True"
