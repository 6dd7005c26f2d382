"""``python -m cuarray_sim``: an unmodified program, on the simulated driver.

The program runs in this very process, since a process's driver must be loaded before its CUDA libraries are, and what
it sees is what ``python script.py`` or ``python -m module`` would have shown it: its own ``sys.argv``, its directory
(or the current one) first on ``sys.path``, itself as ``__main__``, its exit status, and tracebacks that begin in its code.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import types
import zipfile
from collections.abc import Sequence

from .library import MOST_DEVICES, SCHEDULES, install

__all__ = ["main"]

# Whose frames come before the program's; since Python 3.11 runpy is frozen and calls its file by another name.
_LAUNCHER_FILES = (
    __file__,
    os.path.join(os.path.dirname(__file__), "__main__.py"),
    runpy.__file__,
    "<frozen runpy>",
)


def main(argv: Sequence[str] | None = None) -> None:
    """Install the simulated driver and run the program that the command line names.

    Returns when the program ends normally. What the program raises, :class:`SystemExit` included, is left to Python.
    """
    parser = _parser()
    options = parser.parse_args(argv)
    if not options.module and not os.path.exists(options.target):
        parser.error(f"can't open file {os.path.abspath(options.target)!r}: no such file or directory")
    try:
        install(
            devices=options.devices,
            host_readable=options.host_readable,
            trace=options.trace,
            schedule=options.schedule,
        )
    except (OSError, RuntimeError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    _hide_launcher_in_tracebacks()
    sys.argv = [options.target, *options.arguments]
    if options.module:
        # `python -m` has put the current directory first on sys.path, which is right for a module as well.
        runpy.run_module(options.target, run_name="__main__", alter_sys=True)
    else:
        _set_first_search_path(options.target)
        runpy.run_path(options.target, run_name="__main__")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m cuarray_sim",
        usage="%(prog)s [options] (script.py | -m module) [argument ...]",
        description="Run a Python program on the simulated CUDA driver.",
        epilog="Processes that the program starts use the simulated driver too.",
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
        choices=SCHEDULES,
        help="when enqueued work runs: as late as the driver's rules allow (lazy, the default) or at once (eager)",
    )
    parser.add_argument("-m", dest="module", action="store_true", help="run a module, as `python -m` does")
    parser.add_argument("target", metavar="program", help="the script, or the module's name after -m")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own arguments")
    return parser


def _set_first_search_path(script: str) -> None:
    """Put the script's directory where Python put the launcher's: first on ``sys.path``."""
    # With -P or PYTHONSAFEPATH Python puts nothing there, and nothing there is ours to replace.
    if getattr(sys.flags, "safe_path", False) or sys.flags.isolated:
        return
    if os.path.isdir(script) or zipfile.is_zipfile(script):
        # runpy puts the archive or directory itself there.
        del sys.path[0]
    else:
        sys.path[0] = os.path.dirname(os.path.realpath(script))


def _hide_launcher_in_tracebacks() -> None:
    shown_by = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, traceback: types.TracebackType | None) -> None:
        traceback = _from_the_program(traceback)
        # The interpreter prints the traceback that the exception carries.
        shown_by(kind, error.with_traceback(traceback), traceback)

    sys.excepthook = hook


def _from_the_program(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """The traceback without the launcher's leading frames; all of it if no other frame follows."""
    frame = traceback
    while frame is not None and frame.tb_frame.f_code.co_filename in _LAUNCHER_FILES:
        frame = frame.tb_next
    return frame if frame is not None else traceback
