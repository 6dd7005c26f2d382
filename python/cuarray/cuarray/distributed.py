"""Device arrays as arguments and results of tasks in other processes, for Dask and Ray.

Call a function of this module in each process that sends arrays::

    cuarray.distributed.register_dask()   # client; workers: dask worker --preload cuarray.distributed
    ray.init(runtime_env={"worker_process_setup_hook": cuarray.distributed.register_ray})

An array is copied to page-locked host memory, sent, and copied to the current device of the receiver. Values, type, shape and mask stay; the copy
is writable and C-contiguous, and has no stream.

``register_dask(ipc=True)`` sends no values between processes of one machine. The receiver opens the memory of the sender and copies from it on the
device. The sender keeps the array until then: :class:`_Exports` says how long.
"""

from __future__ import annotations

import atexit
import contextlib
import copyreg
import os
import pickle
import shutil
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import cuarray

__all__ = ["dask_setup", "register_dask", "register_ray"]

UNCLAIMED_SECONDS = 60.0
"""How long a sender keeps an array that no receiver has begun to read."""


def register_dask(*, ipc: bool = False) -> None:
    """Let Dask send arrays from this process.

    :param ipc: pass memory, and not values, to processes at the same address. All of them must see the same ``/tmp`` and the same device.
    :raises ImportError: ``distributed`` is not installed.
    """
    from distributed.protocol.serialize import dask_deserialize, dask_serialize

    def serialize(
        array: cuarray.DeviceArray, context: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], list[Any]]:
        if ipc and array.mask is None and array.nbytes and _is_one_machine(context or {}):
            return {"ipc": _exports.add(array)}, []
        return _to_frames(array)

    def deserialize(header: Mapping[str, Any], frames: Sequence[Any]) -> cuarray.DeviceArray:
        if "ipc" in header:
            return _copy_of_other_process(header["ipc"])
        return _from_frames(header["host"], frames)

    dask_serialize.register(cuarray.DeviceArray)(serialize)
    dask_deserialize.register(cuarray.DeviceArray)(deserialize)
    _register_pickle()


def register_ray() -> None:
    """Let Ray send arrays from this process, as arguments, results and objects of ``ray.put``.

    Ray keeps the values in its store of the host, and each reader gets a copy on its device.
    """
    _register_pickle()


def dask_setup(worker: Any) -> None:
    """Register the serializer in a worker of Dask, which calls this for ``--preload cuarray.distributed``."""
    register_dask()


def _register_pickle() -> None:
    # Dask pickles the arguments of tasks, and Ray pickles all. Both use this table, and pass the buffers of NumPy apart.
    copyreg.pickle(cuarray.DeviceArray, _reduce)


def _reduce(array: cuarray.DeviceArray) -> tuple[Callable[..., cuarray.DeviceArray], tuple[Any, ...]]:
    return cuarray.to_device, (_staged(array),)


def _staged(array: cuarray.DeviceArray) -> Any:
    """Return the elements in page-locked memory; an array with a mask returns a NumPy array with a mask."""
    if array.mask is not None or not array.nbytes:
        return array.copy_to_host()
    host = cuarray.pinned_array(array.shape, array.dtype)
    array.copy_to_host(host)
    return host


def _to_frames(array: cuarray.DeviceArray) -> tuple[dict[str, Any], list[Any]]:
    buffers: list[pickle.PickleBuffer] = []
    host = pickle.dumps(_staged(array), protocol=5, buffer_callback=buffers.append)
    return {"host": host}, [buffer.raw() for buffer in buffers]


def _from_frames(host: bytes, frames: Sequence[Any]) -> cuarray.DeviceArray:
    return cuarray.to_device(pickle.loads(host, buffers=frames))


def _is_one_machine(context: Mapping[str, Any]) -> bool:
    """Return whether the addresses of both ends, such as ``tcp://10.0.0.1:8786``, have one host."""
    ends = [str(context.get(end, {}).get("address", "")) for end in ("sender", "recipient")]
    hosts = [address.rpartition(":")[0] for address in ends]
    return bool(hosts[0]) and hosts[0] == hosts[1]


class _Exports:
    """Arrays of this process that another process may read.

    For each there is a file. A receiver claims the array by a new name for this file, with its process number, and deletes the file after its
    copy. The sender looks at the files when it sends the next array, and releases an array

    - after the copy, when there is no file,
    - if the claiming process has ended,
    - if no receiver claims it for :data:`UNCLAIMED_SECONDS`. It deletes the file then, so a late receiver finds none and gets an error.

    Both renaming and deletion are atomic, so an array that is being read is never released.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folder: Path | None = None
        self._process = 0
        self._kept: dict[str, tuple[cuarray.IpcHandle, float]] = {}

    def add(self, array: cuarray.DeviceArray) -> tuple[bytes, str]:
        """Export an array. Return its pickled handle and the path of its file."""
        handle = array.get_ipc_handle()
        # The receiver cannot wait for work in the sender's streams.
        (array.stream or cuarray.default_stream()).synchronize()
        with self._lock:
            self._release()
            name = uuid.uuid4().hex
            path = self._directory() / name
            path.touch()
            self._kept[name] = (handle, time.monotonic())
        return pickle.dumps(handle), str(path)

    def __len__(self) -> int:
        with self._lock:
            self._release()
            return len(self._kept)

    def _directory(self) -> Path:
        if self._folder is None or self._process != os.getpid():
            self._folder, self._process, self._kept = Path(tempfile.mkdtemp(prefix="cuarray-")), os.getpid(), {}
            atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder

    def _release(self) -> None:
        if self._folder is None or self._process != os.getpid():
            return
        files = {path.name.partition(".")[0]: path for path in self._folder.iterdir()}
        for name, (_, since) in [*self._kept.items()]:
            path = files.get(name)
            if path is not None and path.suffix:
                if not Path("/proc", path.suffix[1:]).exists():
                    path.unlink(missing_ok=True)
                    del self._kept[name]
            elif path is None:
                # A claim may have changed the name since the listing.
                if not any(self._folder.glob(f"{name}*")):
                    del self._kept[name]
            elif time.monotonic() - since > UNCLAIMED_SECONDS:
                with contextlib.suppress(FileNotFoundError):  # Claimed right now.
                    path.unlink()
                    del self._kept[name]


_exports = _Exports()


def _copy_of_other_process(sent: tuple[bytes, str]) -> cuarray.DeviceArray:
    """Copy an array from the memory of another process.

    :raises FileNotFoundError: the sender has ended, or has released the array.
    """
    handle, path = sent
    claimed = f"{path}.{os.getpid()}"
    os.rename(path, claimed)
    try:
        with pickle.loads(handle) as theirs:
            ours = cuarray.device_array(theirs.shape, theirs.dtype)
            ours.copy_to_device(theirs)
            # The copy has to end before the sender may release its memory.
            (ours.stream or cuarray.default_stream()).synchronize()
        return ours
    finally:
        os.unlink(claimed)
