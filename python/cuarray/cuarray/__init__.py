"""The CUDA Array Interface, done right: GPU arrays between Python libraries without copying.

Any object with ``__cuda_array_interface__`` comes in, of every version from 0 to 3, with its stream waited for and its
owner kept alive; every array goes out the same way::

    import cuarray

    a = cuarray.as_cuda_array(other_librarys_array)   # no copy
    a.shape, a.dtype, a.stream, a.device
    host = a.copy_to_host()

Reading, checking and printing interfaces needs no GPU. What touches a device needs a CUDA driver: NVIDIA's, or on a
machine without a GPU the simulated one of ``pip install cuarray-sim`` (``python -m cuarray_sim your_script.py``).

Errors: ``TypeError`` for what is not an array, ``ValueError`` for a wrong interface or argument, ``BufferError`` for an array
that cannot be taken as asked, ``CudaError`` for the driver.
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
    """The folder of ``cuarray.h``, for compilers: the C side of the interface.

    >>> cuarray.get_include()  # doctest: +SKIP
    '/usr/lib/python3/site-packages/cuarray/include'
    """
    return str(_Path(__file__).parent / "include")
