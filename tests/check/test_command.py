"""The command ``cuarray check``: exit statuses, lists and report files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cuarray.__main__ import main


def test_cuarray_passes_every_check(driver_kind: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report, page, badge = tmp_path / "report.json", tmp_path / "page.html", tmp_path / "badge.md"
    status = main(["check", "cuarray", "--json", str(report), "--html", str(page), "--badge", str(badge)])
    printed = capsys.readouterr().out
    assert status == 0, printed
    (library,) = json.loads(report.read_text())["libraries"]
    assert {each["status"] for each in library["checks"]} <= {"passed", "not run"}, printed
    assert library["passes"]
    assert "<h2>Checks</h2>" in page.read_text()
    assert "brightgreen" in badge.read_text()


def test_failed_must_sets_exit_status_1(
    driver_kind: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wrong.py").write_text("def import_(obj, *, stream=None): raise OSError('no')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert main(["check", "wrong", "--only", "I1.plain-array-is-imported"]) == 1
    printed = capsys.readouterr().out
    for expected in (
        "FAIL  I1.plain-array-is-imported",
        "text: ",
        "seen: unexpected OSError: no",
        "fix: ",
        "shown by:",
    ):
        assert expected in printed


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import no_such_module", "No module named 'no_such_module'"),
        ("import os; os.abort()", "crashed with SIGABRT"),
        ("x = 1", "neither make() nor import_()"),
        ("NOT_CLAIMED = {'mask'}\ndef import_(obj): ...", "NOT_CLAIMED names 'mask'"),
    ],
    ids=["import-error", "crash", "empty", "unknown-part"],
)
def test_adapter_that_cannot_be_loaded_sets_exit_status_2(
    driver_kind: str,
    source: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "unloadable.py").write_text(source)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert main(["check", "unloadable"]) == 2
    assert message in capsys.readouterr().err


def test_unknown_check_sets_exit_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "cuarray", "--only", "Z9"]) == 2
    assert "no check has the name, clause or part 'Z9'" in capsys.readouterr().err


def test_list_names_checks_with_level_and_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--list", "--only", "I5"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("I5: For zero-size arrays, use 0 here.")
    assert "must   I5.zero-size-array-has-pointer-zero.0" in printed
