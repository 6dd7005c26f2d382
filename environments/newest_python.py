"""The newest versions of Python, of Debian's unstable release: their installation in a folder, and the tests that run there.

The packages are unpacked into `build/newest-python`, not installed. Each command runs there by ``chroot``, in separate namespaces of users and mounts,
so it needs no root. The folder has no compiler and no peers, so tests that need them are left out.

`python -m environments.newest_python test OPTIONS...` runs these tests with options for pytest. `python -m environments.newest_python run VERSION
COMMAND...` runs another command, which has the packages of the tests too and may use the network.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from . import debian, steps

__all__ = ["install", "run", "test"]

FOLDER = Path("build", "newest-python")
ROOT = FOLDER / "root"
VERSIONS = ("3.14", "3.15")
# The newest version for which most libraries have wheels. It makes environments.
WITH_VENV = "3.14"
# The certificates of this machine, and its name servers. The packages that would make them are not installed.
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
NETWORK = (CERTIFICATES, "/etc/resolv.conf")

# Results of these libraries do not depend on the version of Python. They take most of the time, and some need peers.
LIBRARIES = ("cublas", "cufft", "curand", "cusolver", "cusparse", "mathematics", "mpi", "nccl")
# Files whose tests compile programs, and single tests that do, or that import numba.
COMPILED = ("machine_code_sites", "sanitizers", "cupy_build", "cuda_runtime")
LEFT_OUT = (
    "test_findings.py::test_c_program_prints_its_findings_at_exit",
    "test_launcher.py::test_machine_code_runs_on_the_driver_with_its_arguments",
    "test_launcher.py::test_installed_command_runs_scripts_modules_and_commands",
    "test_kernel_races.py::test_missing_barrier_in_numba_reduction_is_a_kernel_race",
    "test_kernel_races.py::test_numba_histogram_without_atomics_is_a_kernel_race",
    "test_kernel_races.py::test_hand_over_by_atomic_operations_without_fences_lacks_fences",
    "test_kernel_races.py::test_out_of_bounds_write_in_kernel_names_its_line",
    "test_kernel_races.py::test_kernel_race_report_quotes_the_kernel_source",
)

# The arguments are the folder of Debian, that of the repository, the packages and their place, files of this machine, then the command.
IN_FOLDER = """
set -e
root="$1"; here="$2"; packages="$3"; place="$root$4"; files="$5"; shift 5
mkdir -p "$root$here" "$place"
for file in $files; do
    [ ! -e "$file" ] || { mkdir -p "$root${file%/*}"; touch "$root$file"; mount --bind "$file" "$root$file"; }
done
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind "$here" "$root$here"
mount --bind "$packages" "$place"
exec chroot "$root" sh -c 'cd "$0" && exec "$@"' "$here" "$@"
"""


def install() -> None:
    """Unpack the interpreters with Debian's essential packages, and install the packages of the tests for each."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    ROOT.mkdir(parents=True)
    interpreters = [f"python{version}" for version in VERSIONS]
    packages = debian.download(
        FOLDER / "apt", "sid", "?essential", *interpreters, f"python{WITH_VENV}-venv", with_all=True
    )
    # The first one has the links from /bin and /lib to /usr.
    packages.sort(key=lambda package: not package.name.startswith("base-files_"))
    for package in packages:
        debian.unpack(package, ROOT)
    shutil.rmtree(FOLDER / "apt")
    for version in VERSIONS:
        _pip(version, *steps.pinned("newest-python"))


def test(options: Sequence[str]) -> None:
    """Install the wheels of `dist`, and run the tests of the simulator with each version, with options for pytest."""
    wheels = sorted(Path("dist").glob("cuarray*.whl"))
    for version in VERSIONS:
        _pip(version, "--no-deps", "--upgrade", *wheels)
        _test(version, options)


def run(version: str, *command: str) -> None:
    """Run a command in the folder, with the packages of a version of Python."""
    written = ("PYTHONDONTWRITEBYTECODE=1", "HYPOTHESIS_STORAGE_DIRECTORY=/tmp/hypothesis")
    settings = ("env", *written, f"SSL_CERT_FILE={CERTIFICATES}", f"PIP_CERT={CERTIFICATES}")
    place = f"/usr/local/lib/python{version}/dist-packages"
    here = Path.cwd()
    mounts = (here / ROOT, here, here / FOLDER / version, place, " ".join(NETWORK))
    start = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", IN_FOLDER, "sh")
    steps.run(*start, *mounts, *settings, *command)


def _test(version: str, options: Sequence[str]) -> None:
    python = f"python{version}"
    ignored = [f"--ignore-glob=tests/sim/test_{name}*" for name in (*LIBRARIES, *COMPILED)]
    deselected = [f"--deselect=tests/sim/{test}" for test in LEFT_OUT]
    options = ["--cuarray-sim", "--numprocesses", "2", "-p", "no:cacheprovider", *options]
    run(version, python, "-m", "cuarray_sim", "--selftest")
    run(version, python, "-m", "pytest", "tests/sim", *options, *ignored, *deselected)


def _pip(version: str, *arguments: str | Path) -> None:
    # pip would compare the requirements of packages with its own interpreter. The name of a wheel states its version of Python.
    chosen = ["--python-version", version, "--only-binary=:all:", "--ignore-requires-python"]
    steps.pip("install", *chosen, "--target", FOLDER / version, *arguments)


def main(name: str, *arguments: str) -> None:
    """Run the tests, or a command."""
    if name == "test":
        test(arguments)
    elif name == "run":
        run(*arguments)
    else:
        raise steps.Failure(f"unknown: {name}; there are `test OPTIONS...` and `run VERSION COMMAND...`")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except steps.Failure as failure:
        sys.exit(str(failure))
