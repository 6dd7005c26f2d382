"""Attributes of devices. Many differ between devices; the comparison lists those apart."""

from __future__ import annotations

from collections.abc import Iterable

from ..driver import Driver
from ..question import Facts, series

LAST_DEVICE_ATTRIBUTE = 150


def numbers() -> Iterable[str]:
    return [f"{number:03}" for number in range(LAST_DEVICE_ATTRIBUTE + 1)]


@series("device.attribute", numbers)
def attribute(driver: Driver, facts: Facts, step: str) -> None:
    facts[""] = driver.got("cuDeviceGetAttribute", int(step), 0)
