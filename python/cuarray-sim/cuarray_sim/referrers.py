"""The Python objects that keep memory, streams and events alive, for the text about a leak.

An array is found by the address that its ``__cuda_array_interface__``, NumPy's interface or PyTorch names. A stream or an event is found by its
class and its handle. The chain of references from it goes up to a variable of a module, a class or a running function, the shortest chain
first. Other objects, and references within C code, are not seen.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from types import CellType, FrameType, FunctionType, GeneratorType, ModuleType
from typing import Any

__all__ = ["chains"]

_LENGTH = 8
"""The most references of a chain."""
_WIDTH = 1000
"""The most objects of a step: more of them refer to something that all programs share."""
_SHARED = (type(None), bool, int, str, ModuleType)
_INTERFACES = ("__cuda_array_interface__", "__array_interface__")
_HANDLES = ("handle", "ptr")
"""The attributes that hold the handle: of cuarray, numba-cuda and cuda.core, and of CuPy."""


def chains(ranges: dict[int, int]) -> dict[int, str]:
    """Return who keeps the arrays in ranges of memory, and streams and events.

    :param ranges: the size in bytes of the memory at each address; 1 for a handle.
    :return: for the addresses whose keeper is found, text such as ``global `cache` of module, ['first'] (cuarray.DeviceArray)``.
    """
    found = {}
    for array, pointer in _objects():
        address = next((start for start, size in ranges.items() if start <= pointer < start + size), None)
        if address is not None and address not in found and (chain := _chain(array)):
            name = type(array)
            found[address] = f"{chain} ({name.__module__.partition('.')[0]}.{name.__name__})"
    return found


def _objects() -> Iterator[tuple[Any, int]]:
    """Yield the live arrays with their addresses, and streams and events with their handles.

    The garbage collector lists containers; objects without references are their items.
    """
    seen: set[int] = set()
    readers: dict[type, Callable[[Any], Any] | None] = {type: None}
    for container in gc.get_objects():
        for each in (container, *gc.get_referents(container)):
            kind = type(each)
            if kind not in readers:
                readers[kind] = _reader(kind)
            if (read := readers[kind]) is None or id(each) in seen:
                continue
            seen.add(id(each))
            try:
                pointer = int(read(each))
            except Exception:  # another library's property may raise anything
                continue
            if pointer:
                yield each, pointer


def _reader(kind: type) -> Callable[[Any], Any] | None:
    """Return the function that reads the address or the handle of objects of a class; None for other classes."""
    if hasattr(kind, "data_ptr"):  # PyTorch
        return lambda tensor: tensor.data_ptr()
    if name := next((name for name in _INTERFACES if hasattr(kind, name)), None):
        return lambda array: getattr(array, name)["data"][0]
    if kind.__name__ in ("Stream", "Event"):
        return lambda holder: next(getattr(holder, name) for name in _HANDLES if hasattr(holder, name))
    return None


def _chain(array: Any) -> str:
    """Return the shortest chain of references to an object, its variable first; nothing if no variable leads to it."""
    step, seen = [(array, "")], {id(array)}
    for _ in range(_LENGTH):
        held = {id(child): path for child, path in step}
        parents = gc.get_referrers(*(child for child, _ in step))
        following: list[tuple[Any, str]] = []
        for parent in parents:
            if id(parent) in seen or parent is step or parent is following or _is_own(parent):
                continue
            seen.add(id(parent))
            for child in gc.get_referents(parent):
                if (path := held.get(id(child))) is None:
                    continue
                root, link = _link(parent, child)
                if root:
                    return f"{link}{', ' if path else ''}{path}"
                following.append((parent, link + path))
                break
        if not following or len(following) > _WIDTH:
            return ""
        step = following
    return ""


def _is_own(parent: Any) -> bool:
    """Whether a reference is one of this search, or of pytest's hooks."""
    if frame := _frame(parent):
        return str(frame.f_globals.get("__name__")).partition(".")[0] in ("cuarray_sim", "pluggy", "_pytest")
    return isinstance(parent, _SHARED) or type(parent).__name__ in ("list_iterator", "tuple_iterator")


def _frame(parent: Any) -> FrameType | None:
    """Return the frame of a running function or of a suspended generator."""
    return parent if isinstance(parent, FrameType) else parent.gi_frame if isinstance(parent, GeneratorType) else None


def _link(parent: Any, child: Any) -> tuple[bool, str]:
    """Return whether a parent is a variable's owner, and the text of the reference from the parent to the child."""
    if frame := _frame(parent):
        name = next((name for name, value in frame.f_locals.items() if value is child), "?")
        return True, f"local `{name}` of {frame.f_code.co_name} at {frame.f_code.co_filename}:{frame.f_lineno}"
    if isinstance(parent, CellType):
        return False, ""
    if isinstance(parent, FunctionType):
        return True, f"a variable or a default of function `{parent.__qualname__}` of {parent.__module__}"
    if isinstance(parent, dict):
        key = next((key for key, value in parent.items() if value is child), None)
        module = parent.get("__name__")
        if isinstance(module, str) and vars(sys.modules.get(module, object)) is parent:
            return True, f"global `{key}` of {module}"
        owners = gc.get_referrers(parent)
        is_attribute = any(isinstance(each, type) or getattr(each, "__dict__", None) is parent for each in owners)
        return False, f".{key}" if is_attribute else f"[{key!r}]"
    if isinstance(parent, type):
        return True, f"class `{parent.__qualname__}` of {parent.__module__}"
    if isinstance(parent, (list, tuple)):
        return False, f"[{next((index for index, value in enumerate(parent) if value is child), '?')}]"
    attribute = next((name for name, value in getattr(parent, "__dict__", {}).items() if value is child), None)
    return False, f".{attribute}" if attribute is not None else f" of a {type(parent).__name__}"
