"""The adapter protocol: a small module that tells the kit how to use a library.

An adapter is a module with plain functions, all optional except one of ``make`` and ``import_``:

``make(shape, typestr, *, strides=None, readonly=False, stream=None, device=0)``
    Return a new array with this layout. ``strides`` are in bytes; None means C-contiguous. The contents do not matter.
``make_in(kind, shape, typestr)``
    Return a new array in ``"managed"`` or ``"pinned"`` memory.
``write(array, data, *, stream=None)``
    Enqueue a write of all elements without waiting: in ``stream``, or else where the library enqueues work on this array. ``data``
    is a buffer of bytes in C order, in page-locked memory that stays valid.
``read(array, *, stream=None)``
    Return the elements as bytes in C order, complete. The copy runs in ``stream``, or else where the library enqueues work.
``pending(shape, typestr, data, *, stream=None)``
    Return a new array whose elements become ``data`` by work that is still pending. The default is ``make`` and ``write``.
``import_(obj, *, stream=None)``
    Return the library's array over the memory of ``obj``, an object with ``__cuda_array_interface__``, for work in ``stream``. A
    library that uses arrays of others without an import returns ``obj``, and reads and writes it in ``read`` and ``write``.
``from_dlpack(obj, *, stream=None)``
    Do the same for an object with ``__dlpack__``.
``pointer(array)``
    Return the address of the first element.
``new_stream()``
    Return a new stream of the library: an int, or an object with ``__cuda_stream__``, ``handle``, ``cuda_stream`` or ``ptr``.
``close(array)``
    Release an array now. The default drops the reference and collects garbage.

``NOT_CLAIMED`` names the parts that the library does not offer, each with the reason: ``{"masks": "..."}``. A function raises
:class:`NotClaimed` for a single layout or type. ``KNOWN`` names checks that fail, or patterns such as ``P1.*``, each with the issue that speaks of it.
``NAME``, ``VERSION``, ``NOTE`` (a remark for the report) and ``FORK`` (False if a copy of the process cannot use the library) are optional.
"""

from __future__ import annotations

import fnmatch
import gc
import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

__all__ = ["FUNCTIONS", "PARTS", "Adapter", "AdapterError", "NotClaimed", "handle_of", "known_reason", "shipped"]

#: The functions of an adapter.
FUNCTIONS = (
    "make",
    "make_in",
    "write",
    "read",
    "pending",
    "import_",
    "from_dlpack",
    "pointer",
    "new_stream",
    "close",
)

#: The parts that ``NOT_CLAIMED`` may name.
PARTS: Mapping[str, str] = {
    "producer": "arrays with __cuda_array_interface__",
    "consumer": "imports of other libraries' arrays",
    "streams": "work in a stream that the user chooses",
    "ordering": "order of work between libraries; the user synchronizes, as the documentation says",
    "strides": "layouts with gaps, or in another order of the axes",
    "negative-strides": "reversed axes",
    "broadcast": "axes with stride 0",
    "zero-size": "arrays without elements",
    "zero-dim": "arrays without axes",
    "types": "types other than integers and floating point",
    "structures": "structured types with descr",
    "masks": "masked arrays",
    "read-only": "read-only arrays",
    "old-versions": "arrays of versions 0 to 2",
    "devices": "arrays on a device other than the first",
    "managed": "arrays in managed memory",
    "pinned": "arrays in pinned host memory",
    "capture": "stream capture",
    "dlpack": "__dlpack__ and from_dlpack",
    "dlpack-versioned": "DLPack 1.0 and later",
    "exchange-table": "__dlpack_c_exchange_api__",
}


class NotClaimed(Exception):
    """The library does not offer this layout, type or function; its argument is the reason."""


class AdapterError(Exception):
    """The adapter cannot be loaded, or it is not one."""


def known_reason(known: Mapping[str, str], check: str) -> str | None:
    """Return the reason of the first pattern that names a check; None if no pattern does."""
    return next((reason for pattern, reason in known.items() if fnmatch.fnmatchcase(check, pattern)), None)


class Adapter:
    """The functions of an adapter module; a missing function raises :class:`NotClaimed`."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.name = str(getattr(module, "NAME", module.__name__.rpartition(".")[2]))
        self.version = str(getattr(module, "VERSION", "unknown"))
        self.note = str(getattr(module, "NOTE", ""))
        self.forks = bool(getattr(module, "FORK", True))
        self.known = _reasons(module, "KNOWN")
        self.not_claimed = _reasons(module, "NOT_CLAIMED")
        unknown = sorted(self.not_claimed.keys() - PARTS.keys())
        if unknown:
            raise AdapterError(f"{module.__name__}.NOT_CLAIMED names {unknown[0]!r}; the parts are {', '.join(PARTS)}")
        if not any(callable(getattr(module, name, None)) for name in ("make", "import_", "pending")):
            raise AdapterError(f"{module.__name__} has neither make() nor import_(), so there is nothing to check")

    @classmethod
    def load(cls, name: str) -> Adapter:
        """Load a shipped adapter by the name of its library, or any module by its dotted name or its file.

        :raises AdapterError: the module cannot be imported, or is no adapter.
        """
        folder, path = _folder_and_module(name)
        if folder not in sys.path and (folder != os.getcwd() or "" not in sys.path):
            sys.path.insert(0, folder)
        try:
            module = importlib.import_module(path)
        except (Exception, SystemExit) as error:
            raise AdapterError(f"cannot import {path!r}: {type(error).__name__}: {error}") from error
        file = getattr(module, "__file__", None) or ""
        if os.path.isfile(name) and not (file and os.path.samefile(name, file)):
            raise AdapterError(
                f"{name} has the name of another module, {path!r} of {file or 'Python'}; rename the file"
            )
        return cls(module)

    def offers(self, name: str) -> bool:
        """Return whether the adapter has a function."""
        if name == "pending":
            return hasattr(self.module, name) or (self.offers("make") and self.offers("write"))
        return name == "close" or callable(getattr(self.module, name, None))

    def function(self, name: str) -> Any:
        """Return a function of the adapter, or its default.

        :raises NotClaimed: there is none.
        """
        found = getattr(self.module, name, None)
        if callable(found):
            return found
        if name == "pending":
            return self._pending
        if name == "close":
            return _close
        raise NotClaimed(f"the adapter has no {name}()")

    def _pending(self, shape: tuple[int, ...], typestr: str, data: Any, *, stream: Any = None) -> Any:
        array = self.function("make")(shape, typestr, stream=stream)
        self.function("write")(array, data, stream=stream)
        return array


def _folder_and_module(name: str) -> tuple[str, str]:
    """Return the folder in which an adapter's module is looked for, and the dotted name of the module.

    :raises AdapterError: the name is neither that of a library, nor of a module, nor of a file.
    """
    short = module_path(name)
    if short != name:
        return os.getcwd(), short
    if name.endswith(".py") and os.path.isfile(name):
        folder, file = os.path.split(os.path.abspath(name))
        name = file.removesuffix(".py")
        if name.isidentifier():
            return folder, name
        raise AdapterError(f"{file} cannot be imported: {name!r} is no name in Python; rename the file")
    if all(part.isidentifier() for part in name.split(".")) and not name.endswith(".py"):
        return os.getcwd(), name
    expected = "an adapter is the name of a shipped one, a module such as mylib.adapter, or a file such as adapter.py"
    raise AdapterError(f"there is no file {name!r}; {expected}")


def module_path(name: str) -> str:
    """Return the module of an adapter: a shipped one for the name of a library, else ``name`` itself."""
    short = name.replace("-", "_").replace(".", "_").lower()
    return f"cuarray.check.adapters.{short}" if short in shipped() else name


def shipped() -> list[str]:
    """Return the names of the shipped adapters."""
    spec = importlib.util.find_spec("cuarray.check.adapters")
    folders = list(spec.submodule_search_locations or []) if spec else []
    files = [file for folder in folders for file in os.listdir(folder)]
    return sorted(file[:-3] for file in files if file.endswith(".py") and not file.startswith("_"))


def handle_of(stream: Any) -> int:
    """Return the handle of a stream: of an int, or of an object of any library.

    :raises TypeError: the object has no handle.
    """
    if hasattr(stream, "__cuda_stream__"):
        stream = stream.__cuda_stream__()
        stream = stream[1]
    for attribute in ("handle", "cuda_stream", "ptr", "value"):
        if not isinstance(stream, int) and hasattr(stream, attribute):
            stream = getattr(stream, attribute)
    if stream is None:
        return 0
    try:
        return int(stream)
    except (TypeError, ValueError):
        raise TypeError(f"new_stream() returned {stream!r}, which has no handle") from None


def _reasons(module: ModuleType, attribute: str) -> dict[str, str]:
    value = getattr(module, attribute, {})
    if isinstance(value, Mapping):
        return {str(key): str(reason) for key, reason in value.items()}
    return {str(key): "" for key in value}


def _close(array: Any) -> None:
    del array
    gc.collect()
