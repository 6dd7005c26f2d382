"""Valid and wrong arguments for each parameter of the driver's functions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ...entry_points import Parameter, words
from . import structures
from .objects import ENDS, NOTHING, Objects
from .valid_arguments import InterprocessHandle, valid_value

MAX = 0xFFFF_FFFF
INVENTED = 0xBAD0
"""A number that no handle has."""

TEXT = b"nothing\0"
NO_FILE = b"/no folder/nothing\0"

CALLBACKS = ("CUstreamCallback", "CUhostFn", "CUoccupancyB2DSize", "CUlogsCallback", "CUasyncCallback")
BEGIN_WITH_0 = words(
    "CUdevice CUlimit CUstreamCaptureMode CUfunc_cache CUsharedconfig CUaddress_mode CUfilter_mode CUfunction_attribute"
)
ONES = ("block", "grid", "refcount", "levels", "channels", "aniso")
MEMORY_TYPE = 2  # CU_POINTER_ATTRIBUTE
DATA = ("value", "val", "ui", "us", "uc", "bias", "clamp", "user_data")
NUMBERS = ("CUdeviceptr", "CUtexObject", "CUsurfObject", "CUmemGenericAllocationHandle")
"""The handles that are no pointers of the driver, so that it can look them up."""


class Location(ctypes.Structure):
    """A ``CUmemLocation``."""

    _fields_ = [("kind", ctypes.c_uint), ("id", ctypes.c_int)]


BY_VALUE = {"CUmemLocation": Location, "CUipcMemHandle": InterprocessHandle, "CUipcEventHandle": InterprocessHandle}


def zero(parameter: Parameter) -> Any:
    """The argument whose bytes are zero."""
    if parameter.type in BY_VALUE:
        return BY_VALUE[parameter.type]()
    return 0.0 if parameter.type == "f32" else 0


def is_amount(name: str) -> bool:
    """Whether a parameter is a number of bytes, or of other things that need no array."""
    parts = ("byte", "size", "width", "height", "pitch", "length")
    return any(part in name for part in parts) or name in ("len", "n")


def pointed(of: Objects, parameter: Parameter) -> int:
    """The address of valid contents for a pointer: zeros, if the type of the pointer says no more."""
    page = of.page()
    type = parameter.type.lstrip("*").strip()
    contents: dict[str, Callable[[], bytes]] = {
        "const c_char": lambda: NO_FILE if any(part in parameter.name for part in ("path", "file", "fname")) else TEXT,
        "const CUmemPoolProps": structures.pool_of_device,
        "const CUmemAllocationProp": structures.memory_of_device,
        "const CUmemAccessDesc": structures.access,
        "const CUmemLocation": structures.location,
        "mut CUmemLocation": structures.location,
        "const CUDA_ARRAY_DESCRIPTOR": structures.flat_array,
        "const CUDA_ARRAY3D_DESCRIPTOR": structures.array,
        "const CUDA_MEMCPY2D": lambda: structures.rectangle(page + 256),
        "const CUDA_MEMCPY3D": lambda: structures.cuboid(page + 256),
        "const CUDA_MEMCPY3D_PEER": lambda: structures.cuboid_of_contexts(of["CUdeviceptr"], of["current context"]),
        "const CUDA_MEMSET_NODE_PARAMS": lambda: structures.filling(of["CUdeviceptr"]),
        "const CUDA_HOST_NODE_PARAMS": lambda: structures.host_call(NOTHING),
        "const CUDA_KERNEL_NODE_PARAMS_v1": lambda: structures.launch(of["CUfunction"]),
        "const CUDA_KERNEL_NODE_PARAMS": lambda: structures.launch(of["CUfunction"]),
        "const CUDA_BATCH_MEM_OP_NODE_PARAMS": lambda: structures.batch(of["current context"], of["operation"]),
        "mut CUDA_MEM_ALLOC_NODE_PARAMS": lambda: structures.allocation(64),
        "mut CUgraphNodeParams": lambda: structures.node_of_host_call(NOTHING),
        "const CUlaunchConfig": lambda: structures.configuration(of["CUstream"]),
        "const CUDA_RESOURCE_DESC": lambda: structures.resource(of["CUarray"]),
        "const CUDA_TEXTURE_DESC": structures.texture,
        "mut CUDA_MEMCPY3D_BATCH_OP": lambda: structures.box(of["CUdeviceptr"]),
        "mut CUmemcpyAttributes": structures.copy_attributes,
    }
    if type in contents:
        data = contents[type]()
        ctypes.memmove(page, data, len(data))
    return page


def valid(of: Objects, symbol: str, parameter: Parameter) -> Any:
    """A valid argument."""
    value = valid_value(symbol, parameter.name)
    if callable(value):
        return value(of)
    if value is not None:
        return of[value] if isinstance(value, str) else value
    if parameter.type in ENDS:
        return of[parameter.type]
    if parameter.is_pointer:
        return pointed(of, parameter)
    if parameter.type == "CUmemLocation":
        return Location(structures.DEVICE, 0)
    if parameter.type in BY_VALUE:
        return BY_VALUE[parameter.type]()
    return 0.0 if parameter.type == "f32" else number(parameter)


def number(parameter: Parameter) -> int:
    """A valid number, for a parameter that is no handle and no pointer."""
    type, name = parameter.type, parameter.name
    if type in CALLBACKS:
        return NOTHING
    if type in BEGIN_WITH_0:
        return 0
    if type == "CUpointer_attribute":
        return MEMORY_TYPE
    if type.startswith("CU"):
        return 1  # the other enumerations begin with 1
    if "pitch" in name:
        return 64
    if is_amount(name):
        return 4
    return int(any(part in name for part in ONES) or name in ("x", "y", "z"))


def wrong(symbol: str, parameter: Parameter) -> dict[str, int]:
    """Arguments that the manual refuses for a parameter, by their labels.

    Ended handles have questions of their own. A number of elements has none, as the driver trusts it; nor has data.
    """
    type, name = parameter.type, parameter.name
    if type in NUMBERS:
        return {"zero": 0, "invented": INVENTED}
    if type in ENDS or parameter.is_pointer or type in CALLBACKS:
        return {"null": 0}
    elements = any(part in name for part in ("num", "count", "offset")) or is_amount(name)
    if name in DATA or elements or type in BY_VALUE or type == "f32":
        return {}
    if type in ("c_int", "CUdevice"):
        return {"minus_one": -1}
    value = valid_value(symbol, name)
    right = number(parameter) if value is None else value
    return {"max": MAX} if right == 0 else {"zero": 0, "max": MAX}
