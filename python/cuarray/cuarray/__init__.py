"""Exchange GPU arrays between Python libraries without copies, by the CUDA Array Interface.

Import any object with ``__cuda_array_interface__``, versions 0 to 3: cuarray waits for its stream and keeps its owner alive.
Every array exports the interface to other libraries::

    import cuarray

    a = cuarray.as_cuda_array(other_librarys_array)   # no copy
    a.shape, a.dtype, a.stream, a.device
    host = a.copy_to_host()

Reading, checking and printing interfaces needs no GPU. Other operations need a CUDA driver: NVIDIA's, or on a machine without
a GPU the simulated one of ``pip install cuarray-sim`` (``python -m cuarray_sim your_script.py``).

Errors: ``TypeError`` if an object is not an array, ``ValueError`` for an invalid interface or argument, ``BufferError`` if an
array cannot be exchanged as requested, ``CudaError`` for an error of the driver.
"""

from pathlib import Path as _Path

from cuarray._core import (
    AutoSynchronize,
    Borrow,
    Config,
    CudaError,
    DeviceArray,
    Event,
    Interface,
    IpcHandle,
    Memory,
    PointerAttributes,
    Stream,
    __version__,
    as_cuda_array,
    borrow,
    config,
    default_stream,
    device_array,
    device_array_like,
    driver_path,
    event,
    external_stream,
    from_cuda_array_interface,
    from_dlpack,
    interface,
    is_cuda_array,
    legacy_default_stream,
    managed_array,
    mapped_array,
    per_thread_default_stream,
    pinned_array,
    pointer_attributes,
    reclaim,
    stream,
    to_device,
)

__all__ = [
    "AutoSynchronize",
    "Borrow",
    "Config",
    "CudaError",
    "DeviceArray",
    "Event",
    "Interface",
    "IpcHandle",
    "Memory",
    "PointerAttributes",
    "Stream",
    "__version__",
    "as_cuda_array",
    "borrow",
    "config",
    "default_stream",
    "device_array",
    "device_array_like",
    "driver_path",
    "event",
    "external_stream",
    "from_cuda_array_interface",
    "from_dlpack",
    "get_include",
    "interface",
    "is_cuda_array",
    "legacy_default_stream",
    "managed_array",
    "mapped_array",
    "per_thread_default_stream",
    "pinned_array",
    "pointer_attributes",
    "reclaim",
    "stream",
    "to_device",
]


def get_include() -> str:
    """Return the folder of ``cuarray.h``, the header of the C interface.

    >>> cuarray.get_include()  # doctest: +SKIP
    '/usr/lib/python3/site-packages/cuarray/include'
    """
    return str(_Path(__file__).parent / "include")
