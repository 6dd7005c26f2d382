"""Stand-ins: files of the package in place of NVIDIA's. One list says what they are; the rest of this module loads them.

A process loads a stand-in library before the program can load NVIDIA's. The dynamic loader then takes it for every request of its
SONAME, also for libraries whose RPATH names the folder of NVIDIA's file. Python processes that this one starts do the same: their
interpreter reads ``cuarray_sim.pth``, which imports :mod:`cuarray_sim.child`. Other programs find the folders in ``LD_LIBRARY_PATH``
and ``PATH``.

Each stand-in has its own folder, so that its switch removes it from the search paths. A stand-in that is used appends the name of
its file to the file ``CUARRAY_USED_STAND_INS``, once in a process. The launcher and the pytest plugin name those files at the end.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import re
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .loader import file_that_serves, loaded_files

__all__ = [
    "STAND_INS",
    "VERBOSE",
    "StandIn",
    "describe",
    "is_wanted",
    "load_stand_ins",
    "loaded",
    "note_at_exit",
    "nvidias_file",
    "pass_on_to_children",
    "preload_in_children",
    "say",
    "used",
]

VERBOSE = "CUARRAY_SIM_VERBOSE"

PACKAGE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class StandIn:
    """Files of the package that take the place of NVIDIA's."""

    name: str
    """The name in messages."""
    switch: str
    """The variable that turns it off with the value 0."""
    folder: str
    """The folder in the package. No other stand-in has files there."""
    files: tuple[str, ...]
    """The files: libraries under their SONAMEs, or programs. A file that the wheel lacks is left out."""
    symbol: str = ""
    """A function that each version of NVIDIA's library exports; empty for programs."""
    when: Literal["always", "installed", "missing"] = "always"
    """Whether it is used always, only in front of an installed file of NVIDIA's, or only where there is none."""
    variables: tuple[tuple[str, str], ...] = ()
    """Variables of the environment, with their values. The user's own values are kept, and an empty value sets none.

    A value may contain ``{folder}``, ``{package}``, ``{triton_architecture}`` and ``{jax_cuda_root}``.
    """
    late: str = "the simulated driver refuses its results"
    """The consequence if NVIDIA's library is loaded already, for a warning."""
    preload: bool = False
    """Whether it replaces functions of any loaded library by their names, and no file."""

    @property
    def path(self) -> Path:
        """The folder of the files."""
        return PACKAGE / self.folder


STAND_INS = (
    StandIn(
        name="CUDA runtime",
        switch="CUARRAY_SIM_RUNTIME",
        folder="runtime",
        files=("libcudart.so.13", "libcudart.so.12"),
        symbol="cudaGetDevice",
        late="its calls fail on the simulated driver",
    ),
    StandIn(
        name="nvJitLink",
        switch="CUARRAY_SIM_NVJITLINK",
        folder="toolchain/nvjitlink",
        files=("libnvJitLink.so.13", "libnvJitLink.so.12"),
        symbol="nvJitLinkVersion",
        when="installed",
    ),
    StandIn(
        name="NVRTC",
        switch="CUARRAY_SIM_NVRTC",
        folder="toolchain/nvrtc",
        files=("libnvrtc.so.13", "libnvrtc.so.12"),
        symbol="nvrtcVersion",
        when="installed",
    ),
    StandIn(
        name="ptxas",
        switch="CUARRAY_SIM_PTXAS",
        folder="toolchain/ptxas/bin",
        files=("ptxas",),
        variables=(
            ("TRITON_PTXAS_PATH", "{folder}/ptxas"),
            ("TRITON_PTXAS_BLACKWELL_PATH", "{folder}/ptxas"),
            ("TRITON_LIBCUDA_PATH", "{package}"),
            ("TRITON_OVERRIDE_ARCH", "{triton_architecture}"),
            ("CUDA_ROOT", "{jax_cuda_root}"),
        ),
    ),
    StandIn(
        name="NVML",
        switch="CUARRAY_SIM_NVML",
        folder="libraries/nvml",
        files=("libnvidia-ml.so.1",),
        symbol="nvmlInit_v2",
        late="it finds no device",
    ),
    StandIn(
        name="cuDNN",
        switch="CUARRAY_SIM_CUDNN",
        folder="libraries/cudnn",
        files=("libcudnn.so.9",),
        symbol="cudnnGetVersion",
        late="its calls fail on the simulated driver",
    ),
    StandIn(
        name="NCCL",
        switch="CUARRAY_SIM_NCCL",
        folder="libraries/nccl",
        files=("libnccl.so.2",),
        symbol="ncclGetVersion",
        late="its calls fail on the simulated driver",
    ),
    StandIn(
        name="cuBLAS",
        switch="CUARRAY_SIM_CUBLAS",
        folder="libraries/cublas",
        files=("libcublas.so.13", "libcublas.so.12"),
        symbol="cublasCreate_v2",
        late="its calls fail on the simulated driver",
    ),
    StandIn(
        name="cublasLt",
        switch="CUARRAY_SIM_CUBLASLT",
        folder="libraries/cublaslt",
        files=("libcublasLt.so.13", "libcublasLt.so.12"),
        symbol="cublasLtCreate",
        late="its calls fail on the simulated driver",
    ),
    StandIn(
        name="cuFFT",
        switch="CUARRAY_SIM_CUFFT",
        folder="libraries/cufft",
        # CUDA 13 has cuFFT 12, and CUDA 12 has cuFFT 11.
        files=("libcufft.so.12", "libcufft.so.11"),
        symbol="cufftCreate",
        late="its calls fail on the simulated driver",
    ),
    StandIn(
        name="cuRAND",
        switch="CUARRAY_SIM_CURAND",
        folder="libraries/curand",
        files=("libcurand.so.10",),
        symbol="curandCreateGenerator",
        late="its calls fail on the simulated driver",
    ),
    StandIn(
        name="cuSOLVER",
        switch="CUARRAY_SIM_CUSOLVER",
        folder="libraries/cusolver",
        # CUDA 13 has cuSOLVER 12, and CUDA 12 has cuSOLVER 11.
        files=("libcusolver.so.12", "libcusolver.so.11"),
        symbol="cusolverDnCreate",
        late="its calls fail on the simulated driver",
    ),
    StandIn(
        name="cuSPARSE",
        switch="CUARRAY_SIM_CUSPARSE",
        folder="libraries/cusparse",
        # The file of CUDA 12 and 13.
        files=("libcusparse.so.12",),
        symbol="cusparseCreate",
        late="its calls fail on the simulated driver",
    ),
    StandIn(
        name="MPI",
        switch="CUARRAY_SIM_MPI",
        folder="libraries/mpi",
        files=("libcuarray-mpi.so",),
        preload=True,
    ),
)
"""Everything that the package puts in front of NVIDIA's files, and of MPI, besides the driver."""

# Variables that launchers of MPI set for the processes that they start.
_RANK_VARIABLES = ("PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK")

# Real files, for stand-ins that call them: absolute paths, separated by colons.
_REAL_FILES = "CUARRAY_NVIDIA_LIBRARIES"
# The file that receives the names of used stand-ins, and words of the driver (crates/cuarray-sim/src/process/family.rs).
_USED = "CUARRAY_USED_STAND_INS"
# The name of the file of used stand-ins, which has no place in a file system.
_USED_NAME = "cuarray-sim-used"

_loaded: dict[str, ctypes.CDLL] = {}
# The files that are in front of NVIDIA's, by the stand-in's name.
_chosen: dict[str, list[Path]] = {}
_used_file: int | None = None
_noted = False


def is_wanted(stand_in: StandIn) -> bool:
    """Return whether the package has the stand-in, and its switch does not turn it off."""
    return os.environ.get(stand_in.switch, "").strip() != "0" and bool(_files(stand_in))


def load_stand_ins() -> None:
    """Load the libraries of the list, except those that are switched off.

    :warns RuntimeWarning: NVIDIA's library is loaded, so the stand-in comes too late.
    """
    for stand_in in STAND_INS:
        if stand_in.name not in _chosen and is_wanted(stand_in):
            _chosen[stand_in.name] = []
            _load(stand_in)


def _load(stand_in: StandIn) -> None:
    chosen = _chosen[stand_in.name]
    if stand_in.preload:
        for path in _files(stand_in):
            # Global scope, before the library whose functions it replaces.
            _loaded[path.name] = ctypes.CDLL(str(path), mode=os.RTLD_NOW | os.RTLD_GLOBAL)
            chosen.append(path)
        return
    # Looked up first, because a stand-in may load NVIDIA's library.
    others = [other for other in loaded_files(_pattern(stand_in)) if not _is_ours(other, stand_in)]
    for path in _files(stand_in):
        real = None if stand_in.when == "always" else _real_file(path.name)
        if stand_in.when == ("missing" if real else "installed"):
            continue
        chosen.append(path)
        if not stand_in.symbol:
            say(f"{path.name} is {path}")
            continue
        other = file_that_serves(path.name, stand_in.symbol)
        if other is None or _is_ours(other, stand_in):
            # Local scope: a program that finds functions in the global scope must name the version that it means.
            _loaded[path.name] = ctypes.CDLL(str(path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
            say(f"{path.name} is {path}" + (f", in front of {real}" if real else ""))
            if real:
                _remember_real_file(real)
    if not chosen:
        return
    for other in others:
        warnings.warn(
            f"NVIDIA's {stand_in.name} is already loaded: {other}; {stand_in.late}; call cuarray_sim.install() before the "
            "first import of torch, cupy or another library that loads it, or start the program with `python -m cuarray_sim`",
            RuntimeWarning,
            stacklevel=4,
        )


def loaded(file: str) -> ctypes.CDLL | None:
    """Return a library of the list that this process has loaded, by the name of its file; None if there is none."""
    return _loaded.get(file)


def pass_on_to_children() -> None:
    """Set the environment of child processes: search paths, and the variables of the stand-ins."""
    libraries = [str(PACKAGE)]
    programs: list[str] = []
    for stand_in in STAND_INS:
        if not _chosen.get(stand_in.name):
            continue
        if stand_in.preload:
            # Programs with the address sanitizer do not start with a preloaded library.
            if os.environ.get(stand_in.switch, "").strip() == "1" or any(
                name in os.environ for name in _RANK_VARIABLES
            ):
                preload_in_children()
            continue
        folder = str(stand_in.path)
        (libraries if stand_in.symbol else programs).append(folder)
        for name, value in stand_in.variables:
            value = value.format(
                folder=folder,
                package=PACKAGE,
                triton_architecture=_triton_architecture(),
                jax_cuda_root=_jax_cuda_root(stand_in),
            )
            if value and name not in os.environ:
                os.environ[name] = value
                say(f"{name} is {value}")
    _put_first("LD_LIBRARY_PATH", libraries)
    _put_first("PATH", programs)
    _open_used_file()


def preload_in_children() -> None:
    """Put the libraries in front of MPI into ``LD_PRELOAD``, for processes of MPI."""
    before = [each for each in re.split(r"[: ]+", os.environ.get("LD_PRELOAD", "")) if each]
    ours = [str(path) for stand_in in STAND_INS if stand_in.preload for path in _chosen.get(stand_in.name, [])]
    os.environ["LD_PRELOAD"] = ":".join([*(path for path in ours if path not in before), *before])


def _triton_architecture() -> str:
    """Return the architecture whose instructions Triton chooses; empty for that of the device.

    From capability 9.0 on, Triton would choose ``wgmma``, ``tcgen05`` and tensor maps, which are not simulated. Code for 8.9 runs on every
    newer device.
    """
    major = os.environ.get("CUARRAY_SIM_COMPUTE_CAPABILITY", "9.0").strip().partition(".")[0]
    return "sm89" if major.isdecimal() and int(major) >= 9 else ""


def _jax_cuda_root(stand_in: StandIn) -> str:
    """Return the folder in which JAX finds the stand-in as ``bin/ptxas``; empty where its path has it.

    JAX takes the compiler of the wheel ``nvidia-cuda-nvcc``, which ``jax[cuda13]`` installs, in front of those of the path, unless
    ``CUDA_ROOT`` names another folder. The variable is set for no one else: build tools look there for ``nvcc`` too.
    """
    return str(stand_in.path.parent) if nvidias_file("bin/ptxas") else ""


def _put_first(variable: str, ours: list[str]) -> None:
    """Put folders at the start of a search path, and remove those of other stand-ins from it."""
    stand_ins = {str(PACKAGE), *(str(stand_in.path) for stand_in in STAND_INS)}
    before = os.environ.get(variable, "")
    others = [each for each in before.split(":") if each and each not in stand_ins]
    after = ":".join([*ours, *others])
    if after != before:
        os.environ[variable] = after


def describe() -> str:
    """Return which files besides the runtime are in front of NVIDIA's in this process, for one line of a report."""
    others = [stand_in for stand_in in STAND_INS[1:] if not stand_in.preload]
    paths = [path for stand_in in others for path in _chosen.get(stand_in.name, [])]
    return ", ".join(path.name for path in paths if ".so" not in path.name or path.name in _loaded) or "nothing else"


def used() -> list[str]:
    """Return the files of the list that this process and its children have used, in the order of the list."""
    if _used_file is None:
        return []
    size = os.fstat(_used_file).st_size
    names = set(os.pread(_used_file, size, 0).decode(errors="replace").split())
    return [file for stand_in in STAND_INS for file in stand_in.files if file in names]


def note_at_exit() -> None:
    """Print at the end of this process which stand-ins were used."""
    global _noted
    process = os.getpid()

    def note() -> None:
        # A forked child inherits the handler.
        if os.getpid() == process and (files := used()):
            # The program's output comes first, also where it is buffered.
            if sys.stdout is not None:
                sys.stdout.flush()
            switches = [stand_in.switch for stand_in in STAND_INS if set(stand_in.files) & set(files)]
            print(
                f"cuarray-sim: used instead of NVIDIA's: {', '.join(files)}; {'=0, '.join(switches)}=0 to use NVIDIA's",
                file=sys.stderr,
                flush=True,
            )

    if not _noted:
        atexit.register(note)
    _noted = True


def say(text: str) -> None:
    """Print a line on standard error if ``CUARRAY_SIM_VERBOSE`` is set."""
    if os.environ.get(VERBOSE, "").strip() == "1":
        print(f"cuarray-sim: {text}", file=sys.stderr, flush=True)


def _open_used_file() -> None:
    """Make the file of used stand-ins, unless a parent process has made one."""
    global _used_file
    if _used_file is not None or _is_used_file(os.environ.get(_USED, "")) or not hasattr(os, "memfd_create"):
        return
    _used_file = os.memfd_create(_USED_NAME)
    os.environ[_USED] = f"/proc/{os.getpid()}/fd/{_used_file}"


def _is_used_file(path: str) -> bool:
    try:
        return os.readlink(path).startswith(f"/memfd:{_USED_NAME}")
    except OSError:
        return False


def _remember_real_file(path: str) -> None:
    known = [each for each in os.environ.get(_REAL_FILES, "").split(":") if each]
    if path not in known:
        os.environ[_REAL_FILES] = ":".join([*known, path])


def _real_file(name: str) -> str | None:
    """Return NVIDIA's file of a name, where libraries and the loader would find it; None if it is not installed."""
    if found := nvidias_file(f"lib/{name}"):
        return found
    variables = {name: os.environ.get(name, "") for name in ("CONDA_PREFIX", "CUDA_PATH", "CUDA_HOME")}
    folders = [*os.environ.get("LD_LIBRARY_PATH", "").split(":")]
    folders += [f"{root}/{lib}" for root in variables.values() if root for lib in ("lib", "lib64")]
    folders += ["/usr/local/cuda/lib64"]
    for folder in folders:
        if folder and not folder.startswith(str(PACKAGE)) and os.path.isfile(f"{folder}/{name}"):
            return os.path.abspath(f"{folder}/{name}")
    return _in_cache(name)


def nvidias_file(name: str) -> str | None:
    """Return a file of NVIDIA's wheels, as ``lib/libcudart.so.13``; None if none has it.

    They have ``nvidia/cu13/lib`` since CUDA 13, and ``nvidia/cuda_nvrtc/lib`` before.
    """
    for entry in sys.path:
        try:
            found = sorted(Path(entry or ".").glob(f"nvidia/*/{name}"))
        except OSError:
            continue
        if found:
            return str(found[0].absolute())
    return None


def _in_cache(name: str) -> str | None:
    """Return a file of the loader's cache, which has absolute paths that end in a nul."""
    try:
        cache = Path("/etc/ld.so.cache").read_bytes()
    except OSError:
        return None
    found = re.search(rb"/[^\0]*/" + re.escape(name.encode()) + rb"(?=\0)", cache)
    return os.fsdecode(found[0]) if found and os.path.isfile(found[0]) else None


def _pattern(stand_in: StandIn) -> re.Pattern[str]:
    # libcudart.so.13, libcudart.so.13.0.96, and the renamed files in wheels, such as libcudart-1234abcd.so.12.
    stem = re.escape(stand_in.files[0].partition(".so")[0])
    return re.compile(rf"/{stem}(-[0-9a-f]+)?\.so(\.[0-9.]+)?$")


def _files(stand_in: StandIn) -> list[Path]:
    return [path for file in stand_in.files if (path := stand_in.path / file).is_file()]


def _is_ours(path: str, stand_in: StandIn) -> bool:
    try:
        return any(os.path.samefile(path, ours) for ours in _files(stand_in))
    except OSError:
        return False
