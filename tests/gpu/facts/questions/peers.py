"""Facts that the test suites of other libraries expect."""

from __future__ import annotations

import ctypes

from ..driver import Driver
from ..question import Facts, question


@question("peers.allocation_of_no_bytes")
def allocation_of_no_bytes(driver: Driver, facts: Facts) -> None:
    address, pool, stream = ctypes.c_uint64(1), driver.made("cuDeviceGetDefaultMemPool", 0), driver.stream()
    facts["async"] = driver.code("cuMemAllocAsync", ctypes.byref(address), 0, stream)
    facts["async_is_null"] = address.value == 0
    facts["pool"] = driver.code("cuMemAllocFromPoolAsync", ctypes.byref(address), 0, pool, stream)
