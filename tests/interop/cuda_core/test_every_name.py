"""Every public name of cuda.core is used by a test of this folder, and every call has a test with a wrong argument.

A name may be left out for a reason. Names are compared without their class: tests cannot be asked for the types of their values.
"""

from __future__ import annotations

import enum
import inspect
from pathlib import Path
from typing import Any

from interop.cuda_core import uses

# Classes and names that no test here can use, with the reason.
LEFT_OUT = {
    "GraphicsResource": "graphics are refused: the simulated driver has no OpenGL",
    "TensorMapDescriptor": "tensor maps are refused",
    "TensorMapDescriptorOptions": "tensor maps are refused",
    "DeviceMemoryResource.deallocate": "Buffer.close calls it; a call beside it frees memory twice",
    "GraphMemoryResource.deallocate": "Buffer.close calls it",
    "LegacyPinnedMemoryResource.deallocate": "Buffer.close calls it",
    "ManagedMemoryResource.deallocate": "Buffer.close calls it",
    "PinnedMemoryResource.deallocate": "Buffer.close calls it",
    "VirtualMemoryResource.deallocate": "Buffer.close calls it",
    "ObjectCode.from_ltoir": "the driver loads no LTO-IR",
    "StridedMemoryView.as_tensor_map": "tensor maps are refused",
    "MemoryResource": "the base of the other resources",
    "DeviceMemoryResource.allocation_handle": "tests/interop/test_cuda_core_memory.py shares a pool between processes",
    "DeviceMemoryResource.from_allocation_handle": "tests/interop/test_cuda_core_memory.py shares a pool between processes",
    "DeviceMemoryResource.from_registry": "tests/interop/test_cuda_core_memory.py shares a pool between processes",
    "DeviceMemoryResource.register": "tests/interop/test_cuda_core_memory.py shares a pool between processes",
    "Buffer.from_ipc_descriptor": "tests/interop/test_cuda_core_memory.py shares a pool between processes",
    "VirtualMemoryResource.modify_allocation": "tests/interop/test_cuda_core_memory.py",
}
FOLDER = Path(__file__).parent
TESTS = [
    path
    for path in [
        *FOLDER.glob("test_*.py"),
        *FOLDER.parent.glob("test_cuda_core*.py"),
        *FOLDER.parent.glob("ipc_*pool.py"),
    ]
    if path != Path(__file__)
]


def modules() -> tuple[Any, ...]:
    import cuda.core
    import cuda.core.graph
    import cuda.core.texture
    import cuda.core.utils

    return cuda.core, cuda.core.graph, cuda.core.texture, cuda.core.utils


def classes() -> dict[str, type]:
    return {
        name: value
        for module in modules()
        for name, value in vars(module).items()
        if inspect.isclass(value) and not issubclass(value, enum.Enum) and not name.startswith("_")
    }


def members() -> dict[str, Any]:
    """The public members of the classes, as `Class.member`, without those that are left out."""
    found = {}
    for name, value in classes().items():
        for member in (member for member in dir(value) if not member.startswith("_")):
            inherited = any(f"{parent.__name__}.{member}" in LEFT_OUT for parent in value.__mro__)
            if name not in LEFT_OUT and not inherited:
                found[f"{name}.{member}"] = getattr(value, member)
    return found


def functions() -> dict[str, Any]:
    """The public functions of the modules."""
    return {
        name: value
        for module in modules()
        for name, value in vars(module).items()
        if callable(value) and not inspect.isclass(value) and not name.startswith("_")
    }


def has_parameters(function: Any) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(parameter.name not in ("self", "cls") for parameter in parameters)


def test_every_public_name_is_used_by_a_test(cuda_core: Any) -> None:
    used = uses.of(TESTS).usual
    assert len(classes()) > 30
    # Options are fields of data classes, and cuda.core's own documentation lists hundreds of them.
    names = [name for name in members() if not name.partition(".")[0].endswith("Options")]
    missing = [name for name in (*names, *functions()) if name.rpartition(".")[2] not in used]
    assert not missing, missing


def test_every_call_has_a_test_with_a_wrong_argument(cuda_core: Any) -> None:
    wrong = uses.of(TESTS).wrong
    calls = {
        name: value for name, value in (members() | functions()).items() if inspect.isroutine(value) or callable(value)
    }
    calls = {name: value for name, value in calls.items() if not inspect.isclass(value) and has_parameters(value)}
    assert len(calls) > 100
    missing = sorted(name for name in calls if name.rpartition(".")[2] not in wrong)
    assert not missing, missing
