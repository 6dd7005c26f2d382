"""The Python objects that keep device memory alive, for the text about a leak.

An array is found by the address that its ``__cuda_array_interface__`` names. The chain of references from it goes up to a variable of
a module, a class or a running function, the shortest chain first. Arrays without the attribute, and references within C code, are not seen.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from types import CellType, FrameType, FunctionType, GeneratorType, ModuleType
from typing import Any

__all__ = ["chains"]

_LENGTH = 8
"""The most references of a chain."""
_WIDTH = 1000
"""The most objects of a step: more of them refer to something that all programs share."""
_SHARED = (type(None), bool, int, str, ModuleType)
_INTERFACE = "__cuda_array_interface__"


def chains(ranges: dict[int, int]) -> dict[int, str]:
    """Return who keeps the arrays in ranges of memory.

    :param ranges: the size in bytes of the memory at each address.
    :return: for the addresses whose keeper is found, text such as ``global `cache` of module, ['first'] (cuarray.DeviceArray)``.
    """
    found = {}
    for array, pointer in _arrays():
        address = next((start for start, size in ranges.items() if start <= pointer < start + size), None)
        if address is not None and address not in found and (chain := _chain(array)):
            name = type(array)
            found[address] = f"{chain} ({name.__module__.partition('.')[0]}.{name.__name__})"
    return found


def _arrays() -> Iterator[tuple[Any, int]]:
    """Yield the live arrays with their addresses. The garbage collector lists containers; arrays without references are their items."""
    seen, is_array = set(), {type: False}
    for container in gc.get_objects():
        for each in (container, *gc.get_referents(container)):
            kind = type(each)
            if kind not in is_array:
                is_array[kind] = hasattr(kind, _INTERFACE)
            if not is_array[kind] or id(each) in seen:
                continue
            seen.add(id(each))
            try:
                pointer = getattr(each, _INTERFACE)["data"][0]
            except Exception:  # another library's property may raise anything
                continue
            if isinstance(pointer, int) and pointer:
                yield each, pointer


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
