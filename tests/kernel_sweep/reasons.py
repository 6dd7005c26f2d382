"""Reasons why the driver need not report a weakened instruction, by kernel and by the name of the variant.

A variant that is found in no mode, and has no reason here, is a miss.
"""

from __future__ import annotations

NO_ACQUIRE = "a strong read or an atomic result, and no fence after it"
USED_BEFORE_FLAG = (
    "a plain read, a strong store of a flag without a fence behind it, and a write by a thread that has read the flag"
)
VOTES = "`shfl.sync`, `vote.sync`, `match.sync`, `redux.sync`, `elect.sync`"

ACCEPTED: dict[str, dict[str, str]] = {
    "histogram_of_warps": {"bar.warp.sync removed (1)": VOTES},
    "spin_lock_with_fences": {"membar.gl removed (1)": NO_ACQUIRE, "membar.gl narrowed (1)": NO_ACQUIRE},
    "spin_lock_with_orders": {"atom.cas.acquire.gpu.b32 relaxed (1)": NO_ACQUIRE},
    "ticket_lock_with_orders": {"ld.acquire.gpu.b32 relaxed (1)": NO_ACQUIRE},
    "lock_of_block": {"membar.gl removed (1)": NO_ACQUIRE, "membar.gl narrowed (1)": NO_ACQUIRE},
    "lock_between_warps": {"membar.cta removed (1)": NO_ACQUIRE},
    "look_back_with_states": {"ld.acquire.gpu.b32 relaxed (1)": NO_ACQUIRE},
    "message_with_fences": {"membar.gl removed (1)": NO_ACQUIRE, "membar.gl narrowed (1)": NO_ACQUIRE},
    "message_of_blocks": {"ld.acquire.gpu.b32 relaxed (1)": NO_ACQUIRE},
    "message_through_three_blocks": {"ld.acquire.gpu.b32 relaxed (1)": NO_ACQUIRE},
    "ring": {
        "ld.acquire.gpu.b32 relaxed (1)": NO_ACQUIRE,
        "ld.acquire.gpu.b32 relaxed (2)": NO_ACQUIRE,
        "st.release.gpu.b32 relaxed (1)": USED_BEFORE_FLAG,
    },
    "slots_with_flags": {"ld.acquire.gpu.b32 relaxed (1)": NO_ACQUIRE},
    "sum_by_last_block": {"membar.gl removed (2)": NO_ACQUIRE, "membar.gl narrowed (2)": NO_ACQUIRE},
    "chained_scan": {"membar.gl removed (1)": NO_ACQUIRE, "membar.gl narrowed (1)": NO_ACQUIRE},
    "exchange_in_grid": {"ld.acquire.gpu.u32 relaxed (1)": NO_ACQUIRE},
    "stencil_in_grid": {"ld.acquire.gpu.u32 relaxed (1)": NO_ACQUIRE, "ld.acquire.gpu.u32 relaxed (2)": NO_ACQUIRE},
    "stencil_of_two_blocks": {"membar.gl removed (2)": NO_ACQUIRE, "membar.gl narrowed (2)": NO_ACQUIRE},
}
"""Variants that only the strict mode reports: the idiom of the table in docs/reference/kernels.md that the default mode accepts."""

UNNEEDED: dict[str, dict[str, str]] = {
    "radix": {
        "bar.sync removed (1)": (
            "After it each thread reads only the key that it has written; the next barrier stands before the first access to a key "
            "of another thread."
        ),
    },
    "bulk_store": {
        "cp.async.bulk.wait_group removed (1)": (
            "No thread of the launch reads the target, and the wait for the read of the source stands before the source is "
            "written again."
        ),
    },
}
"""Variants that are as good as the kernel, with the reason."""

NOT_REACHED: dict[str, set[str]] = {
    "spin_lock_with_fences": {"atom.global.cas.b32 narrowed (2)", "atom.global.cas.b32 not atomic (2)"},
    "lock_of_block": {"atom.global.cas.b32 narrowed (2)", "atom.global.cas.b32 not atomic (2)"},
    "lock_between_warps": {"atom.shared.cas.b32 not atomic (2)"},
    "message_with_fences": {"ld.volatile.global.u32 plain (2)"},
    "chained_scan": {"atom.global.add.u32 narrowed (2)", "atom.global.add.u32 not atomic (2)"},
}
"""Instructions that the launch does not execute: the sweep puts a trap in their place, and the launch must not fail."""

MISSED: dict[str, dict[str, str]] = {}
"""Why the driver does not report what it should."""
