"""``python -m cuarray_sim --selftest`` finds a planted bug of each kind, and says which are not searched for."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from cuarray_sim.findings_report import KINDS
from cuarray_sim.selftest import CASES

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_selftest_has_a_case_of_each_kind() -> None:
    assert {case.kind for case in CASES} == set(KINDS)


@pytest.mark.parametrize("schedule", ["lazy", "eager", "random:7"])
def test_selftest_finds_each_planted_bug(run: Run, schedule: str) -> None:
    done = run("-m", "cuarray_sim", "--selftest", CUARRAY_SIM_SCHEDULE=schedule, CUARRAY_SIM_QUIET="1")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.splitlines()[-1] == f"cuarray-sim: {len(CASES)} of {len(CASES)} planted bugs were found"
    assert [line.split()[-1] for line in done.stdout.splitlines()[:-1]] == ["found"] * len(CASES)


@pytest.mark.parametrize(
    ("setting", "value"),
    sorted({case.off for case in CASES if case.off is not None} | {("CUARRAY_SIM_FINDINGS", "0")}),
)
def test_selftest_names_the_setting_that_turns_a_search_off(run: Run, setting: str, value: str) -> None:
    done = run("-m", "cuarray_sim", "--selftest", **{setting: value})
    assert done.returncode == 1
    off = [case for case in CASES if setting == "CUARRAY_SIM_FINDINGS" or case.off == (setting, value)]
    assert done.stdout.count(f"not searched: {setting}={value}") == len(off)
    assert f"{len(CASES) - len(off)} of {len(CASES)} planted bugs were found" in done.stdout


def test_selftest_fails_if_a_suppression_hides_a_planted_bug(run: Run) -> None:
    run("-c", "open('known.txt', 'w').write('leak call=*')")
    done = run("-m", "cuarray_sim", "--selftest", CUARRAY_SIM_SUPPRESSIONS="known.txt")
    assert done.returncode == 1
    assert "NOT FOUND" in done.stdout
