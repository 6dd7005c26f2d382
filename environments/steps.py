"""How each environment is made. Every step runs in the root of the repository, with the interpreter of `.venv`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

VENV, TORCH, ALL, CUPY, NVCC = (
    Path(name) for name in (".venv", ".venv-torch", ".venv-all", "build/cupy", "build/nvcc")
)


class Failure(Exception):
    """A reason why an environment cannot be made."""


class Missing(Failure):
    """A part that cannot be installed. `ALLOW_MISSING=1` continues without it."""


def run(*command: str | Path) -> None:
    """Run a command, and show it."""
    print(*command, flush=True)
    done = subprocess.run([str(part) for part in command], check=False)
    if done.returncode != 0:
        raise Failure(
            f"{command[0]} failed with exit status {done.returncode}: {' '.join(str(part) for part in command)}"
        )


def pip(command: str, *arguments: str | Path, into: Path = VENV) -> None:
    """Run pip for the environment `into`."""
    python = [] if into == VENV else ["--python", str(into / "bin" / "python")]
    start = [sys.executable, "-m", "pip", "--disable-pip-version-check", *python]
    run(*start, command, "--retries", "2", "--timeout", "30", *arguments)


def pinned(*names: str) -> list[str | Path]:
    """Return pip's options for files in `requirements/`."""
    return [argument for name in names for argument in ("-r", Path("requirements") / f"{name}.txt")]


def requirements(*names: str) -> None:
    """Install the packages of files in `requirements/` into `.venv`."""
    pip("install", *pinned(*names))


def peers(packages: Mapping[str, str]) -> None:
    """Install all peers, or each alone, so that those that cannot be installed are named."""
    try:
        return requirements("peers")
    except Failure:
        print("requirements/peers.txt cannot be installed as a whole; trying each peer alone", flush=True)
    missing = [peer for peer, names in packages.items() if not installs("-c", "requirements/peers.txt", *names.split())]
    raise Missing(f"peers NOT installed: {' '.join(missing) or 'none'}")


def measured() -> None:
    """Install Warp, and build PyCUDA."""
    # PyCUDA has no wheel.
    lines = Path("requirements/bench.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    others = VENV / "bench.txt"
    others.write_text("".join(line for line in lines if not line.startswith("pycuda==")), encoding="utf-8")
    missing = [] if installs("-r", others) else ["Warp (requirements/bench.txt cannot be installed)"]
    try:
        run(sys.executable, "benches/build_pycuda.py")
    except Failure:
        missing.append("PyCUDA (it cannot be built: a C++ compiler is needed)")
    if missing:
        raise Missing(f"not measured: {', '.join(missing)}")


def installs(*arguments: str | Path) -> bool:
    """Install packages into `.venv`, and return whether that worked."""
    try:
        pip("install", *arguments)
    except Failure as failure:
        print(failure, file=sys.stderr, flush=True)
        return False
    return True


def torch() -> None:
    """Make PyTorch's environment, which sees the packages of `.venv` too.

    PyTorch requires other versions of NVIDIA's libraries than numba-cuda, so its dependencies are not checked. It and numba-cuda look for
    NVIDIA's libraries in their own environment only, so those of `.venv` are linked here, without NVIDIA's CUDA runtime. Stand-ins take
    the place of the other libraries that PyTorch links.
    """
    if sys.hexversion < 0x030B0000:
        raise Failure(f"PyTorch needs Python 3.11 or later; {VENV} has {sys.version.split()[0]}")
    over(TORCH, "torch", nvidia=packages(VENV), sees=[packages(VENV)])
    for runtime in (packages(TORCH) / "nvidia/cu13/lib").glob("libcudart*"):
        runtime.unlink()
    run(TORCH / "bin" / "python", "tests/peers/stand_ins.py")


def everything() -> None:
    """Make the environment of all other peers, which sees the packages of PyTorch's environment, of `.venv` and of CuPy's folder.

    JAX, Triton and tinygrad look for NVIDIA's libraries beside themselves, so those of PyTorch's environment are linked here.
    """
    over(ALL, "all", nvidia=packages(TORCH), sees=[packages(TORCH), CUPY.absolute() / "site-packages"])


def over(environment: Path, names: str, *, nvidia: Path, sees: list[Path]) -> None:
    """Make an environment over others: it sees their packages, and links to their NVIDIA libraries."""
    shutil.rmtree(environment, ignore_errors=True)
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    pip("install", "--no-deps", *pinned(names), into=environment)
    own = packages(environment)
    (own / "peers.pth").write_text("".join(f"import site; site.addsitedir({str(path)!r})\n" for path in sees))
    link_tree((nvidia / "nvidia").resolve(), own / "nvidia")


def link_tree(source: Path, target: Path) -> None:
    """Link each file of a folder, as `cp -rs` does. Files of the target remain."""
    for folder, _, files in os.walk(source):
        here = target / Path(folder).relative_to(source)
        here.mkdir(parents=True, exist_ok=True)
        for file in files:
            if not (here / file).exists():
                (here / file).symlink_to(Path(folder) / file)


def packages(environment: Path) -> Path:
    """Return the absolute path of an environment's packages. All environments have the same Python."""
    base = str(environment.absolute())
    return Path(sysconfig.get_path("purelib", "posix_prefix", {"base": base}))


def cupy() -> None:
    """Install CuPy, and build the modules that take little time.

    CuPy has its own folder, which PYTHONPATH names: numba-cuda's own tests have other outcomes if CuPy can be imported. The folder also
    receives CuPy's own tests.
    """
    if shutil.which("c++") is None:
        raise Failure("CuPy needs a C++ compiler (on Debian and Ubuntu: apt-get install build-essential)")
    run(sys.executable, "tests/peers/build_cupy.py", CUPY)


def cupy_modules() -> None:
    """Build the modules of CuPy that take minutes, and install the packages of its tests. jitify stays out: its first use takes minutes."""
    packages_of_tests = CUPY / "suite" / "packages"
    shutil.rmtree(packages_of_tests, ignore_errors=True)
    pip("install", "--quiet", "--no-compile", "--no-deps", "--target", packages_of_tests, *pinned("cupy-suite"))
    site = os.pathsep.join(filter(None, [str((CUPY / "site-packages").absolute()), os.environ.get("PYTHONPATH")]))
    run("env", f"PYTHONPATH={site}", sys.executable, "-m", "cuarray_sim.cupy", "--modules", "cub,thrust")


def nvcc() -> None:
    """Install nvcc. The linker wants names that the wheels lack."""
    in_folder(NVCC, "nvcc")
    (NVCC / "nvidia/cu13/lib/libcudart.so").symlink_to("libcudart.so.13")
    (NVCC / "nvidia/cu13/lib64").symlink_to("lib")


def nvjitlink() -> None:
    """Install nvJitLink into a folder that PYTHONPATH names: without it, numba-cuda links through the driver."""
    in_folder(Path("build/nvjitlink"), "nvjitlink")


def pylibcudf() -> None:
    """Make the environment of pylibcudf, which sees the packages of `.venv`. It looks for NVIDIA's libraries in its own environment."""
    over(Path(".venv-pylibcudf"), "pylibcudf", nvidia=packages(VENV), sees=[packages(VENV)])


def rmm() -> None:
    """Build RMM in a folder that PYTHONPATH names."""
    if shutil.which(os.environ.get("CXX", "c++")) is None:
        raise Failure("RMM needs a C++ compiler (on Debian and Ubuntu: apt-get install build-essential)")
    run(sys.executable, "tests/peers/build_rmm.py", "build/rmm")


def distributed() -> None:
    """Make the environment of Dask and Ray, which sees the packages of `.venv`."""
    over(Path(".venv-distributed"), "distributed", nvidia=packages(VENV), sees=[packages(VENV)])


def mpich() -> None:
    """Install MPICH into a separate folder: its files have the names of Open MPI's."""
    folder = Path("build/mpich")
    shutil.rmtree(folder, ignore_errors=True)
    pip("install", "--quiet", "--no-deps", "--ignore-installed", "--prefix", folder, *pinned("mpich"))


def in_folder(folder: Path, names: str) -> None:
    """Install packages into a folder that is no environment."""
    shutil.rmtree(folder, ignore_errors=True)
    pip("install", "--quiet", "--no-compile", "--no-deps", "--target", folder, *pinned(names))


def mpi4py_tests() -> None:
    """Download mpi4py's source distribution, and unpack its tests."""
    folder = Path("build/mpi4py-tests")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        pip("download", "--quiet", "--no-deps", "--no-binary", "mpi4py", "--dest", folder, *pinned("mpi4py-tests"))
    except Failure as failure:
        raise Missing(f"mpi4py's tests cannot be downloaded: {failure}") from None
    (archive,) = folder.glob("mpi4py-*.tar.gz")
    run("tar", "-xf", archive, "-C", folder, "--strip-components=1", "--wildcards", "mpi4py-*/test")
