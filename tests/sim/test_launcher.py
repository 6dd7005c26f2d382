"""``python -m cuarray_sim`` runs a program as plain Python does, with the simulated driver installed."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

import cuarray_sim

PRINT_SURROUNDINGS = """
import sys, atexit
print(sys.argv, sys.path[0], __name__, __file__, __spec__ and __spec__.name, sys.modules["__main__"].__dict__ is globals())
print("still running")
atexit.register(lambda: print("at exit:", sys.modules["__main__"].later, __name__))
later = "main"
"""

ENDINGS = {
    "normally": "print('done')",
    "with a status": "import sys; sys.exit(3)",
    "with a text": "raise SystemExit('no more')",
    "with exit() without a status": "import sys; sys.exit()",
    "with an exception": """
        def inner(): raise ValueError("wrong")
        def outer():
            try: inner()
            except ValueError as error: raise KeyError("outer") from error
        outer()
    """,
    "with a syntax error": "x = = 1",
    "with an interrupt": "raise KeyboardInterrupt",
    "with a missing import": "import no_such_module_anywhere",
    "with its own exception hook": """
        import sys
        sys.excepthook = lambda kind, error, traceback: print("hook:", kind.__name__, error)
        raise ValueError("wrong")
    """,
    "in a child process": """
        import multiprocessing
        def work(n): return n * n
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool: print(pool.map(work, [1, 2, 3]))
    """,
}


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], str]:
    """Write a script into a folder below the current one and return its relative path."""

    def script(text: str) -> str:
        path = tmp_path / "programs" / "script.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return "programs/script.py"

    return script


def test_script_has_same_argv_path_and_main_as_without_launcher(run: Callable, script: Callable) -> None:
    arguments = [script(PRINT_SURROUNDINGS), "--devices", "7", "-m", "x", "--", "a b", ""]
    plain, launched = run(*arguments), run("-m", "cuarray_sim", *arguments, CUARRAY_SIM_QUIET="1")
    assert plain.returncode == 0, plain.stderr
    assert (launched.stdout, launched.stderr) == (plain.stdout, plain.stderr)


def test_module_has_same_argv_path_and_main_as_without_launcher(run: Callable, tmp_path: Path) -> None:
    package = tmp_path / "somepackage"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(PRINT_SURROUNDINGS.partition("atexit.register")[0])
    arguments = ["-m", "somepackage", "-m", "--trace", "x"]
    plain, launched = run(*arguments), run("-m", "cuarray_sim", *arguments, CUARRAY_SIM_QUIET="1")
    assert plain.returncode == 0, plain.stderr
    assert (launched.stdout, launched.stderr) == (plain.stdout, plain.stderr)


def test_directory_has_same_argv_path_and_main_as_without_launcher(run: Callable, tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text("import sys, beside; print(sys.argv[1:], sys.path[0], __name__)")
    (tmp_path / "app" / "beside.py").write_text("")
    plain, launched = run("app", "x"), run("-m", "cuarray_sim", "app", "x", CUARRAY_SIM_QUIET="1")
    assert plain.returncode == 0, plain.stderr
    assert (launched.stdout, launched.stderr) == (plain.stdout, plain.stderr)


@pytest.mark.parametrize("ending", ENDINGS)
def test_script_has_same_status_and_output_as_without_launcher(run: Callable, script: Callable, ending: str) -> None:
    path = script(ENDINGS[ending])
    plain, launched = run(path), run("-m", "cuarray_sim", path, CUARRAY_SIM_QUIET="1")
    assert (launched.returncode, launched.stdout, launched.stderr) == (plain.returncode, plain.stdout, plain.stderr)


# Two streams fill the same bytes.
MACHINE_CODE = """
#include <stdio.h>
typedef void *H;
int cuInit(unsigned), cuDevicePrimaryCtxRetain(H *, int), cuCtxSetCurrent(H), cuStreamCreate(H *, unsigned), cuCtxSynchronize(void);
int cuMemAlloc_v2(unsigned long long *, size_t), cuMemsetD8Async(unsigned long long, unsigned char, size_t, H);
int main(int count, char **arguments) {
    H context, streams[2];
    unsigned long long memory;
    int failed = cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || cuMemAlloc_v2(&memory, 64)
        || cuStreamCreate(streams, 1) || cuStreamCreate(streams + 1, 1) || cuMemsetD8Async(memory, 1, 64, streams[0])
        || cuMemsetD8Async(memory, 2, 64, streams[count > 2]) || cuCtxSynchronize();
    printf("%s %s %d\\n", arguments[0], arguments[1], failed);
    return failed;
}
"""


def test_machine_code_runs_on_the_driver_with_its_arguments(run: Callable, tmp_path: Path) -> None:
    (tmp_path / "fill.c").write_text(MACHINE_CODE)
    library = str(cuarray_sim.library_path())
    subprocess.run(["cc", "-w", "-o", tmp_path / "fill", tmp_path / "fill.c", library], check=True)
    clean = run("-m", "cuarray_sim", "./fill", "--devices")
    assert (clean.returncode, clean.stdout, clean.stderr) == (0, "./fill --devices 0\n", "")
    racy = run("-m", "cuarray_sim", "--report", "found.txt", "./fill", "a b", "c")
    assert (racy.returncode, racy.stdout) == (66, "./fill a b 0\n")
    assert "data-race: stream 2 writes 64 bytes that stream 1 writes" in racy.stderr
    assert "data-race" in (tmp_path / "found.txt").read_text()


def test_script_of_another_interpreter_runs_as_a_child_would(run: Callable, tmp_path: Path) -> None:
    (tmp_path / "shell").write_text(f'#!/bin/sh\necho "$0 $1 $LD_LIBRARY_PATH"; exec {sys.executable} -c "$1"\n')
    code = "import ctypes; print(ctypes.CDLL('libcuda.so.1').cuarraySimStatistics is not None)"
    refused = run("-m", "cuarray_sim", "./shell", code)
    assert (refused.returncode, refused.stderr) == (126, "python -m cuarray_sim: ./shell: Permission denied\n")
    (tmp_path / "shell").chmod(0o755)
    done = run("-m", "cuarray_sim", "./shell", code, CUARRAY_SIM_QUIET="1")
    folder = str(cuarray_sim.library_path().parent)
    assert done.stdout.startswith(f"./shell {code} {folder}"), done.stderr
    assert done.stdout.endswith("\nTrue\n"), done.stderr


def test_installed_command_runs_scripts_modules_and_commands(run: Callable, script: Callable, tmp_path: Path) -> None:
    command = str(Path(sys.executable).with_name("cuarray-sim"))
    (tmp_path / "failing.py").write_text("raise ValueError('wrong')\n")
    for arguments in ([script(PRINT_SURROUNDINGS), "x"], ["-m", "failing"]):
        plain, launched = run(*arguments), run(command, *arguments, CUARRAY_SIM_QUIET="1")
        own = re.sub(r"  File .*runpy.*\n(    .*\n)*", "", plain.stderr)
        assert (launched.returncode, launched.stdout, launched.stderr) == (plain.returncode, plain.stdout, own)
    done = run(command, "pytest", "--version", PATH=f"{Path(sys.executable).parent}:/usr/bin:/bin")
    assert (done.returncode, done.stdout) == (0, f"pytest {pytest.__version__}\n")
    assert run(command).stderr.startswith("usage: cuarray-sim [options] (script.py | -m module | program)")


def test_module_exit_status_and_traceback_do_not_show_launcher(run: Callable, tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text("import sys\nif sys.argv[1:]: sys.exit(5)\nraise ValueError('wrong')\n")
    assert run("-m", "cuarray_sim", "-m", "failing", "x").returncode == 5
    done = run("-m", "cuarray_sim", "-m", "failing", CUARRAY_SIM_QUIET="1")
    assert done.returncode == 1
    assert re.findall(r'File "(.*?)"', done.stderr) == [str(tmp_path / "failing.py")]
    assert done.stderr.endswith("ValueError: wrong\n")


def test_missing_script_or_module_is_named(run: Callable) -> None:
    done = run("-m", "cuarray_sim", "nothing.py")
    assert done.returncode == 2
    assert "nothing.py" in done.stderr
    assert "Traceback" not in done.stderr
    done = run("-m", "cuarray_sim", "-m", "no_such_module_anywhere")
    assert done.returncode == 1
    assert "No module named no_such_module_anywhere" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: program"),
        (["--devices", "2"], "the following arguments are required: program"),
        (["--device", "2", "PROGRAM"], "unrecognized arguments: --device"),
        (["--devices", "x", "PROGRAM"], "invalid int value: 'x'"),
        (["--schedule", "x", "PROGRAM"], "schedule is 'x'; expected 'lazy', 'eager', "),
        (["--explore", "-1", "PROGRAM"], "'-1' is not a count; expected an integer of at least 0"),
        (["--explore", "few", "PROGRAM"], "'few' is not a count; expected an integer of at least 0"),
    ],
)
def test_wrong_command_line_is_refused_with_usage(
    run: Callable, script: Callable, arguments: list[str], message: str
) -> None:
    path = script("print('ran')")
    done = run("-m", "cuarray_sim", *(path if each == "PROGRAM" else each for each in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: python -m cuarray_sim [options] (script.py | -m module | program)")
    assert message in done.stderr
    assert "arguments\n" not in done.stderr


def test_unknown_setting_is_refused_before_the_program_runs(run: Callable, script: Callable) -> None:
    done = run("-m", "cuarray_sim", script("print('ran')"), CUARRAY_SIM_REPROT="out.html")
    assert (done.returncode, done.stdout) == (2, "")
    assert "CUARRAY_SIM_REPROT is not a setting; did you mean CUARRAY_SIM_REPORT? the settings are " in done.stderr


def test_program_that_is_a_module_gets_a_hint(run: Callable) -> None:
    done = run("-m", "cuarray_sim", "timeit", "-n", "1", PATH="")
    assert done.returncode == 2
    assert "did you mean `python -m cuarray_sim -m timeit`?" in done.stderr
    assert "did you mean" not in run("-m", "cuarray_sim", "no_such_module_anywhere").stderr


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("pass", "this process made no driver call, so nothing was checked"),
        (
            "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)",
            "this process looked for a driver and used none of its functions, so nothing was checked",
        ),
        (
            "import ctypes; driver = ctypes.CDLL('libcuda.so.1'); driver.cuInit(0); driver.cuCtxSynchronize()",
            None,
        ),
    ],
)
def test_program_without_driver_calls_ends_with_a_line_that_nothing_was_checked(
    run: Callable, script: Callable, program: str, message: str | None
) -> None:
    done = run("-m", "cuarray_sim", script(program))
    assert (done.returncode, done.stderr) == (0, f"cuarray-sim: {message}\n" if message else "")


USES = "import ctypes; driver = ctypes.CDLL('libcuda.so.1'); driver.cuInit(0); driver.cuCtxSynchronize()"
FORKS = "import os\nif (child := os.fork()) == 0:\n    {}\n    raise SystemExit\nos.waitpid(child, 0)"
STARTS = "import subprocess, sys; subprocess.run([sys.executable, '-c', {!r}], check=True)"


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (STARTS.format(USES), None),
        (STARTS.format(STARTS.format(USES)), None),
        (FORKS.format(USES), None),
        (STARTS.format("pass"), "this process made no driver call, so nothing was checked"),
        # The child makes calls, and ends without a report.
        (STARTS.format(USES + "; import os; os._exit(0)"), "this process made no driver call, so nothing was checked"),
    ],
    ids=["child", "grandchild", "fork", "idle child", "child without a report"],
)
def test_calls_of_children_count_as_checked_once_they_are_reported(
    run: Callable, script: Callable, program: str, message: str | None
) -> None:
    done = run("-m", "cuarray_sim", script(program))
    assert (done.returncode, done.stderr) == (0, f"cuarray-sim: {message}\n" if message else "")


def test_calls_of_a_sibling_do_not_count_as_checked(run: Callable, script: Callable) -> None:
    idle = "import subprocess, sys; subprocess.run([sys.executable, '-m', 'cuarray_sim', '-m', 'keyword'], check=True)"
    done = run("-m", "cuarray_sim", script(f"{STARTS.format(USES)}\n{idle}"))
    assert (done.returncode, done.stderr) == (
        0,
        "cuarray-sim: this process made no driver call, so nothing was checked\n",
    )


def test_numba_simulator_is_refused_before_the_program_runs(run: Callable, script: Callable) -> None:
    path = script("print('ran')")
    done = run("-m", "cuarray_sim", path, NUMBA_ENABLE_CUDASIM="1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "NUMBA_ENABLE_CUDASIM=1 is set, with which numba runs its own simulator" in done.stderr
    assert run("-m", "cuarray_sim", path, NUMBA_ENABLE_CUDASIM="0").stdout == "ran\n"


def test_refused_kernel_images_are_counted_at_the_end(run: Callable, script: Callable) -> None:
    path = script("""
        import ctypes
        driver, context, module = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_void_p()
        driver.cuInit(0)
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        driver.cuCtxSetCurrent(context)
        elf = b"\x7fELF" + bytes([2, 1, 1]) + bytes(1000)
        for _ in range(2):
            print(driver.cuModuleLoadData(ctypes.byref(module), elf))
        print(driver.cuModuleLoadData(ctypes.byref(module), b".version 7.0\\n.target sm_75\\nwrong"))
    """)
    done = run("-m", "cuarray_sim", path)
    assert done.stdout == "209\n209\n218\n", done.stderr
    assert "cuarray-sim: 2 images with machine code were refused: their kernels did not run\n" in done.stderr
    assert "cuarray-sim: 1 PTX module was refused: its kernels did not run\n" in done.stderr


def test_version_option_prints_package_version(run: Callable) -> None:
    done = run("-m", "cuarray_sim", "--version")
    assert (done.returncode, done.stdout) == (0, f"cuarray-sim {importlib.metadata.version('cuarray-sim')}\n")


def test_options_reach_driver_and_child_processes(run: Callable, script: Callable, tmp_path: Path) -> None:
    path = script("""
        import ctypes, os, subprocess, sys
        driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
        assert driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
        print(count.value, hasattr(driver, "cuarraySimStatistics"), *sys.argv[1:], flush=True)
        print(os.environ.get("CUARRAY_SIM_HOST_READABLE"), os.environ.get("CUARRAY_SIM_SCHEDULE"), flush=True)
        if not sys.argv[1:]:
            subprocess.run([sys.executable, __file__, "child"], check=True)
    """)
    options = ["--devices", "3", "--host-readable", "--trace", "calls.txt", "--schedule", "eager"]
    done = run("-m", "cuarray_sim", *options, path)
    assert done.stdout.splitlines() == ["3 True", "1 eager", "3 True child", "1 eager"], done.stderr
    assert "cuDeviceGetCount" in (tmp_path / "calls.txt").read_text()


def test_timeline_shows_python_lines_and_children_write_their_own(
    run: Callable, script: Callable, tmp_path: Path
) -> None:
    path = script("""
        import ctypes, subprocess, sys
        driver, context, address = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64()
        assert driver.cuInit(0) == 0 and driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
        assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096)) == 0
        assert driver.cuMemsetD8_v2(address, 1, ctypes.c_size_t(4096)) == 0
        assert driver.cuMemFree_v2(address) == 0 and driver.cuCtxDestroy_v2(context) == 0
        if not sys.argv[1:]:
            subprocess.run([sys.executable, __file__, "child"], check=True)
    """)
    done = run("-m", "cuarray_sim", "--trace", "out.json", path)
    assert done.returncode == 0, done.stderr
    files = sorted(tmp_path.glob("out*.json"))
    assert len(files) == 2, files
    for file in files:
        events = json.loads(file.read_text())
        (fill,) = [event for event in events if event["name"] == "fill"]
        assert fill["args"]["bytes"] == 4096
        assert f"{Path(path).name}:6 in <module>" in fill["args"]["site"]
        (call,) = [event for event in events if event["name"] == "cuMemsetD8"]
        assert call["bind_id"] == fill["bind_id"]


def test_another_loaded_driver_is_refused_before_the_program_runs(
    run: Callable, script: Callable, another_driver: Path
) -> None:
    path = script("print('ran')")
    done = run("-m", "cuarray_sim", path, LD_PRELOAD=str(another_driver))
    assert (done.returncode, done.stdout) == (2, "")
    assert str(another_driver) in done.stderr
    assert "Traceback" not in done.stderr


def test_invalid_number_of_devices_is_refused_before_the_program_runs(run: Callable, script: Callable) -> None:
    done = run("-m", "cuarray_sim", "--devices", "9", script("print('ran')"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "devices is 9" in done.stderr
