"""The simulated driver's shared library: its path, and its installation as the driver of a process.

CUDA libraries load their driver by the name ``libcuda.so.1``. If the process already holds a library with that SONAME, the
dynamic loader returns it without a search. So :func:`install` loads the simulated driver first, by its absolute path, and every
later request gets it. The loader reads ``LD_LIBRARY_PATH`` only at process start, so that variable serves child processes.

A process must not hold two drivers, as its libraries would exchange pointers between them. So :func:`install` raises an error if
another driver is loaded.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import re
import secrets
import sys
from pathlib import Path

from .allocators import watch_allocators
from .cuda_bindings import replace_static_runtime
from .cuda_runtime import RUNTIME, runtimes
from .cupy.finder import find_built_modules
from .hints import warn_of_late_install
from .loader import file_that_serves, loaded_files
from .ptxas import name_other_ptxas, serve_pathfinder
from .renamed_runtime import serve_renamed_runtimes
from .stand_ins import load_stand_ins, pass_on_to_children, say
from .torch_on_host import carry_out_on_host
from .xla import set_environment

__all__ = ["install", "is_installed", "library_path"]

MOST_DEVICES = 8

SCHEDULES = "'lazy', 'eager', 'random', 'random:SEED' or 'replay:CHOICES'"
SCHEDULE = re.compile(r"lazy|eager|random(:\d{1,20})?|replay:[0-9a-z:{}-]*")

# libcuda.so.1 and the possible targets of that link: libcuda.so.1.1, libcuda.so.580.159.03, or the link stub libcuda.so.
_DRIVER_FILE = re.compile(r"/libcuda\.so(\.[0-9.]+)?$")


def library_path() -> Path:
    """Return the absolute path of the simulated driver.

    Raises :class:`FileNotFoundError` if the package was installed without it, for example from a source tree.

    >>> import cuarray_sim
    >>> cuarray_sim.library_path().name
    'libcuda.so.1'
    """
    path = Path(__file__).resolve().with_name("libcuda.so.1")
    if not path.is_file():
        raise FileNotFoundError(f"the simulated driver is missing: {path}; install the cuarray-sim wheel")
    return path


def is_installed() -> bool:
    """Return whether the simulated driver is this process's driver, even if another library loaded it.

    >>> import cuarray_sim
    >>> path = cuarray_sim.install()
    >>> cuarray_sim.is_installed()
    True
    """
    return any(_is_simulated(path) for path in _loaded_drivers())


def install(
    *,
    devices: int | None = None,
    host_readable: bool | None = None,
    pageable_memory: bool | None = None,
    trace: str | os.PathLike[str] | None = None,
    schedule: str | None = None,
    report: str | os.PathLike[str] | None = None,
    suppressions: str | os.PathLike[str] | None = None,
    runtime: bool | None = None,
) -> Path:
    """Make the simulated driver the CUDA driver of this process and of the processes that it starts.

    Call it before the first CUDA call, best before importing CUDA libraries. Further calls have no effect.

    :param devices: the number of devices, 1 to 8 (``CUARRAY_SIM_DEVICES``; 1 by default).
    :param host_readable: whether the host may access device memory directly (``CUARRAY_SIM_HOST_READABLE``). By default such
        an access faults, as on a GPU. An MPI built without CUDA needs ``True``.
    :param pageable_memory: whether devices access the program's own memory, as on Grace Hopper or with heterogeneous memory management
        (``CUARRAY_SIM_PAGEABLE_MEMORY``).
    :param trace: a file that receives a line for each driver call (``CUARRAY_SIM_TRACE``).
    :param schedule: when enqueued work runs (``CUARRAY_SIM_SCHEDULE``). The default is ``"lazy"``, as late as the driver's
        rules allow. Others are ``"eager"``, once it is enqueued; ``"random:SEED"``, in a random order; ``"replay:..."``, in an
        order that was printed before. ``"random"`` draws a seed and prints it.
    :param report: a file for the findings, written at process exit: ``.txt``, ``.json``, ``.html``, ``.sarif``, or ``.trace.json`` for
        timeline viewers (``CUARRAY_SIM_REPORT``).
    :param suppressions: a file of known findings, which are not reported, or an earlier report in JSON
        (``CUARRAY_SIM_SUPPRESSIONS``).
    :param runtime: whether the package's CUDA runtime takes the place of NVIDIA's (``CUARRAY_SIM_RUNTIME``; true by default).
    :returns: the library's path.
    :raises RuntimeError: another driver is already loaded, ``CUARRAY_DRIVER`` names another, the simulated one is loaded
        with other options, or the system is not Linux.
    :raises ValueError: an option has an invalid value.
    :warns RuntimeWarning: a library has already looked for a driver, found none, and does not look again; or one of NVIDIA's
        libraries that has a stand-in is already loaded.

    An omitted option keeps the value of the environment. Child processes inherit the options, and find the driver through
    ``LD_LIBRARY_PATH`` and ``CUARRAY_DRIVER``, which this function sets.

    >>> import cuarray_sim
    >>> cuarray_sim.install().name
    'libcuda.so.1'
    """
    options = _environment_of(devices, schedule)
    switches = {"HOST_READABLE": host_readable, "PAGEABLE_MEMORY": pageable_memory}
    options.update({f"CUARRAY_SIM_{name}": "1" if on else "0" for name, on in switches.items() if on is not None})
    if runtime is not None:
        options[RUNTIME] = "1" if runtime else "0"
    files = {"CUARRAY_SIM_TRACE": trace, "CUARRAY_SIM_REPORT": report, "CUARRAY_SIM_SUPPRESSIONS": suppressions}
    # Absolute paths stay valid when the program or a child process changes its directory.
    options.update({name: os.path.abspath(path) for name, path in files.items() if path is not None})
    if not sys.platform.startswith("linux"):
        raise RuntimeError(f"the simulated CUDA driver runs on Linux; this is {sys.platform}")
    path = library_path()
    _refuse_another_driver(path)
    if runtime is False and runtimes():
        raise RuntimeError(
            f"the CUDA runtime of cuarray-sim is already loaded in this process; set {RUNTIME}=0 at its start"
        )
    if is_installed():
        _refuse_other_options(options)
    else:
        warn_of_late_install()
        os.environ.update(options)
        # Python handles Ctrl-C only once the driver call has ended.
        os.environ.setdefault("CUARRAY_SIM_INTERRUPTS", "1")
        atexit.register(_report_interrupted, os.getpid())
        say(f"{path.name} is {path}")
        if os.environ.get("CUARRAY_SIM_SCHEDULE") == "random":
            # Drawn here, so that child processes get the same seed, and the environment shows it.
            os.environ["CUARRAY_SIM_SCHEDULE"] = f"random:{secrets.randbelow(10**9)}"
    _load(path)
    load_stand_ins()
    serve_renamed_runtimes()
    replace_static_runtime()
    serve_pathfinder()
    find_built_modules()
    carry_out_on_host()
    watch_allocators()
    os.environ["CUARRAY_DRIVER"] = str(path)
    pass_on_to_children()
    name_other_ptxas()
    set_environment()
    if "IPython" in sys.modules:
        from .notebook import watch_cells

        watch_cells()
    return path


def _report_interrupted(process: int) -> None:
    """Report the findings if Ctrl-C ends the process: Python ends itself by the signal then, and the driver does not see the exit."""
    interrupted = issubclass(getattr(sys, "last_type", None) or Exception, KeyboardInterrupt)
    # An interactive interpreter goes on after the interrupt, and ends as usual.
    if not interrupted or hasattr(sys, "ps1") or os.getpid() != process:
        return
    from .findings_report import report_before_signal

    try:
        report_before_signal()
    except RuntimeError as error:
        print(f"cuarray-sim: no report after the interrupt: {error}", file=sys.stderr)


def _environment_of(devices: int | None, schedule: str | None) -> dict[str, str]:
    """Return the given options as the environment variables that the library reads."""
    options = {}
    if devices is not None:
        if isinstance(devices, bool) or not isinstance(devices, int) or not 1 <= devices <= MOST_DEVICES:
            raise ValueError(f"devices is {devices!r}; expected an integer from 1 to {MOST_DEVICES}")
        options["CUARRAY_SIM_DEVICES"] = str(devices)
    if schedule is not None:
        if not isinstance(schedule, str) or not SCHEDULE.fullmatch(schedule):
            raise ValueError(f"schedule is {schedule!r}; expected {SCHEDULES}")
        options["CUARRAY_SIM_SCHEDULE"] = schedule
    return options


def _load(path: Path) -> None:
    # RTLD_GLOBAL, as for a library that the program is linked with. It also applies to a library that is already loaded.
    ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    served = _driver_that_the_loader_serves()
    if served is None or not _is_simulated(served):
        raise RuntimeError(f"{path} was loaded, but a request for libcuda.so.1 returns {served or 'nothing'}")


def _driver_that_the_loader_serves() -> str | None:
    """Return the file of the loaded library that a request for ``libcuda.so.1`` gets; None if there is none."""
    return file_that_serves("libcuda.so.1", "cuInit")


def _loaded_drivers() -> list[str]:
    """Return the files of all CUDA drivers in this process: those with a driver's file name, and the one with its SONAME."""
    served = _driver_that_the_loader_serves()
    return list(dict.fromkeys([*loaded_files(_DRIVER_FILE), *([served] if served else [])]))


def _is_simulated(path: str) -> bool:
    try:
        return os.path.samefile(path, library_path())
    except OSError:
        return False


def _refuse_another_driver(path: Path) -> None:
    for loaded in _loaded_drivers():
        if not _is_simulated(loaded):
            raise RuntimeError(
                f"another CUDA driver is already loaded in this process: {loaded}; call cuarray_sim.install() before "
                "the first CUDA call, or start the program with `python -m cuarray_sim`"
            )
    chosen = os.environ.get("CUARRAY_DRIVER")
    if chosen and not _is_simulated(chosen):
        raise RuntimeError(f"CUARRAY_DRIVER names another driver: {chosen}; unset it to use {path}")


def _refuse_other_options(options: dict[str, str]) -> None:
    for name, value in options.items():
        if value == "random" and os.environ.get(name, "").startswith("random:"):
            continue
        if name == RUNTIME and (value != "0") == (os.environ.get(name, "").strip() != "0"):
            continue
        if os.environ.get(name) != value:
            raise RuntimeError(
                f"the simulated driver is already loaded with {name}={os.environ.get(name, '')}; "
                f"it cannot be changed to {value} in this process"
            )
