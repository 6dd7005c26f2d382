"""Limits of contexts: defaults, values that are accepted, and when they can no longer change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...driver import Driver, kernels
from ...question import Facts, question
from ..memory.asking import ask
from ..memory.structures import MIB, SIZE

CU_LIMIT = {
    0: "stack_size",
    1: "printf_fifo_size",
    2: "malloc_heap_size",
    3: "dev_runtime_sync_depth",
    4: "dev_runtime_pending_launch_count",
    5: "max_l2_fetch_granularity",
    6: "persisting_l2_cache_size",
    7: "shmem_size",
    8: "cig_enabled",
    9: "cig_shmem_fallback_enabled",
    10: "per_block_memory_size",
    11: "none",
}
VALUES = {
    "0": 0,
    "1": 1,
    "100": 100,
    "1000": 1000,
    "1024": 1024,
    "4096": 4096,
    "1_mib": MIB,
    "1_gib": 1 << 30,
    "1_tib": 1 << 40,
    "all_bits": (1 << 64) - 1,
}


def limit(driver: Driver, number: int) -> Any:
    return driver.got("cuCtxGetLimit", number, kind=SIZE)


def set_limit(number: int, value: int) -> Callable[[Driver], dict[str, Any]]:
    """Set a limit in a separate context. By docs/reference/simulator.md, limits are stored only."""

    def case(driver: Driver) -> dict[str, Any]:
        current = driver.made("cuCtxGetCurrent")
        context = driver.made("cuCtxCreate_v2", 0, 0)
        code = driver.code("cuCtxSetLimit", number, value)
        found = {"code": code, "value": limit(driver, number)}
        driver.do("cuCtxDestroy_v2", context)
        driver.do("cuCtxSetCurrent", current)
        return found

    return case


ask("contexts.limit", {name: lambda driver, number=number: limit(driver, number) for number, name in CU_LIMIT.items()})
ask(
    "contexts.set_limit",
    {
        f"{name}_to_{value_name}": set_limit(number, value)
        for number, name in CU_LIMIT.items()
        for value_name, value in VALUES.items()
        # A stack or a heap of 1 GiB takes the device's memory from other questions.
        if not (number in {0, 1, 2} and value_name == "1_gib")
        if number in range(7) or value_name in {"0", "1", "4096"}
    },
    seconds=8,
)

PRINTING = kernels(
    """
.extern .func (.param .b32 count) vprintf (.param .b64 format, .param .b64 list);
.global .align 1 .b8 text[4] = {104, 105, 10, 0};
.visible .entry printing(.param .u32 really) {
    .reg .pred %p; .reg .b32 %r; .reg .b64 %t;
    ld.param.u32 %r, [really]; setp.eq.u32 %p, %r, 0; @%p bra END;
    mov.u64 %t, text; cvta.global.u64 %t, %t;
    { .param .b64 f; .param .b64 l; .param .b32 c;
    st.param.b64 [f], %t; mov.u64 %t, 0; st.param.b64 [l], %t; call (c), vprintf, (f, l); ld.param.b32 %r, [c]; }
    END: ret;
}
"""
)
ALLOCATING = kernels(
    """
.extern .func (.param .b64 place) malloc (.param .b64 size);
.visible .entry allocating(.param .u64 size) {
    .reg .b64 %s; .reg .pred %p;
    ld.param.u64 %s, [size]; setp.eq.u64 %p, %s, 0; @%p bra END;
    { .param .b64 n; .param .b64 a; st.param.b64 [n], %s; call (a), malloc, (n); ld.param.b64 %s, [a]; }
    END: ret;
}
"""
)
PLAIN = kernels(".visible .entry plain() { ret; }")


def limits_around_a_launch(driver: Driver, facts: Facts, text: str, name: str, number: int) -> None:
    """docs/reference/simulator.md, "Assumptions": the limit cannot change after the launch of such a kernel."""
    first = driver.function(driver.module(PLAIN), "plain")
    facts["launch_of_another_kernel"] = driver.launch(first)
    facts["wait_for_another_kernel"] = driver.code("cuCtxSynchronize")
    facts["set_before_the_module"] = driver.code("cuCtxSetLimit", number, 4 * MIB)
    function = driver.function(driver.module(text), name)
    facts["set_after_the_module"] = driver.code("cuCtxSetLimit", number, 5 * MIB)
    facts["launch"] = driver.launch(function, 0)
    facts["wait"] = driver.code("cuCtxSynchronize")
    facts["set_after_the_launch"] = driver.code("cuCtxSetLimit", number, 6 * MIB)
    facts["set_to_the_value_it_has"] = driver.code("cuCtxSetLimit", number, 5 * MIB)
    facts["value"] = limit(driver, number)
    facts["set_of_the_stack"] = driver.code("cuCtxSetLimit", 0, 2048)


@question("contexts.limit_of_prints_around_a_launch")
def prints(driver: Driver, facts: Facts) -> None:
    limits_around_a_launch(driver, facts, PRINTING, "printing", 1)


@question("contexts.limit_of_the_heap_around_a_launch")
def heap(driver: Driver, facts: Facts) -> None:
    limits_around_a_launch(driver, facts, ALLOCATING, "allocating", 2)
