"""Occupancy: blocks and clusters that a multiprocessor or a device can run at a time, and block sizes that follow."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ...driver import CUDA_SUCCESS, Driver
from ..memory.asking import ask, no_context
from ..memory.structures import INT, SIZE
from .kernels import MAX_DYNAMIC, NON_PORTABLE, TEXTS, LaunchAttribute, LaunchConfig, kernel


def blocks(
    name: str, threads: int, dynamic: int = 0, flags: int = 0, attribute: int | None = None
) -> Callable[[Driver], Any]:
    """``cuOccupancyMaxActiveBlocksPerMultiprocessor``, with flags if there are any."""

    def case(driver: Driver) -> Any:
        with kernel(driver, name) as function:
            if attribute is not None:
                driver.do("cuFuncSetAttribute", function, MAX_DYNAMIC, attribute)
            call = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
            if flags:
                return driver.got(f"{call}WithFlags", function, threads, dynamic, flags)
            return driver.got(call, function, threads, dynamic)

    return case


ask(
    "attributes.active_blocks",
    {
        f"plain_{threads}": blocks("plain", threads)
        for threads in (-1, 0, 1, 31, 32, 33, 64, 96, 100, 128, 192, 256, 384, 512, 640, 768, 1000, 1024, 1025, 2048)
    }
    | {
        f"plain_256_with_{size}_bytes": blocks("plain", 256, size)
        for size in (0, 1, 1024, 4096, 16384, 49152, 49153, 1 << 30)
    }
    | {
        f"plain_256_with_{size}_bytes_after_the_attribute": blocks("plain", 256, size, 0, size)
        for size in (65536, 101376, 116224, 116225, 232448)
    }
    | {f"{name}_128": blocks(name, 128) for name in TEXTS if name != "plain"}
    | {f"{name}_1024": blocks(name, 1024) for name in ("max_threads_128", "required_threads_256", "shared_48_kib")}
    | {f"plain_128_with_flags_{flags}": blocks("plain", 128, 0, flags) for flags in (1, 2)},
)


def potential(
    name: str, dynamic: int = 0, limit: int = 0, callback: bool = False
) -> Callable[[Driver], dict[str, Any]]:
    """``cuOccupancyMaxPotentialBlockSize``. The smallest grid is a multiple of the number of multiprocessors."""

    def case(driver: Driver) -> dict[str, Any]:
        sized = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int)(lambda threads: threads * 64)
        grid, threads = INT(), INT()
        processors = driver.got("cuDeviceGetAttribute", 16, 0)
        with kernel(driver, name) as function:
            code = driver.code(
                "cuOccupancyMaxPotentialBlockSize",
                ctypes.byref(grid),
                ctypes.byref(threads),
                function,
                sized if callback else None,
                dynamic,
                limit,
            )
        if code != CUDA_SUCCESS:
            return {"code": code}
        return {"code": code, "threads": threads.value, "blocks_per_multiprocessor": grid.value / processors}

    return case


ask(
    "attributes.potential_block_size",
    {name: potential(name) for name in TEXTS}
    | {
        "plain_limit_100": potential("plain", limit=100),
        "plain_limit_33": potential("plain", limit=33),
        "plain_limit_minus_1": potential("plain", limit=-1),
        "plain_limit_5000": potential("plain", limit=5000),
        "plain_48_kib": potential("plain", 49152),
        "plain_64_kib": potential("plain", 65536),
        "plain_64_bytes_for_each_thread": potential("plain", callback=True),
    },
)
ask(
    "attributes.available_dynamic_shared",
    {
        f"{name}_{count}_blocks_of_{threads}": lambda driver, name=name, count=count, threads=threads: available(
            driver, name, count, threads
        )
        for name in ("plain", "shared_100", "shared_48_kib")
        for count, threads in (
            (1, 32),
            (1, 1024),
            (2, 32),
            (2, 1024),
            (3, 1024),
            (4, 128),
            (8, 128),
            (32, 32),
            (33, 32),
            (0, 32),
        )
    },
)


def available(driver: Driver, name: str, count: int, threads: int) -> Any:
    with kernel(driver, name) as function:
        return driver.got("cuOccupancyAvailableDynamicSMemPerBlock", function, count, threads, kind=SIZE)


CLUSTER_DIMENSION = 4


def cluster(
    call: str,
    name: str,
    size: tuple[int, int, int] | None,
    blocks_wide: int = 64,
    threads: int = 128,
    shared: int = 0,
    portable: bool = True,
) -> Callable[[Driver], Any]:
    """``cuOccupancyMaxActiveClusters`` or ``…MaxPotentialClusterSize``. Peers expect a count without a cluster, too."""

    def case(driver: Driver) -> Any:
        with kernel(driver, name) as function:
            if not portable:
                driver.do("cuFuncSetAttribute", function, NON_PORTABLE, 1)
            listed = (LaunchAttribute * 1)(LaunchAttribute(id=CLUSTER_DIMENSION))
            listed[0].value[:3] = list(size or (0, 0, 0))
            config = LaunchConfig(
                grid=(blocks_wide, 1, 1),
                block=(threads, 1, 1),
                sharedMemBytes=shared,
                attrs=ctypes.addressof(listed),
                numAttrs=0 if size is None else 1,
            )
            return driver.got(call, function, ctypes.byref(config))

    return case


ask(
    "attributes.active_clusters",
    {
        f"{name}_{shown}_{threads}": cluster("cuOccupancyMaxActiveClusters", name, size, threads=threads)
        for name in ("plain", "plain_for_sm_90")
        for shown, size in (
            ("no_cluster", None),
            ("1", (1, 1, 1)),
            ("2", (2, 1, 1)),
            ("4", (4, 1, 1)),
            ("8", (8, 1, 1)),
            ("16", (16, 1, 1)),
            ("0", (0, 0, 0)),
            ("3", (3, 1, 1)),
            ("2_by_2", (2, 2, 1)),
        )
        for threads in (128, 1024)
    }
    | {
        "required_cluster_2": cluster("cuOccupancyMaxActiveClusters", "required_cluster_2", None),
        "required_cluster_2_with_4": cluster("cuOccupancyMaxActiveClusters", "required_cluster_2", (4, 1, 1)),
        "non_portable_16": cluster("cuOccupancyMaxActiveClusters", "plain_for_sm_90", (16, 1, 1), portable=False),
        "with_48_kib": cluster("cuOccupancyMaxActiveClusters", "plain_for_sm_90", (2, 1, 1), shared=49152),
        "of_no_threads": cluster("cuOccupancyMaxActiveClusters", "plain_for_sm_90", (2, 1, 1), threads=0),
    },
)
ask(
    "attributes.potential_cluster_size",
    {
        f"{name}_{threads}": cluster("cuOccupancyMaxPotentialClusterSize", name, None, threads=threads)
        for name in ("plain", "plain_for_sm_90", "required_cluster_2", "shared_48_kib")
        for threads in (32, 128, 1024)
    }
    | {
        "non_portable": cluster("cuOccupancyMaxPotentialClusterSize", "plain_for_sm_90", None, portable=False),
        "with_a_cluster_of_2": cluster("cuOccupancyMaxPotentialClusterSize", "plain_for_sm_90", (2, 1, 1)),
        "of_3_blocks": cluster("cuOccupancyMaxPotentialClusterSize", "plain_for_sm_90", None, blocks_wide=3),
    },
)


def without_context(driver: Driver) -> dict[str, Any]:
    with kernel(driver) as function, no_context(driver):
        config = LaunchConfig(grid=(1, 1, 1), block=(32, 1, 1))
        return {
            "active_blocks": driver.got("cuOccupancyMaxActiveBlocksPerMultiprocessor", function, 128, 0),
            "available": driver.got("cuOccupancyAvailableDynamicSMemPerBlock", function, 1, 128, kind=SIZE),
            "cluster_size": driver.got("cuOccupancyMaxPotentialClusterSize", function, ctypes.byref(config)),
        }


ask("attributes.occupancy_without_a_context", {"of_a_kernel": without_context})
