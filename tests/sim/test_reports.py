"""What is found reaches people: on standard error, in a file of each format, and as the exit status."""

from __future__ import annotations

import html.parser
import json
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
    """Write a program, and give its name."""

    def program(text: str) -> str:
        (tmp_path / "program.py").write_text(text)
        return "program.py"

    return program


def launch(run: Run, *arguments: str, **variables: str) -> tuple[int, str]:
    done = run("-m", "cuarray_sim", *arguments, **variables)
    return done.returncode, done.stderr


def test_a_program_with_a_finding_says_so_and_ends_with_66(run: Run, program: Callable[[str], str]) -> None:
    status, said = launch(run, program(BAD))
    assert status == 66
    assert said.startswith(f"[1] data-race: {HEADLINE}\n")
    assert f"program.py:13 in <module>\n          {FILL}" in said
    assert "  missing: record an event on stream 1" in said


def test_a_program_without_one_ends_as_it_would(run: Run, program: Callable[[str], str]) -> None:
    assert launch(run, program(GOOD)) == (0, "")


@pytest.mark.parametrize(
    ("ending", "status"),
    [("sys.exit(3)", 3), ("raise ValueError", 1), ("sys.exit(0)", 66), ("sys.exit(256)", 66), ("sys.exit('no')", 1)],
)
def test_a_status_of_the_programs_own_is_kept(
    run: Run, program: Callable[[str], str], ending: str, status: int
) -> None:
    done, said = launch(run, program(BAD + ending))
    assert done == status
    assert HEADLINE in said


def test_what_is_found_after_the_program_counts_too(run: Run, program: Callable[[str], str]) -> None:
    status, said = launch(run, program(RACE + f"import atexit\n@atexit.register\ndef late():\n    {FILL}    pass\n"))
    assert status == 66
    assert HEADLINE in said
    assert "in late" in said


def test_the_status_and_the_report_are_the_drivers_and_no_launcher_is_needed(
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
    """Checks that each element that is opened is closed, and remembers what is there."""

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


def test_each_format_is_chosen_by_the_name_of_the_file(run: Run, program: Callable[[str], str], tmp_path: Path) -> None:
    path = program(BAD)
    for name in ("out.txt", "out.json", "out.trace.json", "out.html"):
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


def test_a_clean_program_has_a_report_too(run: Run, program: Callable[[str], str], tmp_path: Path) -> None:
    assert launch(run, "--report", "out.html", program(GOOD)) == (0, "")
    assert "Nothing found" in _Page((tmp_path / "out.html").read_text()).texts
    # Also one that never asks for a GPU.
    assert launch(run, "--report", "none.json", program("print(1)")) == (0, "")
    assert json.loads((tmp_path / "none.json").read_text())["findings"] == []


def test_leaks_are_reported_where_a_report_is_asked_for(run: Run, program: Callable[[str], str]) -> None:
    path = program(RACE)
    assert launch(run, path) == (0, "")
    status, said = launch(run, "--report", "out.txt", path)
    assert status == 66
    assert "leak: 64 bytes of device memory are never freed" in said
    assert launch(run, "--report", "out.txt", path, CUARRAY_SIM_LEAKS="0") == (0, "")
    assert launch(run, path, CUARRAY_SIM_LEAKS="1")[0] == 66


def test_a_child_writes_its_report_beside_its_parents(run: Run, program: Callable[[str], str], tmp_path: Path) -> None:
    (tmp_path / "child.py").write_text(BAD)
    path = program("import subprocess, sys; print(subprocess.run([sys.executable, 'child.py']).returncode)\n")
    done = run("-m", "cuarray_sim", "--report", "out.json", path)
    assert (done.returncode, done.stdout) == (0, "66\n")
    assert json.loads((tmp_path / "out.json").read_text())["findings"] == []
    (child,) = tmp_path.glob("out.*.json")
    assert len(json.loads(child.read_text())["findings"]) == 1


def test_a_child_of_fork_leaves_its_parents_report_alone(
    run: Run, program: Callable[[str], str], tmp_path: Path
) -> None:
    status, said = launch(run, "--report", "out.json", program(BAD + "import os\nif os.fork(): os.wait()\n"))
    assert status == 66
    assert said.count(HEADLINE) == 1
    assert [path.name for path in tmp_path.glob("out*")] == ["out.json"]
    assert len(json.loads((tmp_path / "out.json").read_text())["findings"]) == 1


def test_known_findings_can_be_suppressed(run: Run, program: Callable[[str], str], tmp_path: Path) -> None:
    (tmp_path / "known.txt").write_text("data-race library=ctypes call=cuMemset*\nleak file=*\n")
    path = program(BAD)
    assert launch(run, "--suppressions", "known.txt", "--report", "out.json", path) == (0, "")
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["findings"] == []
    assert [(each["line"], each["count"]) for each in report["suppressed"]] == [(1, 1), (2, 0)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--report", "out.pdf"],
            "CUARRAY_SIM_REPORT=*out.pdf is not understood: it may be a file that ends with .txt",
        ),
        (["--report", "no/such/folder/out.txt"], "no/such/folder/out.txt is not understood: *in a folder that exists"),
        (["--suppressions", "none"], "none: No such file"),
        (["--suppressions", "wrong.txt"], "wrong.txt: line 2: races is no kind of finding"),
    ],
)
def test_wrong_settings_are_refused_before_the_program_runs(
    run: Run, program: Callable[[str], str], tmp_path: Path, arguments: list[str], said: str
) -> None:
    (tmp_path / "wrong.txt").write_text("\nraces library=x\n")
    done = run("-m", "cuarray_sim", *arguments, program("print('ran')"))
    assert (done.returncode, done.stdout) == (2, "")
    for part in said.split("*"):
        assert part in done.stderr


def test_a_report_that_cannot_be_written_is_no_crash(run: Run, program: Callable[[str], str], tmp_path: Path) -> None:
    (tmp_path / "out.txt").mkdir()
    status, said = launch(run, "--report", "out.txt", program(GOOD))
    assert status == 0
    assert "out.txt: Is a directory" in said


def test_a_programs_own_findings_are_at_hand(run: Run, program: Callable[[str], str]) -> None:
    path = program(
        BAD
        + """
import cuarray_sim, json
(finding,) = cuarray_sim.findings()["findings"]
assert finding["kind"] == "data-race" and finding["sides"][1]["site"]["user"]["line"] == 13
assert cuarray_sim.report() in cuarray_sim.report("text") and "data-race" in cuarray_sim.report()
assert "\\x1b[" in cuarray_sim.report("coloured") and "<svg" in cuarray_sim.report("html")
assert json.loads(cuarray_sim.report("trace"))["traceEvents"]
try:
    cuarray_sim.report("pdf")
except ValueError as error:
    assert "'pdf'" in str(error) and "'html'" in str(error)
cuarray_sim.clear_findings()
assert cuarray_sim.findings()["findings"] == [] and cuarray_sim.report() == ""
"""
    )
    assert launch(run, path) == (0, "")
