"""Arrays of another library, as cuarray sees them: objects whose only common attribute is the interface."""

from __future__ import annotations

from typing import Any


class Producer:
    """An object with a given interface dictionary; ``keeps`` is the owner of its memory."""

    def __init__(self, interface: Any, keeps: object = None) -> None:
        self.__cuda_array_interface__ = interface
        self.keeps = keeps


def describe(**entries: Any) -> dict[str, Any]:
    """A valid interface of two float32 elements at an address that is never read, with some entries replaced."""
    return {"shape": (2,), "typestr": "<f4", "data": (0x7F0000000000, False), "version": 3, **entries}


def foreign(array: Any, **entries: Any) -> Producer:
    """An array of another library over the memory of ``array``, with some interface entries replaced."""
    return Producer({**array.__cuda_array_interface__, **entries}, keeps=array)
