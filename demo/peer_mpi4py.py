"""mpi4py, which exchanges arrays between processes: two of them are started, and their findings fetched.

The processes run `mpi_ranks.py`. They may fail in any way, hang included; then that is the finding.
"""

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

# For Open MPI, under root as in containers, and with fewer processor cores than ranks. Others ignore these.
_LAUNCH = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


class MpiFailed(Exception):
    """The two processes did not come to their end."""


def version():
    """The version of mpi4py, or None and why it cannot be used."""
    try:
        import mpi4py

        mpi4py.rc.initialize = False
        from mpi4py import MPI  # noqa: F401 - does the MPI library load?
    except Exception as error:
        return None, why(error)
    if launcher() is None:
        return None, "no mpiexec beside this Python or on the search path"
    return mpi4py.__version__, None


def launcher():
    """The program that starts MPI processes: the one installed with this Python's packages before any other."""
    return shutil.which("mpiexec", path=os.path.dirname(sys.executable)) or shutil.which("mpiexec")


def run_ranks(program, arguments, environment, ranks=2, time_limit=TIME_LIMIT):
    """Runs a Python program in MPI processes and returns what they wrote; raises `MpiFailed`."""
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
        raise MpiFailed(f"not done after {time_limit} s; the last that was written: {_last(output)}") from None
    if process.returncode != 0:
        raise MpiFailed(f"mpiexec ended with status {process.returncode}: {_last(output)}")
    return output


def survey(driver):
    """The outcomes of every route that ends or begins in mpi4py."""
    with tempfile.TemporaryDirectory() as folder:
        findings = Path(folder, "findings")
        try:
            run_ranks(Path(__file__).with_name("mpi_ranks.py"), [findings], driver.environment_for_mpi)
            return [Outcome.from_json(line) for line in findings.read_text().splitlines()]
        except (MpiFailed, OSError) as error:
            return [Outcome("mpi4py, 2 ranks", failures=[f"mpi4py, 2 ranks: {error}"])]


def _last(output, lines=6):
    """The end of what was written, without what the launcher adds below a line of dashes."""
    own = output.split("\n-----")[0].strip() or output.strip()
    return " | ".join(own.splitlines()[-lines:])
