"""The driver's attributes of an array's pointer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cuarray
from cuarray._core import PointerAttributes, pointer_attributes


@dataclass(frozen=True)
class Pointer:
    """The driver's attributes of an address, or the reason why there are none."""

    #: The driver's file; None if the driver was not queried.
    driver: str | None
    attributes: PointerAttributes | None
    #: The reason why there are no attributes, for people; None if there are.
    unknown: str | None

    @classmethod
    def ask(cls, address: int, nbytes: int) -> Pointer:
        """Query the driver about the address of an array of ``nbytes`` bytes."""
        if nbytes == 0:
            return cls(None, None, "an array without bytes has no memory; the driver was not queried")
        try:
            driver = cuarray.driver_path()
            attributes = pointer_attributes(address)
        except cuarray.CudaError as error:
            return cls(None, None, "no driver was found" if error.call is None else f"unknown: {error}")
        if attributes is None:
            return cls(driver, None, f"the driver, {driver}, does not know the address")
        return cls(driver, attributes, None)

    @property
    def kind(self) -> str | None:
        """The kind of memory, for people."""
        if self.attributes is None:
            return None
        if self.attributes.is_managed:
            return "managed"
        return {"host": "pinned host", "device": "device"}.get(
            self.attributes.memory_type, f"of type {self.attributes.memory_type}"
        )

    def holds(self, first: int, end: int) -> bool | None:
        """Return whether the allocation holds the addresses from ``first`` up to ``end``; None if that is unknown."""
        if self.attributes is None or self.attributes.range is None:
            return None
        low, high = self.attributes.range
        return low <= first and end <= high

    def lines(self, first: int, end: int) -> list[str]:
        """Return the lines of the report for people."""
        known = self.attributes
        if known is None:
            return [self.unknown or "unknown"]
        rows = [("driver", self.driver or "without a file")]
        rows.append(("device", "none" if known.device is None else str(known.device)))
        rows.append(("memory", self.kind or "unknown"))
        context = "none of its own" if known.context is None else f"{known.context:#x}"
        rows.append(("context", context))
        if known.range is None:
            rows.append(("allocation", "the driver does not report its address range"))
        else:
            low, high = known.range
            inside = (
                f"from byte {first - low} of the allocation" if self.holds(first, end) else "not within the allocation"
            )
            rows += [("allocation", f"{low:#x} to {high - 1:#x}, {high - low} bytes"), ("the array", inside)]
        rows.append(("managed", "yes" if known.is_managed else "no"))
        host = "no" if known.host_ptr is None else f"yes, at {known.host_ptr:#x}"
        rows.append(("host access", host))
        return [f"{name:<11}  {text}" for name, text in rows]

    def as_json(self, first: int, end: int) -> dict[str, Any]:
        """Return the report as data; values are None if they are unknown."""
        known = self.attributes
        return {
            "driver": self.driver,
            "unknown": self.unknown,
            "device": known and known.device,
            "memory": self.kind,
            "context": known and known.context,
            "device_ptr": known and known.device_ptr,
            "host_ptr": known and known.host_ptr,
            "is_managed": known and known.is_managed,
            "is_host_accessible": known and known.host_ptr is not None,
            "allocation": list(known.range) if known and known.range else None,
            "within_allocation": self.holds(first, end),
        }
