"""The command ``cuarray-sim``, or ``python -m cuarray_sim``: run an unmodified program on the simulated driver.

A Python program runs in this process, as the driver must be loaded before the CUDA libraries. It sees the environment of
``python script.py`` or ``python -m module``: its own ``sys.argv``, its directory (or the current one) first on ``sys.path``, and
itself as ``__main__``. Its exit status is kept, and tracebacks begin in its code. Any other program takes the place of this process,
and finds the driver through the environment, as child processes do.

If there are findings, the driver prints its report on standard error at process exit. The exit status is then 66, unless the
program has another status than 0.
"""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.metadata
import os
import runpy
import shutil
import sys
import types
import zipfile
from collections.abc import Sequence

from .account import check_settings
from .differences import print_differences
from .exploration import explore_program
from .export import ask, call
from .hints import meant, refuse_numba_simulator
from .library import MOST_DEVICES, SCHEDULE, SCHEDULES, install
from .stand_ins import VERBOSE, note_at_exit, preload_in_children
from .torch_on_host import TORCH_ON_HOST

__all__ = ["FOUND", "main"]

FOUND = 66
"""The exit status of a program that succeeds but has findings."""

# Programs whose children are ranks of MPI, and need its stand-in.
_MPI_LAUNCHERS = ("mpiexec", "mpirun")

# Files whose frames precede the program's. Since Python 3.11 runpy is frozen and has another file name.
_LAUNCHER_FILES = (
    sys.argv[0],  # the installed command
    __file__,
    os.path.join(os.path.dirname(__file__), "__main__.py"),
    runpy.__file__,
    "<frozen runpy>",
    "<frozen importlib._bootstrap>",
    "<frozen importlib._bootstrap_external>",
)


def main(argv: Sequence[str] | None = None) -> None:
    """Install the simulated driver and run the program that the command line names.

    Returns when the program ends normally. Exceptions of the program, :class:`SystemExit` included, pass through.
    """
    parser = _parser()
    options = parser.parse_args(argv)
    if options.target == "diff" and not options.module:
        if len(options.arguments) != 2:
            parser.error("diff compares two reports in JSON: diff OLD.json NEW.json; ./diff is a program of this name")
        try:
            sys.exit(FOUND if print_differences(*options.arguments) else 0)
        except (OSError, ValueError) as error:
            parser.error(str(error))
    path = options.target
    if not options.module and not os.path.exists(path):
        # As in a shell, a name without a slash may be a command.
        path = None if "/" in path else shutil.which(path)
        if path is None:
            missing = f"can't open file {os.path.abspath(options.target)!r}: no such file or directory"
            parser.error(missing + meant(options.target))
    os.environ.setdefault("CUARRAY_SIM_EXIT_STATUS", str(FOUND))
    # Few programs release everything before they end, so leaks are findings only on request.
    if options.leaks:
        os.environ["CUARRAY_SIM_LEAKS"] = "1"
    os.environ.setdefault("CUARRAY_SIM_LEAKS", "0")
    if options.verbose:
        os.environ[VERBOSE] = "1"
    if options.torch_on_host:
        os.environ[TORCH_ON_HOST] = "1"
    if options.explore is not None and options.report is not None:
        parser.error("--report cannot be used with --explore: findings are the same under every schedule")
    try:
        refuse_numba_simulator()
        install(
            devices=options.devices,
            host_readable=options.host_readable,
            pageable_memory=options.pageable_memory,
            trace=options.trace,
            schedule=options.schedule,
            report=options.report,
            suppressions=options.suppressions,
            runtime=options.runtime,
        )
        check_settings()
    except (OSError, RuntimeError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    if options.explore is not None:
        module = ["-m"] if options.module else []
        command = ["-m", "cuarray_sim", *module, options.target, *options.arguments]
        sys.exit(explore_program(command, options.explore, options.deviations))
    if not options.module and not _is_python(path):
        if os.path.basename(path) in _MPI_LAUNCHERS:
            preload_in_children()
        try:
            os.execv(path, [options.target, *options.arguments])
        except OSError as error:
            parser.exit(126, f"{parser.prog}: {options.target}: {error.strerror}\n")
    call("cuarraySimSummarize")
    note_at_exit()
    _keep_replay_to_this_process()
    _files_of_children_beside_ours()
    _hide_launcher_in_tracebacks()
    sys.argv = [path, *options.arguments]
    if options.module:
        _leave_first_search_path(os.getcwd())
        runpy.run_module(options.target, run_name="__main__", alter_sys=True)
    elif os.path.isdir(path) or zipfile.is_zipfile(path) or path.endswith(".pyc"):
        # runpy puts the directory or archive first on sys.path.
        _leave_first_search_path(None)
        runpy.run_path(os.path.abspath(path), run_name="__main__")
    else:
        _leave_first_search_path(os.path.dirname(os.path.realpath(path)))
        _run_script(path)


def _is_python(path: str) -> bool:
    """Return whether a program is one of this Python: not machine code, nor a script that names another interpreter."""
    if os.path.isdir(path):
        return True
    with open(path, "rb") as file:
        start = file.readline(1024)
    if start.startswith(b"\x7fELF"):
        return False
    words = os.fsdecode(start[2:]).split() if start.startswith(b"#!") else []
    if not words:
        return True
    named = [word for word in words if not word.startswith("-")]
    if os.path.basename(named[0]) == "env":
        interpreter = shutil.which(named[1]) if len(named) > 1 else None
    else:
        interpreter = named[0]
    if interpreter is None or not os.path.basename(interpreter).startswith("python"):
        return False
    # The installed commands of an environment name the link there. A script of the user may name any Python.
    own, other = (os.path.dirname(os.path.abspath(each)) for each in (sys.executable, interpreter))
    return own == other or path.endswith(".py")


def _keep_replay_to_this_process() -> None:
    """Remove a replayed schedule from the environment: child processes make other choices, and run lazily."""
    replayed = os.environ.get("CUARRAY_SIM_SCHEDULE", "").startswith("replay:")
    if replayed or "CUARRAY_SIM_SCHEDULE_FILE" in os.environ:
        ask("cuarraySimSchedule")  # the driver reads its environment here
        os.environ.pop("CUARRAY_SIM_SCHEDULE_FILE", None)
    if replayed:
        del os.environ["CUARRAY_SIM_SCHEDULE"]


def _run_script(path: str) -> None:
    """Run a script as Python does: its ``__main__`` stays until exit, and its ``__file__`` is absolute."""
    # runpy.run_path would restore the launcher's __main__ before exit handlers run, and make argv[0] and __file__ equal.
    path = os.path.abspath(path)
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    module = types.ModuleType("__main__")
    module.__file__ = path
    module.__loader__ = loader
    sys.modules["__main__"] = module
    exec(loader.source_to_code(loader.get_data(path), path), vars(module))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m cuarray_sim" if os.path.basename(sys.argv[0]) == "__main__.py" else None,
        usage="%(prog)s [options] (script.py | -m module | program) [argument ...]\n       %(prog)s diff OLD.json NEW.json",
        description="Run a program on the simulated CUDA driver.",
        epilog="Child processes use the simulated driver too. Findings are printed on standard error at exit, and the exit "
        f"status is then {FOUND}, unless the program has another status than 0. `diff OLD.json NEW.json` prints the findings that only "
        f"one of two reports has, and exits with {FOUND} if the new one has more.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--devices", type=int, metavar="N", help=f"number of simulated devices, 1 to {MOST_DEVICES} (default 1)"
    )
    parser.add_argument(
        "--host-readable",
        action="store_const",
        const=True,
        help="let the host read device memory, as an MPI built without CUDA must",
    )
    parser.add_argument(
        "--pageable-memory",
        action="store_const",
        const=True,
        help="let kernels use any memory of the program, as on Grace Hopper or with heterogeneous memory management",
    )
    parser.add_argument(
        "--trace",
        metavar="FILE",
        help="write each driver call to FILE; to FILE.json a timeline of calls and work, for timeline viewers",
    )
    parser.add_argument(
        "--schedule",
        type=_schedule,
        metavar="WHICH",
        help="when enqueued work runs: as late as the driver's rules allow (lazy, the default), at once (eager), in a "
        "random order (random, random:SEED), or as a schedule that was printed (replay:...)",
    )
    parser.add_argument(
        "--explore",
        type=_count,
        metavar="N",
        help="run the program under each possible order of its work, at most N of them, each in a new process; print the "
        "outcomes",
    )
    parser.add_argument(
        "--deviations",
        type=_count,
        metavar="N",
        help="with --explore: skip schedules that differ from the lazy one in more than N choices",
    )
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="write the findings to FILE.txt, .json, .html, .sarif for code hosts, or .trace.json for timeline viewers",
    )
    parser.add_argument("--leaks", action="store_true", help="report objects that are alive at the end as findings")
    parser.add_argument(
        "--suppressions",
        metavar="FILE",
        help="a file of known findings, which are not reported: lines, or an earlier report in JSON",
    )
    parser.add_argument(
        "--no-runtime",
        dest="runtime",
        action="store_const",
        const=False,
        help="keep NVIDIA's CUDA runtime, whose calls fail, in place of the one of cuarray-sim",
    )
    parser.add_argument(
        "--torch-on-host",
        action="store_true",
        help="carry out PyTorch's operations on the host, in stream order: PyTorch's kernels are machine code",
    )
    parser.add_argument("--verbose", action="store_true", help="print each file that is put in place of NVIDIA's")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    parser.add_argument(
        "--selftest",
        action=_Selftest,
        nargs=0,
        help="plant a bug of each kind, print which are found with the present settings, and exit with 0 if all are",
    )
    parser.add_argument("-m", dest="module", action="store_true", help="run a module, as `python -m` does")
    parser.add_argument("target", metavar="program", help="the script or other program, or the module's name after -m")
    rest = parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own arguments")
    rest.required = False  # keeps it out of the error message for a missing program
    return parser


def _schedule(text: str) -> str:
    if not SCHEDULE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"schedule is {text!r}; expected {SCHEDULES}")
    return text


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a count; expected an integer of at least 0")
    return int(text)


class _Version(argparse.Action):
    """The option ``--version``; the version is looked up on request only, as the look-up is slow."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"cuarray-sim {importlib.metadata.version('cuarray-sim')}")
        parser.exit()


class _Selftest(argparse.Action):
    """The option ``--selftest``, which needs no program."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from .selftest import run_selftest

        try:
            install()
            check_settings()
            status = run_selftest()
        except (OSError, RuntimeError, ValueError) as error:
            parser.exit(2, f"{parser.prog}: {error}\n")
        parser.exit(status)


def _files_of_children_beside_ours() -> None:
    """Make child processes write ``out.PID.html`` if this process writes ``out.html``."""
    # The driver of this process has already read its settings.
    for variable in ("CUARRAY_SIM_REPORT", "CUARRAY_SIM_TRACE"):
        if path := os.environ.get(variable):
            stem, extension = path[: len(path) - len(_extension(path))], _extension(path)
            if "%p" not in stem:
                os.environ[variable] = f"{stem}.%p{extension}"


def _extension(path: str) -> str:
    return ".trace.json" if path.endswith(".trace.json") else os.path.splitext(path)[1]


def _leave_first_search_path(directory: str | None) -> None:
    """Replace or remove the first entry of ``sys.path``, which Python added for the launcher."""
    # With -I, -P or PYTHONSAFEPATH Python adds no entry.
    if sys.flags.isolated or getattr(sys.flags, "safe_path", False):
        return
    sys.path[:1] = [] if directory is None else [directory]


def _hide_launcher_in_tracebacks() -> None:
    shown_by = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, traceback: types.TracebackType | None) -> None:
        traceback = _from_the_program(traceback)
        # The interpreter prints the traceback that the exception carries.
        shown_by(kind, error.with_traceback(traceback), traceback)

    sys.excepthook = hook


def _from_the_program(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """Return the traceback without the launcher's frames; None if the program did not start (a syntax error)."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename in _LAUNCHER_FILES:
        traceback = traceback.tb_next
    return traceback
