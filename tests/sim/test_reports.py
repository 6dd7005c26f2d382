"""Findings are printed on standard error, written to a file of each format, and set the exit status."""

from __future__ import annotations

import html.parser
import json
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

import cuarray_sim

Run = Callable[..., "CompletedProcess[str]"]

RACE = """
import ctypes, sys
from ctypes import byref, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p
driver = ctypes.CDLL("libcuda.so.1")
context, pointer, streams = c_void_p(), c_uint64(), [c_void_p(), c_void_p()]
driver.cuInit(0)
driver.cuDevicePrimaryCtxRetain(byref(context), 0)
driver.cuCtxPushCurrent_v2(context)
driver.cuMemAlloc_v2(byref(pointer), c_size_t(64))
for stream in streams:
    driver.cuStreamCreate(byref(stream), c_uint(1))
driver.cuMemsetD8Async(pointer, c_ubyte(1), c_size_t(64), streams[0])
"""
FILL = "driver.cuMemsetD8Async(pointer, c_ubyte(2), c_size_t(32), streams[1])  # <here> & 'there'\n"
SYNCHRONIZE = "driver.cuStreamSynchronize(streams[0])\n"
END = """
driver.cuCtxSynchronize()
driver.cuMemFree_v2(pointer)
for stream in streams:
    driver.cuStreamDestroy_v2(stream)
"""
BAD, GOOD = RACE + FILL + END, RACE + SYNCHRONIZE + FILL + END
HEADLINE = "stream 2 writes 32 bytes that stream 1 writes, and nothing orders the two"


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], str]:
    """Write a program and return its name."""

    def program(text: str) -> str:
        (tmp_path / "program.py").write_text(text)
        return "program.py"

    return program


def launch(run: Run, *arguments: str, **variables: str) -> tuple[int, str]:
    done = run("-m", "cuarray_sim", *arguments, **variables)
    return done.returncode, done.stderr


def test_finding_is_printed_and_exit_status_is_66(run: Run, program: Callable[[str], str]) -> None:
    status, errors = launch(run, program(BAD))
    assert status == 66
    assert errors.startswith(f"[1] data-race: {HEADLINE}\n")
    assert f"program.py:13 in <module>\n          {FILL}" in errors
    assert "  missing: record an event on stream 1" in errors
    assert re.search(
        r"  stream 1: made at \S*program.py:\d+ in <module>\n  stream 2: made at \S*program.py:\d+ in <module>\n",
        errors,
    )


def test_program_without_finding_exits_with_0_and_no_output(run: Run, program: Callable[[str], str]) -> None:
    assert launch(run, program(GOOD)) == (0, "")


@pytest.mark.parametrize(
    ("ending", "status"),
    [("sys.exit(3)", 3), ("raise ValueError", 1), ("sys.exit(0)", 66), ("sys.exit(256)", 66), ("sys.exit('no')", 1)],
)
def test_non_zero_exit_status_of_the_program_is_kept(
    run: Run, program: Callable[[str], str], ending: str, status: int
) -> None:
    done, errors = launch(run, program(BAD + ending))
    assert done == status
    assert HEADLINE in errors


def test_finding_in_exit_handler_sets_the_exit_status(run: Run, program: Callable[[str], str]) -> None:
    status, errors = launch(run, program(RACE + f"import atexit\n@atexit.register\ndef late():\n    {FILL}    pass\n"))
    assert status == 66
    assert HEADLINE in errors
    assert "in late" in errors


def test_report_and_exit_status_settings_work_without_the_launcher(
    run: Run, program: Callable[[str], str], tmp_path: Path
) -> None:
    variables = {
        "CUARRAY_SIM_REPORT": "out-%p.json",
        "CUARRAY_SIM_EXIT_STATUS": "9",
        "LD_LIBRARY_PATH": str(cuarray_sim.library_path().parent),
    }
    done = run(program(BAD), **variables)
    assert done.returncode == 9
    (out,) = tmp_path.glob("out-*.json")
    assert [each["kind"] for each in json.loads(out.read_text())["findings"]] == ["data-race"]
    assert run(program(GOOD), **variables).returncode == 0
    assert list(tmp_path.glob("out-*.json")) == [out]
    assert run(program(BAD), **variables | {"CUARRAY_SIM_QUIET": "1"}).stderr == ""


class _Page(html.parser.HTMLParser):
    """Parser that collects elements and texts, and checks that every opened element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_report_format_follows_the_file_name(run: Run, program: Callable[[str], str], tmp_path: Path) -> None:
    path = program(BAD)
    for name in ("out.txt", "out.json", "out.trace.json", "out.html", "out.sarif"):
        assert launch(run, "--report", name, path)[0] == 66

    assert (tmp_path / "out.txt").read_text().startswith(f"[1] data-race: {HEADLINE}\n")

    report = json.loads((tmp_path / "out.json").read_text())
    (finding,) = report["findings"]
    assert [side["site"]["user"]["line"] for side in finding["sides"]] == [12, 13]

    trace = json.loads((tmp_path / "out.trace.json").read_text())["traceEvents"]
    slices = [event for event in trace if event["ph"] == "X"]
    assert len(slices) == len(report["operations"])
    assert [event["name"] for event in slices if "cname" in event] == ["cuMemsetD8Async"] * 2
    starts = {event["id"]: event for event in trace if event["ph"] == "s"}
    for end in (event for event in trace if event["ph"] == "f"):
        assert starts.pop(end["id"])["ts"] < end["ts"]
    assert starts == {}

    page = _Page((tmp_path / "out.html").read_text())
    assert "script" not in page.elements
    assert page.elements.count("svg") >= 3
    assert FILL.strip() in page.texts
    assert "no edge" in page.texts

    (result,) = json.loads((tmp_path / "out.sarif").read_text())["runs"][0]["results"]
    assert result["ruleId"] == "data-race"
    assert result["message"]["text"].startswith(f"{HEADLINE}; missing: ")
    places = [each["physicalLocation"] for each in result["locations"] + result["relatedLocations"]]
    assert [place["region"]["startLine"] for place in places] == [13, 12]
    assert result["partialFingerprints"] == {"finding/v1": finding["fingerprint"]}


def test_earlier_report_suppresses_its_findings_and_no_others(
    run: Run, program: Callable[[str], str], tmp_path: Path
) -> None:
    assert launch(run, "--report", "old.json", program(BAD))[0] == 66
    # Inserted lines do not make a finding new.
    assert launch(run, "--suppressions", "old.json", program("\n\n" + BAD)) == (0, "")
    other = BAD.replace(FILL.strip(), FILL.strip() + "  # another line")
    assert other != BAD
    status, errors = launch(run, "--suppressions", "old.json", "--report", "new.json", program(other))
    assert status == 66
    assert "[1] data-race" in errors
    assert "old.json:1: nothing was suppressed by: data-race: cuMemsetD8Async at " in errors
    done = run("-m", "cuarray_sim", "diff", "old.json", "new.json")
    gone, added = done.stdout.splitlines()
    assert gone.startswith("- program.py:13: data-race: ")
    assert added.startswith("+ program.py:13: data-race: ")
    assert "# another line" in added
    assert done.returncode == 66
    assert run("-m", "cuarray_sim", "diff", "old.json", "old.json").returncode == 0
    (tmp_path / "lines.txt").write_text("data-race library=numba\n")
    wrong = run("-m", "cuarray_sim", "diff", "lines.txt", "old.json")
    assert wrong.returncode == 2
    assert "lines.txt is no report with fingerprints" in wrong.stderr
    assert "diff compares two reports" in run("-m", "cuarray_sim", "diff", "old.json").stderr


def test_workflow_of_github_shows_findings_beside_their_lines(
    run: Run, program: Callable[[str], str], tmp_path: Path
) -> None:
    settings = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(tmp_path)}
    errors = run("-m", "cuarray_sim", program(BAD), **settings).stderr
    line = f"::error file=program.py,line=13,title=cuarray-sim data-race::{HEADLINE}; missing: "
    assert errors.splitlines()[-1].startswith(line)
    (tmp_path / "test_bad.py").write_text(f"def test_bad():\n{textwrap.indent(BAD, '    ')}")
    for processes in ((), ("--numprocesses", "2")):
        found = run("-m", "pytest", "--cuarray-sim", *processes, "test_bad.py", **settings).stdout
        (command,) = (each for each in found.splitlines() if each.startswith("::"))
        assert command.startswith("::error file=test_bad.py,line=14,title=cuarray-sim data-race::")


def test_report_is_written_for_a_program_without_findings(
    run: Run, program: Callable[[str], str], tmp_path: Path
) -> None:
    assert launch(run, "--report", "out.html", program(GOOD)) == (0, "")
    assert "Nothing found" in _Page((tmp_path / "out.html").read_text()).texts
    # Also for a program that never loads the driver.
    status, errors = launch(run, "--report", "none.json", program("print(1)"))
    assert (status, errors) == (0, "cuarray-sim: this process made no driver call, so nothing was checked\n")
    assert json.loads((tmp_path / "none.json").read_text())["findings"] == []


def test_leaks_are_reported_only_on_request(run: Run, program: Callable[[str], str]) -> None:
    path = program(RACE)
    assert launch(run, path) == (0, "")
    assert launch(run, "--report", "out.txt", path) == (0, "")
    status, errors = launch(run, "--leaks", "--report", "out.txt", path)
    assert status == 66
    assert "leak: 64 bytes of device memory are never freed" in errors
    assert launch(run, path, CUARRAY_SIM_LEAKS="1")[0] == 66


def test_arrays_that_live_until_the_interpreter_ends_are_no_leak(run: Run, program: Callable[[str], str]) -> None:
    path = program("""
import cuarray
array = cuarray.to_device([1.0])
imported = cuarray.from_dlpack(array)
capsule = array.__dlpack__()
""")
    assert launch(run, "--leaks", path) == (0, "")


def test_child_process_writes_its_own_report_beside_its_parents(
    run: Run, program: Callable[[str], str], tmp_path: Path
) -> None:
    (tmp_path / "child.py").write_text(BAD)
    path = program("import subprocess, sys; print(subprocess.run([sys.executable, 'child.py']).returncode)\n")
    done = run("-m", "cuarray_sim", "--report", "out.json", path)
    assert (done.returncode, done.stdout) == (0, "66\n")
    assert json.loads((tmp_path / "out.json").read_text())["findings"] == []
    (child,) = tmp_path.glob("out.*.json")
    assert len(json.loads(child.read_text())["findings"]) == 1


def test_forked_child_does_not_overwrite_its_parents_report(
    run: Run, program: Callable[[str], str], tmp_path: Path
) -> None:
    status, errors = launch(run, "--report", "out.json", program(BAD + "import os\nif os.fork(): os.wait()\n"))
    assert status == 66
    assert errors.count(HEADLINE) == 1
    assert [path.name for path in tmp_path.glob("out*")] == ["out.json"]
    assert len(json.loads((tmp_path / "out.json").read_text())["findings"]) == 1


def test_suppressed_findings_are_counted_in_the_report(run: Run, program: Callable[[str], str], tmp_path: Path) -> None:
    (tmp_path / "known.txt").write_text("data-race library=ctypes call=cuMemset*\nleak file=*\n")
    path = program(BAD)
    assert launch(run, "--suppressions", "known.txt", "--report", "out.json", path) == (
        0,
        f"cuarray-sim: {tmp_path}/known.txt:2: nothing was suppressed by: leak file=*\n",
    )
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["findings"] == []
    assert [(each["line"], each["count"]) for each in report["suppressed"]] == [(1, 1), (2, 0)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--report", "out.pdf"],
            "CUARRAY_SIM_REPORT=*out.pdf is not valid; a file that ends with .txt",
        ),
        (["--report", "no/such/folder/out.txt"], "no/such/folder/out.txt is not valid; *can be written"),
        (["--suppressions", "none"], "none: No such file"),
        (["--suppressions", "wrong.txt"], "wrong.txt: line 2: races is not a kind of finding"),
    ],
)
def test_wrong_settings_are_refused_before_the_program_runs(
    run: Run, program: Callable[[str], str], tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "wrong.txt").write_text("\nraces library=x\n")
    done = run("-m", "cuarray_sim", *arguments, program("print('ran')"))
    assert (done.returncode, done.stdout) == (2, "")
    for part in message.split("*"):
        assert part in done.stderr


@pytest.mark.parametrize("name", ["out.txt", "/proc/out.txt", "/proc/out-%p.txt"])
def test_unwritable_report_is_refused_before_the_program_runs(
    run: Run, program: Callable[[str], str], tmp_path: Path, name: str
) -> None:
    (tmp_path / "out.txt").mkdir()
    done = run("-m", "cuarray_sim", "--report", name, program("print('ran')"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "can be written is expected" in done.stderr


def test_report_that_becomes_unwritable_is_an_error_message_and_no_crash(
    run: Run, program: Callable[[str], str], tmp_path: Path
) -> None:
    status, errors = launch(run, "--report", "out.txt", program(GOOD + "\nimport os; os.mkdir('out.txt')\n"))
    assert status == 0
    assert "out.txt: Is a directory" in errors


def test_program_can_read_and_clear_its_own_findings(run: Run, program: Callable[[str], str]) -> None:
    path = program(
        BAD
        + """
import cuarray_sim, json
(finding,) = cuarray_sim.findings()["findings"]
assert finding["kind"] == "data-race" and finding["sides"][1]["site"]["user"]["line"] == 13
assert cuarray_sim.report() in cuarray_sim.report("text") and "data-race" in cuarray_sim.report()
assert "\\x1b[" in cuarray_sim.report("coloured") and "<svg" in cuarray_sim.report("html")
assert json.loads(cuarray_sim.report("trace"))["traceEvents"]
watched = cuarray_sim.findings()["watched"]
assert watched == cuarray_sim.statistics()["watched"] and watched["history"] > 0 == watched["bytes"]
try:
    cuarray_sim.report("pdf")
except ValueError as error:
    assert "'pdf'" in str(error) and "'html'" in str(error)
cuarray_sim.clear_findings()
assert cuarray_sim.findings()["findings"] == [] and cuarray_sim.report() == ""
"""
    )
    assert launch(run, path) == (0, "")
