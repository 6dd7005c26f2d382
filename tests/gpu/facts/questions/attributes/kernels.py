"""Attributes of kernels, and the limits of a launch that follow from them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...driver import Driver, kernels
from ..memory.asking import ask
from ..memory.structures import UINT

CU_FUNC_ATTRIBUTE = {
    0: "max_threads_per_block",
    1: "shared_size_bytes",
    2: "const_size_bytes",
    3: "local_size_bytes",
    4: "num_regs",
    5: "ptx_version",
    6: "binary_version",
    7: "cache_mode_ca",
    8: "max_dynamic_shared_size_bytes",
    9: "preferred_shared_memory_carveout",
    10: "cluster_size_must_be_set",
    11: "required_cluster_width",
    12: "required_cluster_height",
    13: "required_cluster_depth",
    14: "non_portable_cluster_size_allowed",
    15: "cluster_scheduling_policy_preference",
    16: "device_node_update_supported",
    17: "shared_memory_mode",
    18: "after_the_last",
}
MAX_DYNAMIC, CARVEOUT, NON_PORTABLE = 8, 9, 14
ENTRIES = {
    "plain": ".visible .entry k() { ret; }",
    "shared_100": ".visible .entry k() { .shared .align 4 .b8 s[100]; .reg .u32 %a; mov.u32 %a, 1; "
    "st.volatile.shared.u32 [s], %a; ret; }",
    "shared_48_kib": ".visible .entry k() { .shared .align 4 .b8 s[49152]; .reg .u32 %a; mov.u32 %a, 1; "
    "st.volatile.shared.u32 [s], %a; ret; }",
    "shared_not_used": ".visible .entry k() { .shared .align 4 .b8 s[100]; ret; }",
    "shared_aligned_by_128": ".visible .entry k() { .shared .align 128 .b8 s[4]; .shared .align 128 .b8 t[4]; "
    ".reg .u32 %a; mov.u32 %a, 1; st.volatile.shared.u32 [s], %a; st.volatile.shared.u32 [t], %a; ret; }",
    "dynamic_shared": ".extern .shared .align 16 .b8 d[];\n.visible .entry k() { .reg .u32 %a; mov.u32 %a, 1; "
    "st.volatile.shared.u32 [d], %a; ret; }",
    "local_400": ".visible .entry k(.param .u64 out) { .local .align 8 .b8 l[400]; .reg .b32 %a, %b; .reg .b64 %t, %o; "
    "mov.u32 %a, %tid.x; mov.u32 %b, %ctaid.x; mov.u64 %o, l; mul.wide.u32 %t, %a, 4; add.u64 %t, %t, %o; "
    "st.local.u32 [%t], %a; mul.wide.u32 %t, %b, 4; add.u64 %t, %t, %o; ld.local.u32 %b, [%t]; "
    "ld.param.u64 %o, [out]; cvta.to.global.u64 %o, %o; st.global.u32 [%o], %b; ret; }",
    "local_not_used": ".visible .entry k() { .local .align 8 .b8 l[400]; ret; }",
    "constants_100": ".const .align 4 .b8 c[100];\n.visible .entry k() { .reg .u32 %a; ld.const.u32 %a, [c]; ret; }",
    "parameters_of_100_bytes": ".visible .entry k(.param .align 4 .b8 p[100]) { ret; }",
    "max_threads_128": ".visible .entry k() .maxntid 128 { ret; }",
    "max_threads_16_by_8": ".visible .entry k() .maxntid 16, 8 { ret; }",
    "required_threads_256": ".visible .entry k() .reqntid 256 { ret; }",
    "max_registers_24": ".visible .entry k() .maxnreg 24 { ret; }",
    "min_blocks_2": ".visible .entry k() .maxntid 512 .minnctapersm 2 { ret; }",
    "barrier": ".visible .entry k() { bar.sync 0; ret; }",
}
CLUSTERS = {
    "plain_for_sm_90": ".visible .entry k() { ret; }",
    "required_cluster_2": ".visible .entry k() .reqnctapercluster 2 { ret; }",
    "required_cluster_2_by_4": ".visible .entry k() .reqnctapercluster 2, 4 { ret; }",
    "explicit_cluster": ".visible .entry k() .explicitcluster { ret; }",
    "explicit_cluster_2": ".visible .entry k() .explicitcluster .reqnctapercluster 2 { ret; }",
    "max_cluster_rank_4": ".visible .entry k() .maxclusterrank 4 { ret; }",
}
TEXTS = {name: kernels(text) for name, text in ENTRIES.items()} | {
    name: kernels(text, 90).replace(".version 7.0", ".version 7.8") for name, text in CLUSTERS.items()
}


class LaunchAttribute(ctypes.Structure):
    """``CUlaunchAttribute``."""

    _fields_ = [("id", UINT), ("pad", UINT), ("value", ctypes.c_uint * 16)]


class LaunchConfig(ctypes.Structure):
    """``CUlaunchConfig``."""

    _fields_ = [
        ("grid", UINT * 3),
        ("block", UINT * 3),
        ("sharedMemBytes", UINT),
        ("hStream", ctypes.c_void_p),
        ("attrs", ctypes.c_void_p),
        ("numAttrs", UINT),
    ]


assert ctypes.sizeof(LaunchConfig) == 56
assert ctypes.sizeof(LaunchAttribute) == 72


@contextmanager
def kernel(driver: Driver, name: str = "plain") -> Iterator[int]:
    module = driver.module(TEXTS[name])
    try:
        yield driver.function(module, "k")
    finally:
        driver.number("cuModuleUnload", module)


def attributes(name: str) -> Callable[[Driver], dict[str, Any]]:
    """All attributes of a function. Registers are the driver's choice; the rest follows from the text."""

    def case(driver: Driver) -> dict[str, Any]:
        with kernel(driver, name) as function:
            return {
                attribute: driver.got("cuFuncGetAttribute", number, function)
                for number, attribute in CU_FUNC_ATTRIBUTE.items()
            }

    return case


def of_library(name: str) -> Callable[[Driver], list[str]]:
    """The attributes in which a kernel of a library differs from the same function of a module."""

    def case(driver: Driver) -> list[str]:
        library = driver.made("cuLibraryLoadData", TEXTS[name], None, None, 0, None, None, 0)
        shelf = driver.made("cuLibraryGetKernel", library, "k")
        with kernel(driver, name) as function:
            differing = [
                attribute
                for number, attribute in CU_FUNC_ATTRIBUTE.items()
                if driver.got("cuKernelGetAttribute", number, shelf, 0)
                != driver.got("cuFuncGetAttribute", number, function)
            ]
        driver.do("cuLibraryUnload", library)
        return differing

    return case


ask("attributes.kernel", {name: attributes(name) for name in TEXTS})
ask(
    "attributes.kernel_of_a_library_differs_in",
    {name: of_library(name) for name in ("plain", "shared_100", "required_cluster_2")},
)


def set_attribute(number: int, value: int, name: str = "plain") -> Callable[[Driver], dict[str, Any]]:
    def case(driver: Driver) -> dict[str, Any]:
        with kernel(driver, name) as function:
            code = driver.code("cuFuncSetAttribute", function, number, value)
            return {"code": code, "value": driver.got("cuFuncGetAttribute", number, function)}

    return case


ask(
    "attributes.set_of_kernel",
    {
        f"{name}_to_{value}": set_attribute(number, value)
        for number, name in CU_FUNC_ATTRIBUTE.items()
        for value in (-1, 0, 1, 2, 3)
    }
    | {
        f"max_dynamic_shared_of_{name}_to_{value}": set_attribute(MAX_DYNAMIC, value, name)
        for name in ("plain", "shared_48_kib", "shared_100")
        for value in (
            49151,
            49152,
            49153,
            65536,
            101376,
            166912,
            178176,
            183296,
            232347,
            232348,
            232448,
            232449,
            1 << 30,
        )
    }
    | {f"carveout_to_{value}": set_attribute(CARVEOUT, value) for value in (-2, 25, 50, 75, 99, 100, 101)}
    | {
        f"{CU_FUNC_ATTRIBUTE[number]}_of_a_required_cluster_to_{value}": set_attribute(
            number, value, "required_cluster_2"
        )
        for number in (10, 11, 12, 13, 14)
        for value in (0, 1, 2, 8)
    }
    | {
        f"{CU_FUNC_ATTRIBUTE[number]}_for_sm_90_to_{value}": set_attribute(number, value, "plain_for_sm_90")
        for number in (10, 11, 12, 13, 14, 15)
        for value in (0, 1, 2, 3, 8, 9, 16, 17)
    },
)


def launch(
    name: str,
    *,
    blocks: tuple[int, int, int] = (1, 1, 1),
    threads: tuple[int, int, int] = (1, 1, 1),
    shared: int = 0,
    dynamic: int | None = None,
) -> Callable[[Driver], list[str]]:
    """The code of a launch, and of the wait after it."""

    def case(driver: Driver) -> list[str]:
        with kernel(driver, name) as function:
            if dynamic is not None:
                driver.do("cuFuncSetAttribute", function, MAX_DYNAMIC, dynamic)
            code = driver.code("cuLaunchKernel", function, *blocks, *threads, shared, 0, None, None)
            return [code, driver.code("cuCtxSynchronize")]

    return case


ask(
    "attributes.launch",
    {
        "blocks_0": launch("plain", blocks=(0, 1, 1)),
        "threads_0": launch("plain", threads=(0, 1, 1)),
        "threads_1024": launch("plain", threads=(1024, 1, 1)),
        "threads_1025": launch("plain", threads=(1025, 1, 1)),
        "threads_32_by_32": launch("plain", threads=(32, 32, 1)),
        "threads_32_by_33": launch("plain", threads=(32, 33, 1)),
        "threads_deep_64": launch("plain", threads=(1, 1, 64)),
        "threads_deep_65": launch("plain", threads=(1, 1, 65)),
        "blocks_high_65535": launch("plain", blocks=(1, 65535, 1)),
        "blocks_high_65536": launch("plain", blocks=(1, 65536, 1)),
        "blocks_deep_65536": launch("plain", blocks=(1, 1, 65536)),
        "blocks_wide_2_to_31": launch("plain", blocks=(1 << 31, 1, 1)),
        "shared_48_kib": launch("plain", shared=49152),
        "shared_48_kib_and_1": launch("plain", shared=49153),
        "shared_64_kib_after_the_attribute": launch("plain", shared=65536, dynamic=65536),
        "shared_more_than_the_attribute": launch("plain", shared=65537, dynamic=65536),
        "shared_static_and_dynamic_above_48_kib": launch("shared_100", shared=49152),
        "shared_48_kib_static_and_1": launch("shared_48_kib", shared=1),
        "max_threads_of_128": launch("max_threads_128", threads=(128, 1, 1)),
        "more_than_max_threads_of_128": launch("max_threads_128", threads=(129, 1, 1)),
        "max_threads_in_another_shape": launch("max_threads_16_by_8", threads=(128, 1, 1)),
        "required_threads_of_256": launch("required_threads_256", threads=(256, 1, 1)),
        "fewer_than_required_threads": launch("required_threads_256", threads=(128, 1, 1)),
        "required_cluster_fits": launch("required_cluster_2", blocks=(4, 1, 1)),
        "required_cluster_does_not_divide": launch("required_cluster_2", blocks=(3, 1, 1)),
        "explicit_cluster_without_attribute": launch("explicit_cluster", blocks=(4, 1, 1)),
        "dynamic_shared_of_no_bytes": launch("dynamic_shared", shared=0),
    },
)


def configured(name: str, call: str, value: int) -> Callable[[Driver], str]:
    def case(driver: Driver) -> str:
        with kernel(driver, name) as function:
            return driver.code(call, function, value)

    return case


ask(
    "attributes.configure_kernel",
    {
        f"{call}_{value}": configured("plain", call, value)
        for call in ("cuFuncSetCacheConfig", "cuFuncSetSharedMemConfig")
        for value in (0, 1, 2, 3, 4)
    },
)
