"""Arrays of another library, as cuarray sees them: any object, and the one attribute that the interface asks for."""

from __future__ import annotations

from typing import Any


class Producer:
    """An object with a ready-made interface dictionary; ``keeps`` is whatever its memory belongs to."""

    def __init__(self, interface: Any, keeps: object = None) -> None:
        self.__cuda_array_interface__ = interface
        self.keeps = keeps


def describe(**entries: Any) -> dict[str, Any]:
    """A sound interface of two float32 elements at an address that nothing reads, with some of its entries replaced."""
    return {"shape": (2,), "typestr": "<f4", "data": (0x7F0000000000, False), "version": 3, **entries}


def foreign(array: Any, **entries: Any) -> Producer:
    """The memory of ``array`` as an array of another library, with some entries of its interface replaced."""
    return Producer({**array.__cuda_array_interface__, **entries}, keeps=array)
