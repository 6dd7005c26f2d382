"""Every public name of cuda.core's classes is used by a test of this folder or left out for a reason."""

from __future__ import annotations

import enum
import inspect
import re
from pathlib import Path
from typing import Any

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
    "PinnedMemoryResource.from_allocation_handle": "pools of host memory are not shared with other processes",
    "PinnedMemoryResource.from_registry": "pools of host memory are not shared with other processes",
    "PinnedMemoryResource.register": "pools of host memory are not shared with other processes",
    "StridedMemoryView": "tests/interop/test_cuda_core.py exchanges views",
    "DeviceResources": "green contexts are refused: test_devices_and_streams.py",
    "SMResource": "green contexts are refused",
    "WorkqueueResource": "green contexts are refused",
    "Host": "a place, which the buffers' tests pass on",
    "MemoryResource": "the base of the other resources",
    "DeviceMemoryResource.allocation_handle": "tests/interop/test_cuda_core_memory.py shares a pool between processes",
    "DeviceMemoryResource.from_allocation_handle": "tests/interop/test_cuda_core_memory.py shares a pool between processes",
    "DeviceMemoryResource.from_registry": "tests/interop/test_cuda_core_memory.py shares a pool between processes",
    "DeviceMemoryResource.register": "tests/interop/test_cuda_core_memory.py shares a pool between processes",
    "Buffer.from_ipc_descriptor": "tests/interop/test_cuda_core_memory.py shares a pool between processes",
    "VirtualMemoryResource.modify_allocation": "tests/interop/test_cuda_core_memory.py",
}
FOLDER = Path(__file__).parent


def test_every_public_name_is_used_by_a_test(cuda_core: Any) -> None:
    import cuda.core
    import cuda.core.graph
    import cuda.core.texture
    import cuda.core.utils

    text = "\n".join(
        path.read_text()
        for path in [*FOLDER.glob("test_*.py"), *FOLDER.parent.glob("test_cuda_core*.py")]
        if path != Path(__file__)
    )
    modules = (cuda.core, cuda.core.graph, cuda.core.texture, cuda.core.utils)
    classes = {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if inspect.isclass(value)
        and not issubclass(value, enum.Enum)
        and not name.startswith("_")
        and not name.endswith("Options")
    }
    assert len(classes) > 30
    missing = set()
    for name, value in classes.items():
        for member in (member for member in dir(value) if not member.startswith("_")):
            used = re.search(rf"\b{re.escape(member)}\b", text)
            inherited = any(f"{parent.__name__}.{member}" in LEFT_OUT for parent in value.__mro__)
            if not used and name not in LEFT_OUT and f"{name}.{member}" not in LEFT_OUT and not inherited:
                missing.add(f"{name}.{member}")
    assert not missing, sorted(missing)
