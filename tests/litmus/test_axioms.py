"""The evaluator agrees with the verdicts that the manual publishes, or that follow from the section that a row names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from litmus.outcomes import State, allows, candidates, outcomes
from litmus.programs import NAMES, Program, parse
from litmus.shapes import Row, rows


@pytest.mark.parametrize("row", rows(), ids=str)
def test_evaluator_has_the_verdict_of_the_manual(row: Row) -> None:
    assert allows(parse(row.text, row.placement), row.state) == row.allowed, (
        f"{row.text} [{row.outcome}], {row.section}"
    )


def interleavings(program: Program) -> list[State]:
    """The outcomes of all interleavings of the threads, by an interpreter that executes one step at a time."""
    threads = [[step for step in program.steps if thread in step.threads] for thread in range(len(program.places))]
    seen: set[tuple[tuple[int, ...], tuple[tuple[str, int], ...]]] = set()

    def run(places: tuple[int, ...], state: State) -> Iterator[State]:
        key = (places, tuple(sorted(state.items())))
        if key in seen:
            return
        seen.add(key)
        waiting = [steps[place] for steps, place in zip(threads, places, strict=True) if place < len(steps)]
        if not waiting:
            yield state
        for thread, place in enumerate(places):
            if place == len(threads[thread]):
                continue
            step = threads[thread][place]
            moved = {thread}
            if step.operation.kind == "barrier":
                if len(waiting) < len(threads) or any(other is not step for other in waiting):
                    continue
                moved = set(range(len(threads)))
            after = dict(state)
            if step.operation.location is not None:
                name, operation = NAMES[step.operation.location.offset // 8], step.operation
                old = after.get(name, 0)
                value = after[operation.value] if isinstance(operation.value, str) else operation.value
                if operation.register is not None:
                    after[operation.register] = old
                if operation.kind in ("add", "red"):
                    after[name] = old + value
                elif operation.kind in ("store", "exch") or (operation.kind == "cas" and old == operation.expected):
                    after[name] = value
            yield from run(tuple(at + (index in moved) for index, at in enumerate(places)), after)

    return list(run((0,) * len(threads), {}))


@pytest.mark.parametrize("row", [row for row in rows() if row.placement == "grid" or "barrier" in row.name], ids=str)
def test_evaluator_allows_every_interleaving(row: Row) -> None:
    program = parse(row.text, row.placement)
    allowed = outcomes(program)
    for state in interleavings(program):
        assert any(state.items() <= {**dict.fromkeys(state, 0), **other}.items() for other in allowed), state


RACES = [
    # Text, placement, observed values, racing steps in pairs of numbers. 8.7.1 unless noted.
    ("st.weak x, 1; st.release.gpu y, 1 | ld.acquire.gpu r0, y; ld.weak r1, x", "grid", "r0=1 r1=1", []),
    ("st.weak x, 1; st.release.gpu y, 1 | ld.acquire.gpu r0, y; ld.weak r1, x", "grid", "r0=0 r1=1", [(0, 3)]),
    ("st.weak x, 1; st.release.cta y, 1 | ld.acquire.cta r0, y; ld.weak r1, x", "block", "r0=1 r1=1", []),
    ("st.weak x, 1; st.release.cta y, 1 | ld.acquire.cta r0, y; ld.weak r1, x", "grid", "r0=1 r1=1", [(0, 3), (1, 2)]),
    ("st.weak x, 1 | ld.relaxed.sys r0, x", "warp", "r0=1", [(0, 1)]),
    ("st.relaxed.gpu x, 1 | ld.relaxed.sys r0, x", "grid", "r0=1", []),
    ("atom.cta.add r0, x, 1 | atom.gpu.add r1, x, 1", "grid", "r0=0 r1=1", [(0, 1)]),
    ("atom.cta.add r0, x, 1 | atom.gpu.add r1, x, 1", "block", "r0=0 r1=1", []),
    # A compare-and-swap that fails is no write (8.4).
    ("ld.weak r0, x | atom.gpu.cas r1, x, 5, 6", "grid", "r0=0 r1=0", []),
    # A write precedes, in causality order, everything that follows its observation (8.9.5).
    ("st.relaxed.gpu x, 1 | ld.relaxed.gpu r0, x; st.weak x, 2", "grid", "r0=1 x=2", []),
    ("st.relaxed.gpu x, 1 | ld.relaxed.gpu r0, x; st.weak x, 2", "grid", "r0=0", [(0, 2)]),
    # An acquire orders only later operations, and a release only earlier ones (8.8).
    ("st.release.gpu y, 1; st.weak x, 1 | ld.acquire.gpu r0, y; ld.weak r1, x", "grid", "r0=1 r1=1", [(1, 3)]),
    ("st.weak x, 1; st.release.gpu y, 1 | ld.weak r1, x; ld.acquire.gpu r0, y", "grid", "r0=1 r1=1", [(0, 2)]),
    ("st.weak y, 2; st.release.gpu y, 1 | ld.acquire.gpu r0, y", "grid", "r0=1", [(0, 2)]),
    ("st.release.gpu y, 2; st.relaxed.gpu y, 1 | ld.acquire.gpu r0, y; st.weak y, 3", "grid", "r0=1", [(0, 3)]),
    # Fence-SC order decides which thread is ordered after the other (8.9.3).
    ("st.weak x, 1; fence.sc.gpu | fence.sc.gpu; ld.weak r0, x", "grid", "r0=1", []),
    ("st.weak x, 1; fence.acq_rel.gpu | fence.acq_rel.gpu; ld.weak r0, x", "grid", "r0=1", [(0, 3)]),
    ("st.weak x, 1; bar | bar; ld.weak r0, x", "block", "r0=1", []),
    ("st.weak x, 1; bar; st.weak x, 2 | bar; ld.weak r0, x", "block", "r0=1", [(2, 3)]),
    # A reduction forms no acquire pattern (8.11.1), and continues observation order (8.9.2).
    (
        "st.weak x, 1; st.release.gpu y, 1 | red.gpu.add y, 1; fence.acquire.gpu; ld.weak r1, x",
        "grid",
        "y=2 r1=1",
        [(0, 4)],
    ),
    (
        "st.weak x, 1; st.release.gpu y, 1 | red.gpu.add y, 1 | ld.acquire.gpu r0, y; ld.weak r1, x",
        "grid",
        "r0=2 r1=1",
        [],
    ),
]


@pytest.mark.parametrize(("text", "placement", "outcome", "expected"), RACES)
def test_evaluator_names_the_racing_pairs(
    text: str, placement: str, outcome: str, expected: list[tuple[int, int]]
) -> None:
    program, wanted = parse(text, placement), Row("", text, placement, outcome, True, "").state
    found = set()
    for candidate in candidates(program):
        execution, events = candidate.execution, candidate.execution.structure.events
        for base, coherence in candidate.witnesses:
            if any(wanted.items() <= {**wanted, **state}.items() for state in candidate.states(coherence)):
                races = execution.races(execution.precedence(base))
                found.add(tuple(sorted((events[i].number, events[j].number) for i, j in races)))
    assert tuple(expected) in found
    # Another order of fences may leave a race.
    assert len(found) == 1 or "fence.sc" in text, found
