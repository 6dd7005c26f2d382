"""Settings of core dumps: defaults, sizes, and what can be set."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ...driver import CUDA_SUCCESS, Driver
from ..memory.asking import ask, no_context
from ..memory.structures import SIZE

CU_COREDUMP = {
    0: "none",
    1: "enable_on_exception",
    2: "trigger_host",
    3: "lightweight",
    4: "enable_user_trigger",
    5: "file",
    6: "pipe",
    7: "generation_flags",
    8: "after_the_last",
}
TEXTS = {5, 6}
GETTERS = {"context": "cuCoredumpGetAttribute", "global": "cuCoredumpGetAttributeGlobal"}


def read(driver: Driver, call: str, number: int, room: int = 1024) -> dict[str, Any]:
    """A setting with room for some bytes, and the size that the driver returns."""
    value, size = ctypes.create_string_buffer(1024), SIZE(room)
    code = driver.code(call, number, value, ctypes.byref(size))
    found: dict[str, Any] = {"code": code}
    if code == CUDA_SUCCESS:
        found["size"] = size.value if number not in TEXTS else "of a text"
        found["value"] = int.from_bytes(value.raw[:4], "little") if number not in TEXTS else len(value.value) > 0
    return found


def rooms(call: str, number: int) -> Callable[[Driver], dict[str, str]]:
    def case(driver: Driver) -> dict[str, str]:
        found = {str(room): read(driver, call, number, room)["code"] for room in (0, 1, 2, 4, 8)}
        found["no_value"] = driver.code(call, number, None, ctypes.byref(SIZE(1024)))
        found["no_size"] = driver.code(call, number, ctypes.create_string_buffer(1024), None)
        return found

    return case


def without_context(driver: Driver) -> dict[str, str]:
    with no_context(driver):
        return {name: read(driver, call, 1)["code"] for name, call in GETTERS.items()}


ask(
    "attributes.coredump",
    {
        f"{name}.{setting}": lambda driver, call=call, number=number: read(driver, call, number)
        for name, call in GETTERS.items()
        for number, setting in CU_COREDUMP.items()
    },
)
ask(
    "attributes.coredump_room",
    {CU_COREDUMP[number]: rooms("cuCoredumpGetAttributeGlobal", number) for number in (1, 3, 7)},
)
ask("attributes.coredump_without_a_context", {"queries": without_context})
