"""`make gpu` has all tests in its slices, fits into its limits, and its results become a page."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path
from xml.etree import ElementTree

import pytest
from generated import differences
from gpu import report, results, run, slices
from gpu.facts import comparison
from gpu.facts.recorder import Recorder, Recording
from gpu.file_run import FileRun, Outcome
from gpu.packages import CARRIED, DIST

ROOT = Path(__file__).parents[2]
MOST_BYTES = 60 << 20


def test_working_tree_and_wheels_are_under_60_mib() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    files = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    wheels = [*DIST.glob("*.whl")]
    assert wheels, "there are no wheels to measure"
    carried = [file for file in CARRIED.rglob("*") if file.is_file()]
    total = sum(file.stat().st_size for file in files + wheels + carried if file.is_file())
    assert total < MOST_BYTES, f"{total / (1 << 20):.1f} MiB"


def test_each_folder_of_tests_is_in_a_slice_or_is_left_out_for_a_reason() -> None:
    in_slices = {path for each in slices.SLICES for path in each.paths}
    for folder in sorted(path for path in (ROOT / "tests").iterdir() if any(path.rglob("*.py"))):
        if folder.name == "__pycache__":
            continue
        name = f"tests/{folder.name}"
        assert (name in slices.LEFT_OUT) != any(path == name or path.startswith(f"{name}/") for path in in_slices), name


def test_slices_name_files_that_exist() -> None:
    for each in (*slices.SLICES, slices.PLANTED):
        assert each.files()
    files = {file for _, file in slices.files(rehearsal=False)}
    assert {*slices.SLOW, *slices.NOT_REHEARSED} <= files


def test_files_whose_library_is_missing_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    files = [file for _, file in slices.files(rehearsal=False)]
    monkeypatch.setattr(slices, "LIBRARIES", {"tests/kernels/": "pytest", "tests/pytorch/": "no_such_library"})
    missing = {file for file in files if slices.missing_library(file) == "no_such_library"}
    assert missing == {"tests/pytorch/test_exchange.py", "tests/pytorch/test_streams.py"}


def test_junit_file_is_complete_after_each_file_of_tests(tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    junit = results.JUnit(file)
    for name in ("tests/a.py", "tests/b.py"):
        outcomes = [
            Outcome(f"{name}::test_one", "passed", 0.5),
            Outcome(f"{name}::test_two", "hung", 5.0, "a \x00 <b>"),
        ]
        junit.add(FileRun("exchange", name, outcomes, problem="it crashed"))
        suites = ElementTree.parse(file).getroot()
    assert [suite.get("name") for suite in suites] == ["tests/a.py", "tests/b.py"]
    assert [case.get("name") for case in suites[0]] == ["test_one", "test_two", "the file itself"]
    assert [[(child.tag, child.get("type"), child.text) for child in case] for case in suites[0]] == [
        [],
        [("error", "hung", "a ? <b>")],
        [("error", "error", "it crashed")],
    ]


def test_large_junit_file_keeps_no_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "MOST_BYTES", 300)
    junit = results.JUnit(tmp_path / "junit.xml")
    for number in range(3):
        junit.add(FileRun("exchange", f"tests/{number}.py", [Outcome("test", "failed", 0.0, "x" * 1000)]))
    lengths = [len(case[0].text or "") for suite in ElementTree.parse(junit.file).getroot() for case in suite]
    assert lengths == [1000, 200, 200]


def test_jobs_that_end_at_the_same_time_lose_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, reason = 4, "it is not installed"
    end = threading.Barrier(jobs, timeout=60)

    def finish(*_: object) -> str:
        end.wait()
        return reason

    def run_file(slice_name: str, path: str, *_: object) -> FileRun:
        end.wait()
        return FileRun(slice_name, path, [Outcome("test", "passed")])

    libraries, files = [f"library {n}" for n in range(100)], [("exchange", f"tests/{n}.py") for n in range(100)]
    monkeypatch.setattr(slices, "kit_libraries", lambda: libraries)
    monkeypatch.setattr(slices, "files", lambda rehearsal: files)
    monkeypatch.setattr(run, "finished", finish)
    monkeypatch.setattr(run, "run_file", run_file)
    run.Run(tmp_path, 600.0, jobs).tests({})
    suites = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert sorted(suite.get("name") or "" for suite in suites) == sorted(path for _, path in files)
    assert json.loads((tmp_path / "kit.json").read_text())["left_out"] == dict.fromkeys(libraries, reason)
    assert json.loads((tmp_path / "summary.json").read_text())["tests"] == {"exchange": {"passed": len(files)}}


def test_recording_that_was_cut_off_is_read_from_its_journal(tmp_path: Path) -> None:
    journal = tmp_path / "facts.jsonl"
    recorder = Recorder("no driver", journal, seconds=1)
    recorder.note(item="memory.zero", fact="async", value="CUDA_SUCCESS")
    recorder.note(failed="memory.other", reason="took too long")
    recorder.journal.write('{"item": "memory.cut')
    recorder.journal.flush()
    found = Recording.read(journal)
    assert found.facts == {"memory.zero.async": "CUDA_SUCCESS"}
    assert found.failed == {"memory.other": "took too long"}


def test_comparison_tells_known_differences_from_unknown_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "known", lambda: [comparison.Known(("device.*",), "it is another device")])
    one = Recording(facts={"device.name": 1, "memory.a": 1, "memory.b": 1, "codes.c": 1})
    other = Recording(facts={"device.name": 2, "memory.a": 2, "memory.b": 1}, failed={"codes.c": "took too long"})
    found = comparison.differences(one, other)
    assert [(each.name, each.reason) for each in found] == [("device.name", "it is another device"), ("memory.a", None)]
    text, unknown = comparison.lines(one, other)
    assert unknown == 1
    assert "  memory.a: 1 / 2" in text
    assert "not answered by the second driver: codes.c: took too long" in text


def test_every_pattern_of_known_differences_matches_a_fact() -> None:
    facts = Recording.read(report.SIMULATED).facts
    for entry in comparison.known():
        for pattern in entry.facts:
            assert any(comparison.Known((pattern,), "").explains(name) for name in facts), pattern


def test_page_about_runs_is_the_generated_one() -> None:
    assert differences(report.INDEX, report.index()) == []


def test_report_of_a_run_names_failures_and_differences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, pages = tmp_path / "results", tmp_path / "gpu"
    folder.mkdir()
    about = {"simulated": False, "device": "NVIDIA H100", "kernel_module": "580.1", "driver_api": 13000}
    known = Recording.read(report.SIMULATED)
    name = next(name for name in known.facts if not any(entry.explains(name) for entry in comparison.known()))
    found = Recording(
        facts={**known.facts, name: "another value"}, failed={"memory.hang": "took too long"}, about=about
    )
    (folder / "facts.json").write_text(found.text(), encoding="utf-8")
    junit = results.JUnit(folder / "junit.xml")
    junit.add(
        FileRun("exchange", "tests/a.py", [Outcome("tests/a.py::test_one", "failed", 1.0, "first\nassert 1 == 2")])
    )
    kit = {"libraries": [], "left_out": {"rmm": "it is not installed"}}
    summary = {
        "seconds": 400.0,
        "jobs": 16,
        "complete": True,
        "libraries": {"torch": "2.11.0"},
        "not_run": ["tests/b.py"],
    }
    summary["tests"] = {"exchange": {"failed": 1}}
    for file, data in (
        ("kit.json", kit),
        ("summary.json", summary),
        ("timings.json", {"importing": {"problem": "late"}}),
    ):
        (folder / file).write_text(json.dumps(data), encoding="utf-8")
    for attribute, value in (("PAGES", pages), ("RECORDED", tmp_path / "recorded"), ("INDEX", tmp_path / "gpu.md")):
        monkeypatch.setattr(report, attribute, value)
    contents = tmp_path / "SUMMARY.md"
    contents.write_text("# Summary\n- [Runs on a GPU](results/gpu.md)\n- [other](other.md)\n", encoding="utf-8")
    monkeypatch.setattr(report, "SUMMARY", contents)
    (tmp_path / "recorded").mkdir()
    assert report.write(folder) == 0
    (page,) = pages.glob("*.md")
    assert page.stem.endswith("-nvidia-h100")
    text = page.read_text(encoding="utf-8")
    for line in (
        "- `tests/a.py::test_one` (failed): assert 1 == 2",
        f"| `{name}` | another value |",
        "- `memory.hang`: took too long",
        "Files that did not run: `tests/b.py`.",
        "- rmm left out: it is not installed",
    ):
        assert line in text
    assert f"(results/gpu/{page.name})" in contents.read_text(encoding="utf-8").splitlines()[2]
    assert page.stem in (tmp_path / "gpu.md").read_text(encoding="utf-8")


def test_report_refuses_results_of_the_simulated_driver(tmp_path: Path) -> None:
    (tmp_path / "facts.json").write_text(Recording(about={"simulated": True}).text(), encoding="utf-8")
    assert report.write(tmp_path) == 1
