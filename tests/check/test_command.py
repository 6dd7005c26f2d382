"""The command ``cuarray check``: exit statuses, lists and report files."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cuarray.__main__ import main
from cuarray.check.outcome import FAILED, PASSED, Outcome
from cuarray.check.registry import all_checks
from cuarray.check.report.page import page
from cuarray.check.runner import Run


def test_cuarray_passes_every_check(driver_kind: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report, page, badge = tmp_path / "report.json", tmp_path / "page.html", tmp_path / "badge.md"
    status = main(["check", "cuarray", "--json", str(report), "--html", str(page), "--badge", str(badge)])
    printed = capsys.readouterr().out
    assert status == 0, printed
    (library,) = json.loads(report.read_text())["libraries"]
    # cuarray refuses vectors, which few libraries have.
    claimed = [each for each in library["checks"] if not each["check"].startswith("DL9.tensor-type-is-imported.")]
    assert {each["status"] for each in claimed} <= {"passed", "not run"}, printed
    assert library["passes"]
    assert "<h2>Checks</h2>" in page.read_text()
    assert "![CUDA Array Interface" in badge.read_text()


def test_driver_of_the_launcher_is_the_simulated_one(tmp_path: Path) -> None:
    pytest.importorskip("cuarray_sim")
    report = tmp_path / "report.json"
    command = ["-m", "cuarray_sim", "-m", "cuarray", "check", "cuarray", "--only", "P1.*", "--json", str(report)]
    environment = {name: value for name, value in os.environ.items() if name != "CUARRAY_DRIVER"}
    subprocess.run([sys.executable, *command], env=environment, check=True, capture_output=True, timeout=300)
    (library,) = json.loads(report.read_text())["libraries"]
    assert library["driver"] == "simulated"


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


def test_adapter_may_be_a_file(
    driver_kind: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in_a_file.py").write_text("from cuarray.check.adapters.cuarray import import_, read")
    assert main(["check", str(tmp_path / "in_a_file.py"), "--only", "I1.plain-array-is-imported"]) == 0
    monkeypatch.chdir(tmp_path)
    assert main(["check", "in_a_file.py", "--only", "I1.plain-array-is-imported"]) == 0
    assert capsys.readouterr().out.count("in_a_file unknown: 1 passed") == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.py", "there is no file 'missing.py'; an adapter is the name of a shipped one, a module such as"),
        ("folder/module", "there is no file 'folder/module'; an adapter is the name of a shipped one"),
        ("with-hyphen.py", "with-hyphen.py cannot be imported: 'with-hyphen' is no name in Python; rename the file"),
        ("json.py", "json.py has the name of another module, 'json' of"),
    ],
)
def test_name_that_is_no_adapter_is_explained_in_a_line(
    name: str,
    message: str,
    driver_kind: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for file in ("with-hyphen.py", "json.py"):
        (tmp_path / file).write_text("def import_(obj): ...")
    monkeypatch.chdir(tmp_path)
    assert main(["check", name]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith(f"cuarray check: {message}")
    assert len(printed.splitlines()) == 1


def test_unknown_check_sets_exit_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "cuarray", "--only", "Z9"]) == 2
    assert "no check has the name, clause or part 'Z9'" in capsys.readouterr().err


def test_list_names_checks_with_level_and_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--list", "--only", "I5"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("I5: For zero-size arrays, use 0 here.")
    assert "must   I5.zero-size-array-has-pointer-zero.0" in printed


def _pytest(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest as an author of a library does; an environment without the wheel's entry point names the plugin."""
    plugin = []
    if not any(each.name == "cuarray_check" for each in importlib.metadata.entry_points(group="pytest11")):
        source = Path(__file__).parents[2] / "python/cuarray/_cuarray_pytest"
        shutil.copytree(source, tmp_path / "_cuarray_pytest")
        plugin = ["-p", "_cuarray_pytest"]
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            *plugin,
            "--pyargs",
            "cuarray.check",
            "-p",
            "no:cacheprovider",
            "-q",
            *arguments,
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=False,
    )


def test_pytest_has_a_test_for_each_check(driver_kind: str, tmp_path: Path) -> None:
    (tmp_path / "mylib.py").write_text(
        "from cuarray.check.adapters.cuarray import import_ as sound\n"
        "def import_(obj, *, stream=None):\n"
        "    if obj.__cuda_array_interface__['typestr'] == '<f8': raise TypeError('no doubles')\n"
        "    return sound(obj)\n"
    )
    finished = _pytest(tmp_path, "--library", "mylib", "-k", "type-is-imported or I5.zero")
    assert "1 failed, 16 passed, 21 skipped" in finished.stdout, finished.stdout + finished.stderr
    assert "test_library_passes_check[mylib-I3.type-is-imported.f8]" in finished.stdout
    assert "seen: unexpected TypeError: no doubles" in finished.stdout


def test_pytest_without_library_is_a_usage_error(tmp_path: Path) -> None:
    finished = _pytest(tmp_path)
    assert finished.returncode != 0
    assert "needs --library ADAPTER" in finished.stdout + finished.stderr


def test_pair_has_its_own_checks(driver_kind: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report = tmp_path / "pair.json"
    assert main(["check", "cuarray", "cuarray.check.adapters.cuarray", "--json", str(report)]) == 0
    (pair,) = json.loads(report.read_text())["libraries"]
    assert pair["library"] == "cuarray → cuarray"
    assert {"passed", "not run"} == {each["status"] for each in pair["checks"]}
    assert all(".pair-" in each["check"] for each in pair["checks"])


UNORDERED = (
    "import cuarray\nfrom cuarray.check import parts\nfrom cuarray.check.adapters.cuarray import new_stream\n"
    "def import_(obj, *, stream=None):\n    return cuarray.from_cuda_array_interface(obj.__cuda_array_interface__, sync=False)\n"
    "def read(array, *, stream=None):\n    return parts.gather(array.ptr, array.shape, array.strides, array.itemsize)\n"
)


def _check_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, only: str) -> tuple[int, dict[str, str]]:
    """Check cuarray as the producer and a consumer of this source; return the exit status, and the status of each check."""
    (tmp_path / "unordered.py").write_text(source)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    report = tmp_path / "pair.json"
    status = main(["check", "cuarray", "unordered", "--only", only, "--json", str(report)])
    (pair,) = json.loads(report.read_text())["libraries"]
    return status, {each["check"]: each["status"] for each in pair["checks"]}


def test_pair_with_a_wrong_consumer_fails(
    driver_kind: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, _ = _check_pair(tmp_path, monkeypatch, UNORDERED, "S2")
    assert status == 1
    printed = capsys.readouterr().out
    assert "FAIL  S2.pair-orders-the-consumer-after-the-producer" in printed
    assert "import cuarray.check.adapters.cuarray as producer\n      import unordered as consumer" in printed


@pytest.mark.parametrize("known", ["S2.import-waits-*", "S2.pair-orders-the-*"])
def test_known_difference_of_the_consumer_is_one_of_the_pair(
    known: str, driver_kind: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = UNORDERED + f"KNOWN = {{{known!r}: 'issue 7'}}\n"
    status, found = _check_pair(tmp_path, monkeypatch, source, "S2.pair-orders-the-consumer-after-the-producer")
    assert (status, set(found.values())) == (0, {"known difference"})
    assert "known: unordered: issue 7" in capsys.readouterr().out


def test_known_difference_of_the_other_role_does_not_excuse_a_pair(
    driver_kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = UNORDERED + "KNOWN = {'P1.*': 'a producer', 'I8.*': 'a layout'}\n"
    status, found = _check_pair(tmp_path, monkeypatch, source, "S2.pair-orders-the-consumer-after-the-producer")
    assert (status, set(found.values())) == (1, {"failed"})


def test_pair_passes_although_the_consumer_is_known_to_fail_alone(
    driver_kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = UNORDERED + "KNOWN = {'I8.layout-is-imported.sliced': 'issue 8'}\n"
    status, found = _check_pair(tmp_path, monkeypatch, source, "I8.pair-keeps-the-layout.sliced")
    assert (status, set(found.values())) == (0, {"passed"})


def test_checks_of_each_side_of_a_pair_exist() -> None:
    own = {each.id for each in all_checks()}
    for pair in all_checks(pairs=True):
        for side in (pair.of_producer, pair.of_consumer):
            assert own.intersection(side) or not side, pair.id
        assert pair.of_producer or pair.of_consumer, pair.id


def test_page_of_pairs_is_a_square_with_links_to_the_failures() -> None:
    failed = Outcome("I8.pair-x", "I8", "A title.", "must", FAILED, "seen", reproduction="print()")
    passed = Outcome("I8.pair-x", "I8", "A title.", "must", PASSED)
    runs = [
        Run(
            f"{producer} → {consumer}",
            "1 → 2",
            "m",
            "simulated",
            [failed if (producer, consumer) == ("a", "b") else passed],
        )
        for producer in ("a", "b")
        for consumer in ("a", "b", "c")
    ]
    text = page(runs)
    assert "<th>producer ↓ consumer →<th scope=col>a<th scope=col>b<th scope=col>c<tr><th scope=row>a" in text
    assert "<a class=fail href='#1'>0/1 (1 FAIL)</a>" in text
    assert text.count("<a class=pass ") == 5
    assert "<h2 id='1'>a 1 → b 2</h2><h3 id='1-I8.pair-x'>" in text
    assert "http" not in text.replace("https://www.w3.org", "")


def test_note_of_the_adapter_is_in_the_report(
    driver_kind: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "noted.py").write_text("NOTE = 'never run'\ndef import_(obj, *, stream=None): raise TypeError\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    report = tmp_path / "report.json"
    main(["check", "noted", "--only", "I10", "--json", str(report)])
    assert capsys.readouterr().out.rstrip().endswith("; noted: never run")
    assert json.loads(report.read_text())["libraries"][0]["note"] == "noted: never run"


def test_page_of_libraries_has_a_row_for_each_check() -> None:
    failed = Outcome("I1.x", "I1", "A title.", "should", FAILED, "seen")
    text = page([Run("mylib", "1", "m", "simulated", [failed])])
    assert "<code>I1.x</code><td title='seen'><a href='#0-I1.x'><span class=should>should failed</span></a>" in text
