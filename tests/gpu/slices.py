"""The tests that a real driver runs, in the order of their value, and those that stay at home."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

SECONDS = 40.0
"""The seconds that a test may take."""


@dataclass(frozen=True)
class Slice:
    """Files of tests that answer one question about the driver."""

    name: str
    paths: tuple[str, ...]

    def files(self) -> list[str]:
        """The files of tests, each below the project's folder."""
        found: list[str] = []
        for path in self.paths:
            each = ROOT / path
            found += [
                str(file.relative_to(ROOT)) for file in ([each] if each.is_file() else sorted(each.rglob("test_*.py")))
            ]
        return found


SLICES = (
    Slice("exchange", ("tests/spec/clauses", "tests/package", "tests/dlpack", "tests/c_interface")),
    Slice("libraries", ("tests/interop", "tests/mlir", "tests/spec/disagreements", "tests/spec/checklists")),
    Slice("programs", ("tests/extensions", "tests/testing")),
    Slice("kernels", ("tests/kernels",)),
    Slice(
        "more libraries", ("tests/pytorch/test_exchange.py", "tests/pytorch/test_streams.py", "tests/all_libraries/jax")
    ),
)

PLANTED = Slice("planted", ("tests/gpu/planted.py",))
"""Only the rehearsal runs it: tests that hang, crash and break their context."""

LEFT_OUT = {
    "tests/address_sanitizer": "settings of a sanitizer",
    "tests/advice": "findings of the simulated driver",
    "tests/check": "the kit's own tests; the kit itself runs on the driver",
    "tests/cupy_modules": "modules of CuPy that are built for the simulated driver",
    "tests/cupy_suite": "CuPy's own tests, whose outcomes on a GPU are known to CuPy",
    "tests/documents": "blocks of the documents, in environments that the network fills",
    "tests/faults": "only the simulated driver fails on demand",
    "tests/gpu": "this program",
    "tests/kernel_sweep": "findings of the simulated driver",
    "tests/kit_mutants": "findings of the simulated driver, in copies of a process",
    "tests/litmus": "the race search of the simulated driver",
    "tests/numba_suite": "numba-cuda's own tests, whose outcomes on a GPU are known to numba-cuda",
    "tests/peer_suite": "the runner of these suites",
    "tests/peers": "builds of peers for the simulated driver",
    "tests/project": "the project's files",
    "tests/planted_mathematics": "findings of the simulated driver",
    "tests/planted_synchronization": "findings of the simulated driver",
    "tests/racy_kernels": "findings of the simulated driver",
    "tests/sim": "the simulated driver",
    "tests/square": "all pairs of libraries, with findings of the simulated driver",
    "tests/support": "modules that tests share",
    "tests/sweep": "findings of the simulated driver",
    "tests/thread_sanitizer": "settings of a sanitizer",
    "tests/toolchain": "stand-ins of the simulated driver",
    "tests/rmm_modules": "modules of RMM that are built for the simulated driver",
    "tests/documented": "libraries in environments that are installed there",
    "tests/warp_modules": "a library of Warp that is built for the simulated driver",
    "tests/workers": "processes of Dask and Ray, which are not installed there",
}
"""Folders without a slice, each with the reason."""

SLOW = {"tests/interop/test_mpi4py_suite.py": 150.0}
"""Files with longer tests, and the seconds for each of them."""

STATIC_RUNTIME = "a static CUDA runtime needs tables that only NVIDIA's driver has"
MACHINE_CODE = "NVIDIA's compiler makes machine code where no stand-in takes its place"
NOT_REHEARSED = {
    "tests/interop/test_cuda_bindings_runtime.py": STATIC_RUNTIME,
    "tests/interop/cuda_core/test_programs_and_launches.py": MACHINE_CODE,
    "tests/interop/cuda_core/test_textures_and_surfaces.py": MACHINE_CODE,
    "tests/interop/cuda_core/test_devices_and_streams.py": STATIC_RUNTIME,
    "tests/interop/cuda_core/test_buffers.py": STATIC_RUNTIME,
}
"""Files that the simulated driver cannot run when it takes the place of the system's driver, each with the reason."""


LIBRARIES = {"tests/pytorch/": "torch", "tests/all_libraries/jax/": "jax"}
"""Folders whose files import a library that a machine may lack."""


def missing_library(file: str) -> str | None:
    """The library without which a file of tests cannot start."""
    needed = (library for folder, library in LIBRARIES.items() if file.startswith(folder))
    return next((library for library in needed if importlib.util.find_spec(library) is None), None)


def files(rehearsal: bool) -> list[tuple[str, str]]:
    """All files with the names of their slices, the most valuable first."""
    slices = (PLANTED, *SLICES) if rehearsal else SLICES
    found = [(each.name, file) for each in slices for file in each.files()]
    return [(name, file) for name, file in found if not (rehearsal and file in NOT_REHEARSED)]


def kit_libraries() -> list[str]:
    """The adapters of the conformance kit, our own first."""
    folder = ROOT / "python/cuarray/cuarray/check/adapters"
    found = sorted(file.stem for file in folder.glob("*.py") if file.stem != "__init__")
    return sorted(found, key=lambda name: name != "cuarray")
