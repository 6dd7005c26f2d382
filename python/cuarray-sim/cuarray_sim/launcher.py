"""``python -m cuarray_sim``: an unmodified program, on the simulated driver.

The program runs in this very process, since a process's driver must be loaded before its CUDA libraries are, and what
it sees is what ``python script.py`` or ``python -m module`` would have shown it: its own ``sys.argv``, its directory
(or the current one) first on ``sys.path``, itself as ``__main__``, its exit status, and tracebacks that begin in its code.

Where the simulated driver finds something wrong, it prints its report on standard error when the process ends, and a
program that would have ended well ends with the status 66 instead; a status of the program's own is kept.
"""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.metadata
import os
import runpy
import sys
import types
import zipfile
from collections.abc import Sequence

from .account import check_settings
from .exploration import explore_program
from .export import ask
from .library import MOST_DEVICES, SCHEDULE, SCHEDULES, install

__all__ = ["FOUND", "main"]

FOUND = 66
"""The exit status of a program that ended well and in which something was found."""

# Whose frames come before the program's; since Python 3.11 runpy is frozen and calls its file by another name.
_LAUNCHER_FILES = (
    __file__,
    os.path.join(os.path.dirname(__file__), "__main__.py"),
    runpy.__file__,
    "<frozen runpy>",
    "<frozen importlib._bootstrap>",
    "<frozen importlib._bootstrap_external>",
)


def main(argv: Sequence[str] | None = None) -> None:
    """Install the simulated driver and run the program that the command line names.

    Returns when the program ends normally. What the program raises, :class:`SystemExit` included, is left to Python.
    """
    parser = _parser()
    options = parser.parse_args(argv)
    if not options.module and not os.path.exists(options.target):
        parser.error(f"can't open file {os.path.abspath(options.target)!r}: no such file or directory")
    os.environ.setdefault("CUARRAY_SIM_EXIT_STATUS", str(FOUND))
    if options.report is None:
        # Few programs release everything before they end; it is said to those who ask for a report.
        os.environ.setdefault("CUARRAY_SIM_LEAKS", "0")
    if options.explore is not None and options.report is not None:
        parser.error("--report goes without --explore: what is found is the same under every schedule")
    try:
        install(
            devices=options.devices,
            host_readable=options.host_readable,
            trace=options.trace,
            schedule=options.schedule,
            report=options.report,
            suppressions=options.suppressions,
        )
        check_settings()
    except (OSError, RuntimeError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    if options.explore is not None:
        module = ["-m"] if options.module else []
        command = ["-m", "cuarray_sim", *module, options.target, *options.arguments]
        sys.exit(explore_program(command, options.explore, options.deviations))
    _keep_replay_to_this_process()
    _reports_of_children_beside_ours()
    _hide_launcher_in_tracebacks()
    sys.argv = [options.target, *options.arguments]
    if options.module:
        # `python -m` has put the current directory first on sys.path, which is right for a module as well.
        runpy.run_module(options.target, run_name="__main__", alter_sys=True)
    elif os.path.isdir(options.target) or zipfile.is_zipfile(options.target) or options.target.endswith(".pyc"):
        # runpy puts the directory or archive first on sys.path, as it is named here.
        _leave_first_search_path(None)
        runpy.run_path(os.path.abspath(options.target), run_name="__main__")
    else:
        _leave_first_search_path(os.path.dirname(os.path.realpath(options.target)))
        _run_script(options.target)


def _keep_replay_to_this_process() -> None:
    """A schedule is one process's: those that the program starts make other choices, and run lazily."""
    replayed = os.environ.get("CUARRAY_SIM_SCHEDULE", "").startswith("replay:")
    if replayed or "CUARRAY_SIM_SCHEDULE_FILE" in os.environ:
        ask("cuarraySimSchedule")  # the driver reads its environment here
        os.environ.pop("CUARRAY_SIM_SCHEDULE_FILE", None)
    if replayed:
        del os.environ["CUARRAY_SIM_SCHEDULE"]


def _run_script(path: str) -> None:
    """Run a script as Python does: its ``__main__`` outlives it, and its ``__file__`` is absolute."""
    # runpy.run_path would put the launcher's __main__ back before exit handlers run, and make argv[0] and __file__ equal.
    path = os.path.abspath(path)
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    module = types.ModuleType("__main__")
    module.__file__ = path
    module.__loader__ = loader
    sys.modules["__main__"] = module
    exec(loader.source_to_code(loader.get_data(path), path), vars(module))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m cuarray_sim",
        usage="%(prog)s [options] (script.py | -m module) [argument ...]",
        description="Run a Python program on the simulated CUDA driver.",
        epilog="Processes that the program starts use the simulated driver too. What the driver finds wrong is printed on "
        f"standard error at the end, and the exit status is then {FOUND} unless the program has another than 0.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--devices", type=int, metavar="N", help=f"number of simulated devices, 1 to {MOST_DEVICES} (default 1)"
    )
    parser.add_argument(
        "--host-readable",
        action="store_const",
        const=True,
        help="let the host read device memory directly, as an MPI built without CUDA must",
    )
    parser.add_argument("--trace", metavar="FILE", help="write each driver call to FILE")
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
        help="run the program under each order that its work can have, N of them at most, in a process each; print what "
        "came of it",
    )
    parser.add_argument(
        "--deviations",
        type=_count,
        metavar="N",
        help="with --explore: leave out schedules that differ from the lazy one in more than N choices",
    )
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="write what was found to FILE.txt, .json, .html, or .trace.json for timeline viewers; leaks too",
    )
    parser.add_argument("--suppressions", metavar="FILE", help="findings that are known and not to be reported")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    parser.add_argument("-m", dest="module", action="store_true", help="run a module, as `python -m` does")
    parser.add_argument("target", metavar="program", help="the script, or the module's name after -m")
    rest = parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own arguments")
    rest.required = False  # not named, then, among what a command line without a program lacks
    return parser


def _schedule(text: str) -> str:
    if not SCHEDULE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"schedule is {text!r}; expected {SCHEDULES}")
    return text


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no count; an integer of at least 0 is expected")
    return int(text)


class _Version(argparse.Action):
    """Prints the version, which is looked up only where it is asked for: each launch would pay for it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"cuarray-sim {importlib.metadata.version('cuarray-sim')}")
        parser.exit()


def _reports_of_children_beside_ours() -> None:
    """Let a process that the program starts write ``out.PID.html`` where this one writes ``out.html``."""
    # The driver of this process has read its settings already.
    if path := os.environ.get("CUARRAY_SIM_REPORT"):
        stem, extension = path[: -len(_extension(path))], _extension(path)
        if "%p" not in stem:
            os.environ["CUARRAY_SIM_REPORT"] = f"{stem}.%p{extension}"


def _extension(path: str) -> str:
    return ".trace.json" if path.endswith(".trace.json") else os.path.splitext(path)[1]


def _leave_first_search_path(directory: str | None) -> None:
    """Replace what Python put first on ``sys.path`` for the launcher, or take it away."""
    # With -I, -P or PYTHONSAFEPATH Python puts nothing there, and what is there is not ours to replace.
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
    """The traceback without the frames that lead to the program; None if it never got there (a syntax error)."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename in _LAUNCHER_FILES:
        traceback = traceback.tb_next
    return traceback
