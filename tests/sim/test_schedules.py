"""Schedules of a Python program can be replayed in another process, drawn at random, and explored."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

# `exchange` fills memory in all streams but the last, and copies it to pinned memory in the last. `edge` orders them.
EXCHANGE = """
import ctypes, sys
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_ubyte, c_void_p
cuda = ctypes.CDLL("libcuda.so.1")
def ok(result): assert result == 0, result
def setup():
    context = c_void_p()
    ok(cuda.cuInit(0)); ok(cuda.cuDevicePrimaryCtxRetain(byref(context), 0)); ok(cuda.cuCtxSetCurrent(context))
def exchange(edge, streams=2):
    made, device, host, event = [c_void_p() for _ in range(streams)], c_uint64(), c_void_p(), c_void_p()
    for stream in made: ok(cuda.cuStreamCreate(byref(stream), 1))
    ok(cuda.cuMemAlloc_v2(byref(device), c_size_t(8))); ok(cuda.cuMemAllocHost_v2(byref(host), c_size_t(8)))
    ok(cuda.cuEventCreate(byref(event), 0))
    ok(cuda.cuMemsetD8_v2(device, c_ubyte(0), c_size_t(8))); ok(cuda.cuCtxSynchronize())
    for name, stream in enumerate(made[:-1], 1):
        ok(cuda.cuMemsetD8Async(device, c_ubyte(name), c_size_t(8), stream))
        if edge: ok(cuda.cuEventRecord(event, stream)); ok(cuda.cuStreamWaitEvent(made[-1], event, 0))
    ok(cuda.cuMemcpyDtoHAsync_v2(host, device, c_size_t(8), made[-1])); ok(cuda.cuStreamSynchronize(made[-1]))
    seen = c_ubyte.from_address(host.value).value
    for stream in made: ok(cuda.cuStreamSynchronize(stream)); ok(cuda.cuStreamDestroy_v2(stream))
    ok(cuda.cuEventDestroy_v2(event)); ok(cuda.cuMemFreeHost(host)); ok(cuda.cuMemFree_v2(device))
    return seen
"""


@pytest.fixture
def environment(environment: dict[str, str]) -> dict[str, str]:
    """Turn findings off: the exchange without its edge is a race, and these tests look at its results."""
    return environment | {"CUARRAY_SIM_FINDINGS": "0"}


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], str]:
    """Write a script that begins with the exchange and return its name."""

    def script(text: str) -> str:
        (tmp_path / "script.py").write_text(EXCHANGE + "setup()\n" + textwrap.dedent(text))
        return "script.py"

    return script


def test_schedule_file_replays_the_schedule_in_another_process(run: Callable, script: Callable, tmp_path: Path) -> None:
    path = script("print([exchange(False, streams=5) for _ in range(20)])")
    outputs = set()
    for seed in range(3):
        file = {"CUARRAY_SIM_SCHEDULE_FILE": "schedule.txt"}
        first = run("-m", "cuarray_sim", "--schedule", f"random:{seed}", path, **file)
        assert first.returncode == 0, first.stderr
        again = run("-m", "cuarray_sim", "--schedule", f"random:{seed}", path)
        assert again.stdout == first.stdout
        schedule = (tmp_path / "schedule.txt").read_text().strip()
        assert schedule.startswith("replay:")
        assert len(schedule) > 50
        replayed = run("-m", "cuarray_sim", "--schedule", schedule, path, **file)
        assert (replayed.stdout, replayed.stderr) == (first.stdout, "")
        assert (tmp_path / "schedule.txt").read_text().strip() == schedule
        outputs.add(first.stdout)
    assert len(outputs) == 3


def test_random_schedule_prints_its_seed_at_start_and_end(run: Callable, script: Callable) -> None:
    path = script("print([exchange(False, streams=4) for _ in range(10)])")
    drawn = run("-m", "cuarray_sim", "--schedule", "random", path)
    seeds = re.findall(r"CUARRAY_SIM_SCHEDULE=random:(\d+)", drawn.stderr)
    assert len(seeds) == 2, drawn.stderr
    assert seeds[0] == seeds[1]
    again = run("-m", "cuarray_sim", path, CUARRAY_SIM_SCHEDULE=f"random:{seeds[0]}")
    assert (again.stdout, again.stderr) == (drawn.stdout, drawn.stderr)
    # Also without the launcher; not under the default schedule, which has no seed.
    crashes = "import ctypes, os; ctypes.CDLL('libcuda.so.1').cuInit(0); os.abort()"
    preloaded = {"LD_PRELOAD": str(__import__("cuarray_sim").library_path())}
    assert "CUARRAY_SIM_SCHEDULE=random:" in run("-c", crashes, CUARRAY_SIM_SCHEDULE="random", **preloaded).stderr
    assert run("-m", "cuarray_sim", path).stderr == ""


def test_replayed_schedule_of_another_program_is_an_error(run: Callable, script: Callable) -> None:
    path = script("exchange(False)")
    other = run("-m", "cuarray_sim", "--schedule", "replay:5:01", path)
    assert other.returncode == 1
    assert "the schedule does not fit the program: its choice 1 has 5 options, but the program has 2" in other.stderr
    assert "AssertionError: 401" in other.stderr
    longer = run("-m", "cuarray_sim", "--schedule", "replay:2:0{50}", path)
    assert re.search(r"the program made \d+ choices, the schedule has \d+ more", longer.stderr), longer.stderr
    for wrong in ("late", "random:x", "replay:2:!"):
        refused = run("-m", "cuarray_sim", "--schedule", wrong, path)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"schedule is {wrong!r}" in refused.stderr
    # Well formed, but with a choice out of range: refused by the driver.
    assert "CUARRAY_SIM_SCHEDULE=replay:2:7" in run("-m", "cuarray_sim", "--schedule", "replay:2:7", path).stderr


def test_explore_option_runs_the_program_under_every_schedule(run: Callable, script: Callable) -> None:
    path = script("""
        import subprocess
        edge = sys.argv[1] == "edge"
        # Child processes of the program are not explored.
        if sys.argv[2:]: subprocess.run([sys.executable, __file__, "edge"], check=True)
        seen = exchange(edge)
        print("seen", seen)
        sys.exit(0 if seen else 3)
    """)
    wrong = run("-m", "cuarray_sim", "--explore", "100", path, "no edge")
    assert (wrong.returncode, wrong.stderr) == (3, ""), wrong.stderr
    outcomes = re.findall(
        r"^\d+ x exit status (\d); first: CUARRAY_SIM_SCHEDULE=(\S+)\n    seen (\d)", wrong.stdout, re.M
    )
    assert [(status, seen) for status, _, seen in outcomes] == [("3", "0"), ("0", "1")]
    assert re.search(r"^\d+ schedules \(all there are\), 2 outcomes$", wrong.stdout, re.M), wrong.stdout
    for status, schedule, seen in outcomes:
        again = run("-m", "cuarray_sim", "--schedule", schedule, path, "no edge")
        assert (str(again.returncode), again.stdout) == (status, f"seen {seen}\n")
    right = run("-m", "cuarray_sim", "--explore", "100", path, "edge", "child")
    assert right.returncode == 0, right.stdout
    assert re.search(r"\(all there are\), 1 outcomes$", right.stdout, re.M), right.stdout
    bounded = run("-m", "cuarray_sim", "--explore", "1", path, "edge")
    assert "1 schedules (there are more)" in bounded.stdout
    lazy = run("-m", "cuarray_sim", "--explore", "9", "--deviations", "0", path, "edge")
    assert "1 schedules (there are more)" in lazy.stdout


def test_explore_option_refuses_aborting_and_unstable_programs(run: Callable, script: Callable) -> None:
    killed = run("-m", "cuarray_sim", "--explore", "9", script("exchange(True); import os; os.abort()"))
    assert killed.returncode == 1
    assert "did not write its schedule" in killed.stderr
    assert "killed by signal 6" in killed.stdout
    different = "import os; n = len(os.listdir('.')); open(f'run{n}', 'w').close(); exchange(False, streams=2 + n)"
    unstable = run("-m", "cuarray_sim", "--explore", "9", script(different))
    assert unstable.returncode == 1
    assert "is not deterministic" in unstable.stderr


IN_PROCESS = f"import cuarray_sim; cuarray_sim.install()\n{EXCHANGE}\nsetup()\n"


def test_explore_runs_a_function_under_every_schedule_in_process(passes: Callable) -> None:
    passes(
        IN_PROCESS
        + """
wrong = cuarray_sim.explore(lambda: exchange(False))
assert wrong.complete and {run.result for run in wrong.runs} == {0, 1} and not wrong.failures
right = cuarray_sim.explore(lambda: exchange(True))
assert right.complete and {run.result for run in right.runs} == {1} and len(right.runs) > 1
assert len({run.schedule for run in wrong.runs}) == len(wrong.runs)
for run in wrong.runs:
    cuarray_sim.set_schedule(run.schedule)
    assert exchange(False) == run.result
    assert cuarray_sim.schedule() == run.schedule
bounded = cuarray_sim.explore(lambda: exchange(False), schedules=2)
assert (len(bounded.runs), bounded.complete) == (2, False)
lazy = cuarray_sim.explore(lambda: exchange(False), deviations=0)
assert (len(lazy.runs), lazy.complete, lazy.runs[0].result) == (1, False, 0)
def stale():
    assert exchange(False) == 1, "stale"
failing = cuarray_sim.explore(stale)
assert failing.failures and str(failing.failures[0].error) == "stale"
assert len(failing.failures) == sum(run.result == 0 for run in wrong.runs)
assert cuarray_sim.schedule() == "lazy"
"""
    )


def test_explore_refuses_a_function_that_differs_between_runs(passes: Callable) -> None:
    passes(
        IN_PROCESS
        + """
runs = []
def different():
    runs.append(None)
    exchange(False, streams=2 + len(runs))
try:
    cuarray_sim.explore(different)
except RuntimeError as error:
    assert "the program is not deterministic" in str(error), error
else:
    raise SystemExit("explored")
exchange(False)  # the driver still works
for text in ("late", "replay:2:7", "random:-1", ""):
    try: cuarray_sim.set_schedule(text)
    except ValueError as error: assert repr(text) in str(error)
    else: raise SystemExit(text)
"""
    )


def test_failure_under_random_schedule_is_repeated_by_the_printed_command(
    pytester: pytest.Pytester, environment: dict[str, str]
) -> None:
    for name in set(__import__("os").environ) - set(environment):
        pytester._monkeypatch.delenv(name)
    pytester.makepyfile(
        EXCHANGE
        + """
import pytest
setup()
@pytest.mark.parametrize("number", range(12))
def test_exchange(number):
    assert exchange(False) == 1
"""
    )
    pytester._monkeypatch.setenv("CUARRAY_SIM_FINDINGS", "0")
    pytester._monkeypatch.setenv("CUARRAY_SIM_SCHEDULE", "random:11")
    result = pytester.runpytest_subprocess("--cuarray-sim")
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] > 0
    assert outcomes["failed"] > 0
    result.stdout.fnmatch_lines(["*CUARRAY_SIM_SCHEDULE=random:11*"])
    again = re.findall(r'again: CUARRAY_SIM_SCHEDULE=random:11 pytest --cuarray-sim "(.*)"', result.stdout.str())
    assert len(again) == outcomes["failed"]
    alone = pytester.runpytest_subprocess("--cuarray-sim", again[0])
    alone.assert_outcomes(failed=1)
