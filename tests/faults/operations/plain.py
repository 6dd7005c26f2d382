"""Names that need no driver: settings, interfaces, and the exception."""

from __future__ import annotations

import cuarray

from .table import Attempt, operation

DESC = {"shape": (2, 3), "typestr": "<f4", "data": (0x7F0000000000, False), "version": 3}
PROPERTIES = (
    "shape ptr strides typestr size ndim mask deviations dtype stream nbytes version notes itemsize readonly byte_range"
)


@operation(
    "Interface",
    *(f"Interface.{name}" for name in PROPERTIES.split()),
    *(
        f"Interface.{name}"
        for name in ("__repr__", "__eq__", "__ne__", "__hash__", "is_c_contiguous", "is_f_contiguous")
    ),
)
def interface() -> Attempt:
    def attempt() -> object:
        read = cuarray.interface(DESC)
        found = [str(getattr(read, name)) for name in PROPERTIES.split()]
        return (found, repr(read), read == read, read != read, read.is_c_contiguous(), read.is_f_contiguous())

    return attempt


@operation(
    "Config",
    *(f"Config.{name}" for name in ["__repr__", "export_stream", "export_version", "sync", "protocol", "export_event"]),
)
def config() -> Attempt:
    return lambda: repr(cuarray.config)


@operation("get_include")
def get_include() -> Attempt:
    return lambda: cuarray.get_include()
