"""The pytest plugin: ``pytest --cuarray-sim`` runs a test suite on the simulated driver.

Without the option the plugin only registers its markers. With it, the plugin installs the driver before pytest loads the
first conftest file, and so before the suite can load another driver. Tests with findings fail
(:mod:`cuarray_sim.pytest_findings`), and so do tests that leave device objects alive (:mod:`cuarray_sim.pytest_leaks`). Under
``CUARRAY_SIM_SCHEDULE=random`` each test has its own schedule (:mod:`cuarray_sim.pytest_schedule`).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from . import pytest_findings, pytest_leaks, pytest_schedule, stand_ins
from .account import check_settings
from .cuda_runtime import describe
from .hints import refuse_numba_simulator
from .library import install
from .torch_on_host import TORCH_ON_HOST

__all__: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options; the variables ``CUARRAY_SIM_*`` configure the simulator."""
    group = parser.getgroup("cuarray-sim")
    group.addoption(
        "--cuarray-sim",
        action="store_true",
        default=False,
        help="run on the simulated CUDA driver, and fail tests that have findings or leave device objects alive; "
        "CUARRAY_SIM_DEVICES, _HOST_READABLE, _TRACE, _SCHEDULE, _RUNTIME and others configure it",
    )
    group.addoption(
        "--cuarray-sim-suppressions",
        metavar="FILE",
        default=None,
        help="a file of known findings, which are not failures (CUARRAY_SIM_SUPPRESSIONS)",
    )
    group.addoption(
        "--cuarray-sim-leaks",
        choices=("fail", "allow"),
        default="fail",
        help="with 'allow', tests may leave device objects alive, for libraries that cache memory (default: fail)",
    )
    group.addoption(
        "--cuarray-sim-pages",
        metavar="FOLDER",
        default=None,
        help="write a page with a picture of each finding into FOLDER for each test that fails because of findings",
    )
    group.addoption(
        "--cuarray-sim-torch-on-host",
        action="store_true",
        default=False,
        help="carry out PyTorch's operations on the host, in stream order: PyTorch's kernels are machine code",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Install the driver before any conftest file can import a CUDA library."""
    options = early_config.known_args_namespace
    if not options.cuarray_sim:
        return
    # Leaks are checked test by test, so a report at exit would repeat them.
    os.environ.setdefault("CUARRAY_SIM_LEAKS", "0")
    if options.cuarray_sim_torch_on_host:
        os.environ[TORCH_ON_HOST] = "1"
    try:
        refuse_numba_simulator()
        install(suppressions=options.cuarray_sim_suppressions)
        check_settings()
        stand_ins.note_at_exit()
        if options.cuarray_sim_pages is not None:
            Path(options.cuarray_sim_pages).mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise pytest.UsageError(f"--cuarray-sim: {error}") from error


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers and, with the option, the checks."""
    config.addinivalue_line(
        "markers",
        f"{pytest_findings.MARKER}(expect=kind, allow=kind): on the simulated CUDA driver, the test fails unless there is a "
        "finding of the expected kind; findings of an allowed kind are ignored",
    )
    config.addinivalue_line(
        "markers", f"{pytest_leaks.MARKER}: the test may leave objects alive on the simulated CUDA driver"
    )
    if config.getoption("cuarray_sim"):
        pages = config.getoption("cuarray_sim_pages")
        findings = pytest_findings.FindingCheck(
            os.environ.get("CUARRAY_SIM_SUPPRESSIONS"), None if pages is None else Path(pages).resolve()
        )
        leaks = pytest_leaks.LeakCheck(allowed=config.getoption("cuarray_sim_leaks") == "allow")
        # Hooks of later plugins run around those of earlier ones: the leak check collects garbage, which may have findings.
        config.pluginmanager.register(leaks, "cuarray_sim_leak_check")
        config.pluginmanager.register(findings, "cuarray_sim_finding_check")
        kind, _, seed = os.environ.get("CUARRAY_SIM_SCHEDULE", "").partition(":")
        if kind == "random":
            config.pluginmanager.register(pytest_schedule.RandomSchedule(int(seed)), "cuarray_sim_random_schedule")


def pytest_report_header(config: pytest.Config) -> list[str] | None:
    """Return the header lines, which name the simulated driver, its settings, and the stand-ins."""
    if not config.getoption("cuarray_sim"):
        return None
    settings = {f"{name}={value}" for name, value in os.environ.items() if name.startswith("CUARRAY_SIM_")}
    # This concerns the end of the process only.
    shown = ", ".join(sorted(settings - {"CUARRAY_SIM_LEAKS=0"})) or "default settings"
    checks = ["findings"] if os.environ.get("CUARRAY_SIM_FINDINGS") != "0" else []
    checks += ["leaks"] if config.getoption("cuarray_sim_leaks") == "fail" else []
    return [
        f"CUDA driver: simulated by cuarray-sim ({shown})",
        f"checked in each test: {' and '.join(checks) or 'nothing'}",
        f"CUDA runtime: {describe()}",
        f"other stand-ins for NVIDIA's files: {stand_ins.describe()}",
    ]
