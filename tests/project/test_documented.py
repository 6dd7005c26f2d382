"""The page of environments as documented: its rows, and their comparison with new results."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from documented import page
from documented.page import Result, Step
from documented.probes import LIBRARIES

DAY = datetime.date(2026, 11, 29)


def result(line: str = "", version: str = "1.2") -> Result:
    return Result("RMM", "rmm-cu13", version, 2_500_000_000, [Step("an allocation", line)])


def test_row_has_the_version_the_size_and_the_refusal() -> None:
    (row,) = page.rows(result("refused"), "3.13.0", DAY)
    assert row == "| RMM | `pip install rmm-cu13` | 1.2 | 3.13.0 | 2026-11-29 | 2.5 GB | an allocation | `refused` |"


def test_line_has_no_paths_addresses_and_bars() -> None:
    assert page.shortened("a | b in /usr/lib/x.so at 0x7f12ab") == "a \\| b in …/x.so at …"
    assert len(page.shortened("x" * 1000)) <= page.LONGEST


def test_other_version_is_no_difference_and_another_result_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "PAGE", tmp_path / "environments.md")
    page.write([result("RMM 25.4 refused")], "3.13.0")
    assert page.differences([result("RMM 26.10 refused", "1.3")]) == []
    assert page.differences([result()]) == [
        "RMM 1.2, an allocation: works, and the page says `RMM ….… refused`",
    ]


def test_page_has_a_row_for_each_probe() -> None:
    written = page.PAGE.read_text(encoding="utf-8")
    for library, (packages, probes) in LIBRARIES.items():
        assert f"| {library} | `pip install {packages}` |" in written
        installed = f"| {library} | `pip install {packages}` | - |" not in written
        assert not installed or all(f" | {probe} | " in written for probe in probes), library
