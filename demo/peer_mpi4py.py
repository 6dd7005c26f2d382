"""mpi4py, which exchanges arrays between processes: start two of them and collect their outcomes.

The processes run `mpi_ranks.py`. A failure of any kind, a hang included, is an outcome."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from outcome import Outcome
from peers import why

TIME_LIMIT = 240
"""Seconds. Starting two interpreters with CUDA libraries takes a few; the rest is for slow machines."""

# Open MPI needs these as root, as in containers, and with fewer cores than ranks. Other MPIs ignore them.
_LAUNCH = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


class MpiFailed(Exception):
    """The two processes did not end normally."""


def version():
    """Return the version of mpi4py, or None and the reason why it cannot be used."""
    try:
        import mpi4py

        mpi4py.rc.initialize = False
        from mpi4py import MPI  # noqa: F401 - loads the MPI library
    except Exception as error:
        return None, why(error)
    if launcher() is None:
        return None, "no mpiexec beside this Python or on the search path"
    return mpi4py.__version__, None


def launcher():
    """Return the program that starts MPI processes, preferably the one among this Python's packages."""
    return shutil.which("mpiexec", path=os.path.dirname(sys.executable)) or shutil.which("mpiexec")


def run_ranks(program, arguments, environment, ranks=2, time_limit=TIME_LIMIT):
    """Run a Python program in MPI processes and return its output; raise `MpiFailed`."""
    command = [launcher(), "-n", str(ranks), sys.executable, str(program), *map(str, arguments)]
    process = subprocess.Popen(
        command,
        env={**os.environ, **_LAUNCH, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=time_limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        raise MpiFailed(f"not done after {time_limit} s; the end of its output: {_last(output)}") from None
    if process.returncode != 0:
        raise MpiFailed(f"mpiexec ended with status {process.returncode}: {_last(output)}")
    return output


def survey(driver):
    """Return the outcomes of all routes to and from mpi4py."""
    with tempfile.TemporaryDirectory() as folder:
        findings = Path(folder, "findings")
        try:
            run_ranks(Path(__file__).with_name("mpi_ranks.py"), [findings], driver.environment_for_mpi)
            return [Outcome.from_json(line) for line in findings.read_text().splitlines()]
        except (MpiFailed, OSError) as error:
            return [Outcome("mpi4py, 2 ranks", failures=[f"mpi4py, 2 ranks: {error}"])]


def _last(output, lines=6):
    """Return the end of the output, without the launcher's text below a line of dashes."""
    programs_output = output.split("\n-----")[0].strip() or output.strip()
    return " | ".join(programs_output.splitlines()[-lines:])
