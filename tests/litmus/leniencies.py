"""The order that the default mode of the search assumes beyond the axioms.

Each rule is a row of the table *Default and strict* in ``docs/reference/kernels.md``. A race that the default mode hides must
be ordered by these rules. They may order more than the search does, since they decide only whether a hidden race has a reason.
"""

from __future__ import annotations

from .axioms import Execution, Relation, bits, closure, union


def lenient_order(execution: Execution, base: Relation) -> Relation:
    """Causality order with the rules of the default mode, between overlapping memory operations."""
    structure = execution.structure
    events = structure.events
    synchronizes = [0] * len(events)
    patterns = [*structure.release_patterns, *_fences_before_barriers(execution)]
    # A strong read, or an atomic operation with a result, acquires without a fence.
    readers = [read for read in structure.reads if events[read].strong and events[read].step.operation.kind != "red"]
    for first, write in patterns:
        for read in readers:
            scope = events[first].step.operation.scope
            includes = scope is not None and structure.program.includes(
                scope, events[first].thread, events[read].thread
            )
            if execution.observed[write] >> read & 1 and (includes or events[first].thread == events[read].thread):
                synchronizes[first] |= 1 << read
    order = closure(union(base, synchronizes))
    # A plain access after a strong read is ordered after all earlier strong writes of the address.
    seen = list(execution.observed)
    for write in structure.writes:
        for read in readers:
            if (
                events[write].strong
                and structure.overlap[write] >> read & 1
                and any(
                    execution.rf[other] >> read & 1 and structure.strong[other] >> read & 1
                    for other in structure.writes
                )
            ):
                seen[write] |= 1 << read
    found = []
    for index, row in enumerate(order):
        for read in bits(seen[index]):
            row |= order[read]
        found.append(row & structure.overlap[index])
    # A plain read before a strong store precedes the writes of a thread that has read the store: its value was used.
    flags = [0] * len(events)
    for store in structure.writes:
        if events[store].step.operation.kind == "store" and events[store].strong:
            flags[store] = structure.mask(read for read in readers if execution.observed[store] >> read & 1)
    handed = closure(union(order, structure.po, flags))
    for read in structure.reads:
        if not events[read].strong:
            found[read] |= handed[read] & structure.write_mask & structure.overlap[read]
    return found


def _fences_before_barriers(execution: Execution) -> list[tuple[int, int]]:
    """Fences of a thread that reach a flag of another thread through barriers."""
    structure = execution.structure
    events = structure.events
    barriers = closure(union(structure.po, structure.barrier_order))
    return [
        (fence, write)
        for fence, event in enumerate(events)
        if event.kind == "fence" and event.releases
        for write in structure.writes
        if events[write].strong and events[write].thread != event.thread and barriers[fence] >> write & 1
    ]


def is_accepted(execution: Execution, order: Relation, i: int, j: int) -> bool:
    """Whether the default mode has a reason to hide a race."""
    one, other = execution.structure.events[i], execution.structure.events[j]
    # Strong accesses that overlap in a part of their bytes
    if one.strong and other.strong and one.units != other.units:
        return True
    return bool(order[i] >> j & 1 or order[j] >> i & 1)
