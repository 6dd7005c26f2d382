"""Instructions over the lanes of a warp with operands at the ends of their range, and special registers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ...driver import Driver
from ...question import Facts, series
from .asking import Given, answer, mixed

LANES = 32
THREADS = 4 * LANES
OFFSETS = (*range(14, 34), 47, 48, 63, 64, 65, 95, 127, 128, 255, 256, 1 << 31, (1 << 32) - 1)
SEGMENTS = (0x1F, 0x00, 0x0F, 0x101F, 0x1800, 0x181F, 0x1C03, 0x1E1F, 0x1F1F, 0x001E, 0x3F, 0x201F)
"""Operands ``c`` of shuffles: the mask of a segment in bits 8 to 12, the clamp in bits 0 to 4; the last ones have further bits."""
MODES = ("up", "down", "bfly", "idx")

REGISTERS = (
    *(f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"),
    *("%laneid", "%warpid", "%nwarpid", "%nsmid", "WARP_SZ"),
    *(f"%lanemask_{which}" for which in ("eq", "le", "lt", "ge", "gt")),
    *("%dynamic_smem_size", "%total_smem_size"),
)
REGISTERS_OF_CLUSTERS = (
    *(f"%{name}.{axis}" for name in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid") for axis in "xyz"),
    *("%cluster_ctarank", "%cluster_nctarank", "%aggr_smem_size"),
)
REGISTERS_OF_RESERVED_MEMORY = tuple(f"%reserved_smem_offset_{which}" for which in ("begin", "end", "cap"))


def offsets() -> list[int]:
    """Return an offset for each lane: 1, the number of the lane, then far ones in order, and in disorder."""
    in_disorder = (OFFSETS[mixed(lane) % LANES] for lane in range(LANES))
    return [*([1] * LANES), *range(LANES), *OFFSETS, *in_disorder]


@cache
def computations() -> dict[str, Given]:
    from instruction_cases import Computation

    lanes = [1000 + index for index in range(THREADS)]
    found = {}
    for mode in MODES:
        text = f"shfl.sync.{mode}.b32 x|p, a, b, c, -1; selp.u32 y, 1, 0, p; shl.b32 y, y, 16; add.u32 d, x, y"
        for segment in SEGMENTS:
            operands = [lanes, offsets(), [segment] * THREADS]
            found[f"shfl.{mode}.c_{segment:04x}"] = Given(Computation(text, "u32", ("u32",) * 3), operands)
    text = "elect.sync x|p, -1; selp.u32 y, 1, 0, p; shl.b32 y, y, 16; add.u32 d, x, y"
    found["elect"] = Given(Computation(text, "u32", ("u32",), since=90), [lanes])
    for name in ("add", "min", "max"):
        for ty in ("u32", "s32"):
            values = [mixed(index) >> 32 for index in range(THREADS)]
            of = Computation(f"redux.sync.{name}.{ty} d, a, -1", ty, (ty,), since=80)
            found[f"redux.{name}.{ty}"] = Given(of, [values])
    for names, since in ((REGISTERS, 75), (REGISTERS_OF_CLUSTERS, 90), (REGISTERS_OF_RESERVED_MEMORY, 80)):
        for name in names:
            of = Computation(f"mov.u32 d, {name}", "u32", ("u32",), since=since)
            found[f"register.{name.removeprefix('%')}"] = Given(of, [lanes])
    of = Computation("mov.u64 d, %current_graph_exec", "u64", ("u32",))
    found["register.current_graph_exec"] = Given(of, [lanes])
    of = Computation("mov.pred p, %is_explicit_cluster; selp.u32 d, 1, 0, p", "u32", ("u32",), since=90)
    found["register.is_explicit_cluster"] = Given(of, [lanes])
    return found


def names() -> Iterable[str]:
    return list(computations())


@series("numerics.lanes", names)
def of_lanes(driver: Driver, facts: Facts, step: str) -> None:
    """The launch has one block of four warps, no shared memory and no cluster."""
    answer(driver, facts, computations()[step])
