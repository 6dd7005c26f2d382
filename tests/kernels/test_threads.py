"""Instructions of several threads agree with a reference: shuffles, votes, matches, reductions, barriers, waits and calls."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from exact_arithmetic import signed
from kernel_modules import Module, by_capability, family, family_cases, loaded, mixed_words, wrong_words

THREADS, LANES, ONES = 96, 32, 0xFFFFFFFF


@dataclass(frozen=True)
class Together:
    """A kernel whose ``text`` computes ``d`` (64 bits) from the thread's ``a``, its lower half ``x``, ``t`` and ``lane``.

    ``expected`` computes the results from the values of ``a`` of a warp, or of the whole block if ``block`` is set. ``since`` is the
    least compute capability, and ``outside`` is PTX in front of the kernel.
    """

    name: str
    text: str
    expected: Callable[[list[int]], list[int]]
    block: bool = False
    since: int = 75
    outside: str = ""


def shuffles() -> Iterator[Together]:
    for mode, by, width in itertools.product(("up", "down", "bfly", "idx"), ("1", "5", "16", "31", "x"), (2, 8, 32)):
        segment = LANES - width

        def expected(words: list[int], mode: str = mode, by: str = by, segment: int = segment) -> list[int]:
            results = []
            for lane in range(LANES):
                b = (words[lane] if by == "x" else int(by)) & 31
                end = 0 if mode == "up" else 31
                last, first = lane & segment | end & ~segment & 31, lane & segment
                source = {"up": lane - b, "down": lane + b, "bfly": lane ^ b, "idx": first | b & ~segment & 31}[mode]
                inside = source >= last if mode == "up" else source <= last
                results.append((words[source if inside else lane] & ONES) + (inside << 32))
            return results

        clamp = segment << 8 | (0 if mode == "up" else 31)
        text = f"shfl.sync.{mode}.b32 y|p, x, {by}, {clamp}, 0xffffffff; selp.u32 z, 1, 0, p; mov.b64 d, {{y, z}};"
        yield Together(f"shfl_{mode}_{by}_{width}", text, expected)


def agree(words: list[int], kind: str, group: list[int]) -> int:
    holds = [words[lane] & 3 == 1 for lane in group]
    if kind == "ballot":
        return sum(1 << lane for lane, held in zip(group, holds, strict=True) if held)
    return int({"all": all(holds), "any": any(holds), "uni": len(set(holds)) == 1}[kind])


def groups(size: int) -> list[list[int]]:
    return [list(range(start, start + size)) for start in range(0, LANES, size)]


def votes() -> Iterator[Together]:
    # The member mask m{size} of a vote names the whole warp, or a part of it. All parts vote in the same instruction.
    for kind, size in itertools.product(("all", "any", "uni", "ballot"), (32, 16, 4, 1)):

        def expected(words: list[int], kind: str = kind, size: int = size) -> list[int]:
            return [agree(words, kind, group) for group in groups(size) for _ in group]

        text = "and.b32 y, x, 3; setp.eq.u32 p, y, 1;"
        if kind == "ballot":
            text += f"vote.sync.ballot.b32 y, p, m{size}; cvt.u64.u32 d, y;"
        else:
            text += f"vote.sync.{kind}.pred q, p, m{size}; selp.u64 d, 1, 0, q;"
        yield Together(f"vote_{kind}_{size}", text, expected)
    for size in (32, 8):
        for bits in (32, 64):

            def alike(words: list[int], size: int = size, bits: int = bits) -> list[int]:
                values = [word & 3 | (word >> 34 & 1) << 33 if bits == 64 else word & 3 for word in words]
                return [
                    sum(1 << other for other in group if values[other] == values[lane])
                    for group in groups(size)
                    for lane in group
                ]

            value = "and.b64 u, a, 3; shr.u64 v, a, 34; and.b64 v, v, 1; shl.b64 v, v, 33; or.b64 u, u, v;"
            if bits == 32:
                value = "and.b32 y, x, 3;"
            name = "u" if bits == 64 else "y"
            text = f"{value} match.any.sync.b{bits} z, {name}, m{size}; cvt.u64.u32 d, z;"
            yield Together(f"match_any_b{bits}_{size}", text, alike)
        for shift in (0, 30):

            def same(words: list[int], size: int = size, shift: int = shift) -> list[int]:
                results = []
                for group in groups(size):
                    # With a shift, each half of the warp has one value.
                    values = {lane // 16 if shift else words[lane] & 0xFF for lane in group}
                    mask = sum(1 << lane for lane in group)
                    results += [mask + (1 << 32) if len(values) == 1 else 0] * size
                return results

            value = "shr.u32 y, lane, 4;" if shift else "and.b32 y, x, 0xff;"
            text = f"{value} match.all.sync.b32 z|p, y, m{size}; selp.u32 y, 1, 0, p; mov.b64 d, {{z, y}};"
            yield Together(f"match_all_{size}_{shift}", text, same)
    operations: dict[str, Callable[[int, int], int]] = {
        "add.u32": lambda a, b: a + b & ONES,
        "add.s32": lambda a, b: a + b & ONES,
        "min.u32": min,
        "max.u32": max,
        "min.s32": lambda a, b: min(a, b, key=lambda one: signed(one, 32)),
        "max.s32": lambda a, b: max(a, b, key=lambda one: signed(one, 32)),
        "and.b32": lambda a, b: a & b,
        "or.b32": lambda a, b: a | b,
        "xor.b32": lambda a, b: a ^ b,
    }
    for (name, f), size in itertools.product(operations.items(), (32, 8)):

        def reduced(words: list[int], f: Callable[[int, int], int] = f, size: int = size) -> list[int]:
            return [reduce(f, [words[lane] & ONES for lane in group]) for group in groups(size) for _ in group]

        text = f"redux.sync.{name} y, x, m{size}; cvt.u64.u32 d, y;"
        yield Together(f"redux_{name}_{size}", text, reduced, since=80)
    yield Together(
        "elect",
        "elect.sync y|p, m16; selp.u32 z, 1, 0, p; mov.b64 d, {y, z};",
        lambda words: [lane // 16 * 16 + ((lane % 16 == 0) << 32) for lane in range(LANES)],
        since=90,
    )


def diverged() -> Iterator[Together]:
    """Return cases in which only some threads of a warp execute an instruction."""
    odd = [lane for lane in range(LANES) if lane & 1]
    even = [lane for lane in range(LANES) if not lane & 1]

    def ballots(words: list[int]) -> list[int]:
        both = [agree(words, "ballot", group) for group in (even, odd)]
        return [both[lane & 1] for lane in range(LANES)]

    text = (
        "and.b32 y, x, 3; setp.eq.u32 q, y, 1; and.b32 y, lane, 1; setp.eq.u32 p, y, 1; @p bra ODD;"
        "vote.sync.ballot.b32 z, q, 0x55555555; bra MET; ODD: vote.sync.ballot.b32 z, q, 0xaaaaaaaa; MET: cvt.u64.u32 d, z;"
    )
    yield Together("diverged_ballots_of_odd_and_even_lanes", text, ballots)

    def sums(words: list[int]) -> list[int]:
        return [sum(words[other] & ONES for other in (even, odd)[lane & 1]) & ONES for lane in range(LANES)]

    text = (
        "and.b32 y, lane, 1; setp.eq.u32 p, y, 1; @p bra ODD; redux.sync.add.u32 z, x, 0x55555555; bra MET;"
        "ODD: redux.sync.add.u32 z, x, 0xaaaaaaaa; MET: bar.warp.sync 0xffffffff; cvt.u64.u32 d, z;"
    )
    yield Together("diverged_sums_of_odd_and_even_lanes", text, sums, since=80)
    # Threads leave a loop one after the other. The vote's member mask has the threads that are still in the loop.
    text = (
        "and.b32 w, x, 15; mov.u32 z, 0; mov.u32 m, 0xffffffff; AGAIN: setp.lt.u32 p, z, w; vote.sync.ballot.b32 m, p, m;"
        "@!p bra OUT; add.u32 z, z, 1; popc.b32 y, m; cvt.u64.u32 u, y; add.u64 d, d, u; bra AGAIN; OUT:"
    )

    def stayed(words: list[int]) -> list[int]:
        trips = [word & 15 for word in words]
        return [sum(sum(other > turn for other in trips) for turn in range(own)) for own in trips]

    yield Together("diverged_ballot_in_loop", text, stayed)
    text = "setp.lt.u32 p, lane, 10; @p exit; vote.sync.ballot.b32 y, 1, 0xfffffc00; cvt.u64.u32 d, y;"
    yield Together(
        "diverged_ballot_after_exit", text, lambda _: [0 if lane < 10 else 0xFFFFFC00 for lane in range(LANES)]
    )
    text = (
        "setp.lt.u32 p, lane, 7; @p bra FEW; mov.u32 y, 2; bra MET; FEW: mov.u32 y, 1; MET: bar.warp.sync 0xffffffff;"
        "activemask.b32 z; shfl.sync.idx.b32 w, y, 3, 31, 0xffffffff; mov.b64 d, {w, z};"
    )
    yield Together("diverged_threads_converge", text, lambda _: [ONES << 32 | 1] * LANES)


def barriers() -> Iterator[Together]:
    def block(f: Callable[[list[int]], list[int]]) -> Callable[[list[int]], list[int]]:
        return f

    shared = ".shared .align 8 .b8 area[1024];"
    text = (
        "mov.u64 u, area; mad.wide.u32 u, t, 8, u; st.shared.u64 [u], a; bar.sync 0; sub.u32 y, 95, t;"
        "mov.u64 u, area; mad.wide.u32 u, y, 8, u; ld.shared.u64 d, [u];"
    )
    yield Together("bar_sync_reversed", text, block(lambda words: words[::-1]), True, outside=shared)
    for name, f in (("popc.u32", sum), ("and.pred", all), ("or.pred", any)):
        result = "y" if name == "popc.u32" else "q"
        after = "cvt.u64.u32 d, y;" if name == "popc.u32" else "selp.u64 d, 1, 0, q;"
        text = f"and.b32 y, x, 3; setp.ne.u32 p, y, 1; bar.red.{name} {result}, 0, p; {after}"
        yield Together(
            f"bar_red_{name}", text, lambda words, f=f: [int(f(word & 3 != 1 for word in words))] * THREADS, True
        )
        text = f"and.b32 y, x, 3; setp.ne.u32 p, y, 1; @p bra MET; add.u32 x, x, 1; MET: bar.red.{name} {result}, 3, 96, !p; {after}"
        yield Together(
            f"bar_red_after_divergence_{name}",
            text,
            lambda words, f=f: [int(f(word & 3 == 1 for word in words))] * THREADS,
            True,
        )
    # A barrier does not wait for threads that have exited.
    text = (
        "setp.lt.u32 p, x, 0x80000000; @p bra STAY; mov.u64 d, 5; st.global.u64 [out], d; exit; STAY: mov.u64 u, area;"
        "mad.wide.u32 u, t, 8, u; st.shared.u64 [u], a; bar.sync 0; ld.shared.u64 d, [u];"
    )
    yield Together(
        "bar_sync_after_exit",
        text,
        lambda words: [word if word & ONES < 1 << 31 else 5 for word in words],
        True,
        outside=shared,
    )
    # The first warp produces and the other two consume, with two named barriers.
    text = (
        "mov.u64 u, area; setp.ge.u32 p, t, 32; @p bra TAKE; mad.wide.u32 u, lane, 8, u; st.shared.u64 [u], a;"
        "bar.arrive 1, 96; bar.sync 2, 96; mov.u64 d, a; bra MET; TAKE: bar.sync 1, 96; mad.wide.u32 u, lane, 8, u;"
        "ld.shared.u64 d, [u]; add.u64 d, d, t64; bar.arrive 2, 96; MET:"
    )
    yield Together(
        "bar_arrive_producer_and_consumers",
        text,
        lambda words: words[:32] + [words[index % 32] + index for index in range(32, THREADS)],
        True,
        outside=shared,
    )
    # A barrier in a loop, after a divergent branch.
    text = (
        "mov.u32 z, 0; AGAIN: mov.u64 u, area; mad.wide.u32 u, t, 8, u; and.b32 y, x, 1; setp.eq.u32 p, y, 1; @p bra ODD;"
        "add.u64 a, a, 3; bra MET; ODD: shl.b64 a, a, 1; MET: st.shared.u64 [u], a; bar.sync 0; add.u32 y, t, 1;"
        "rem.u32 y, y, 96; mov.u64 u, area; mad.wide.u32 u, y, 8, u; ld.shared.u64 a, [u]; bar.sync 0; cvt.u32.u64 x, a;"
        "add.u32 z, z, 1; setp.lt.u32 p, z, 5; @p bra AGAIN; mov.u64 d, a;"
    )

    def turned(words: list[int]) -> list[int]:
        for _ in range(5):
            words = [(word << 1 if word & 1 else word + 3) & (1 << 64) - 1 for word in words]
            words = words[1:] + words[:1]
        return words

    yield Together("bar_sync_in_loop", text, turned, True, outside=shared)


def waiting() -> Iterator[Together]:
    area = ".shared .align 8 .b8 area[1024];"
    # Each thread acquires a lock in turn.
    text = (
        "setp.ne.u32 p, t, 0; mov.u32 y, 0; @p bra READY; st.shared.u32 [area], y; st.shared.u32 [area+8], y; READY:"
        "bar.sync 0; TRY: atom.shared.cas.b32 y, [area], 0, 1; setp.ne.u32 p, y, 0; @p bra TRY;"
        "ld.volatile.shared.u32 z, [area+8]; add.u32 z, z, 1; st.volatile.shared.u32 [area+8], z; membar.cta;"
        "atom.shared.exch.b32 y, [area], 0; bar.sync 0; ld.volatile.shared.u32 z, [area+8]; cvt.u64.u32 d, z;"
    )
    yield Together("waiting_for_lock", text, lambda _: [THREADS] * THREADS, True, outside=area)
    # Each thread waits for its predecessor, which may be in the same warp.
    text = (
        "setp.ne.u32 p, t, 0; mov.u32 y, 0; @p bra READY; st.volatile.shared.u32 [area], y; READY: bar.sync 0;"
        "WAIT: ld.volatile.shared.u32 y, [area]; setp.ne.u32 p, y, t; @p bra WAIT; add.u32 y, y, 1;"
        "st.volatile.shared.u32 [area], y; membar.cta; cvt.u64.u32 d, y;"
    )
    yield Together("waiting_for_predecessor", text, lambda _: list(range(1, THREADS + 1)), True, outside=area)
    # A loop with two entries.
    text = (
        "mov.u32 z, 0; and.b32 w, x, 7; and.b32 y, x, 8; setp.eq.u32 p, y, 0; @p bra SECOND; FIRST: add.u32 z, z, 5;"
        "SECOND: add.u32 z, z, 3; setp.eq.u32 p, w, 0; @p bra OUT; sub.u32 w, w, 1; and.b32 y, w, 1; setp.eq.u32 p, y, 0;"
        "@p bra FIRST; bra SECOND; OUT: cvt.u64.u32 d, z;"
    )

    def two_entries(words: list[int]) -> list[int]:
        results = []
        for word in words:
            total, left, first = 0, word & 7, bool(word & 8)
            while True:
                total += 8 if first else 3
                if left == 0:
                    break
                left -= 1
                first = left & 1 == 0
            results.append(total)
        return results

    yield Together("loop_with_two_entries", text, two_entries)


FUNCTIONS = """
.func (.param .b64 result) fib(.param .b32 count) {
    .reg .b32 n, y; .reg .b64 u, v; .reg .pred p; .param .b32 to; .param .b64 from;
    ld.param.u32 n, [count]; setp.gt.u32 p, n, 1; @p bra DEEP; cvt.u64.u32 u, n; st.param.u64 [result], u; ret;
    DEEP: sub.u32 y, n, 1; st.param.u32 [to], y; call (from), fib, (to); ld.param.u64 u, [from];
    sub.u32 y, n, 2; st.param.u32 [to], y; call (from), fib, (to); ld.param.u64 v, [from];
    add.u64 u, u, v; st.param.u64 [result], u; ret;
}
.func (.param .b32 result) twice(.param .b32 n) {
    .reg .b32 y; ld.param.u32 y, [n]; shl.b32 y, y, 1; st.param.u32 [result], y; ret;
}
.func (.param .b32 result) less(.param .b32 n) {
    .reg .b32 y; .reg .pred p; ld.param.u32 y, [n]; setp.lt.u32 p, y, 100; @p bra FEW; sub.u32 y, y, 100;
    FEW: st.param.u32 [result], y; ret;
}
.func (.param .b32 result) thrice(.param .b32 n) {
    .reg .b32 y; ld.param.u32 y, [n]; mul.lo.u32 y, y, 3; st.param.u32 [result], y; ret;
}
.global .align 8 .u64 table[4] = {twice, less, thrice, less};
"""


def calls() -> Iterator[Together]:
    def fib(n: int) -> int:
        a, b = 0, 1
        for _ in range(n):
            a, b = b, a + b
        return a

    text = "{ .param .b32 n; .param .b64 r; and.b32 y, x, 7; st.param.u32 [n], y; call (r), fib, (n); ld.param.u64 d, [r]; }"
    yield Together("call_recursive", text, lambda words: [fib(word & 7) for word in words], outside=FUNCTIONS)
    functions = (
        lambda n: n << 1 & ONES,
        lambda n: n if n < 100 else n - 100,
        lambda n: n * 3 & ONES,
        lambda n: n if n < 100 else n - 100,
    )
    text = (
        "{ .param .b32 n; .param .b32 r; shape: .callprototype (.param .b32 _) _ (.param .b32 _); and.b32 y, lane, 3;"
        "mov.u64 u, table; mad.wide.u32 u, y, 8, u; ld.global.u64 v, [u]; st.param.u32 [n], x; call (r), v, (n), shape;"
        "ld.param.u32 y, [r]; cvt.u64.u32 d, y; }"
    )
    yield Together(
        "call_by_address",
        text,
        lambda words: [functions[lane & 3](word & ONES) for lane, word in enumerate(words)],
        outside=FUNCTIONS,
    )
    text = (
        "and.b32 y, lane, 1; setp.eq.u32 p, y, 1; { .param .b32 n; .param .b32 r; st.param.u32 [n], x; @p call (r), twice, (n);"
        "@!p call (r), less, (n); ld.param.u32 y, [r]; cvt.u64.u32 d, y; }"
    )
    yield Together(
        "call_under_predicate",
        text,
        lambda words: [functions[1 - (lane & 1)](word & ONES) for lane, word in enumerate(words)],
        outside=FUNCTIONS,
    )


CASES = [*shuffles(), *votes(), *diverged(), *barriers(), *waiting(), *calls()]


def kernel(case: Together) -> str:
    declared = (
        ".reg .b64 a, d, u, v, out, t64; .reg .b32 x, y, z, w, m, t, lane, m32, m16, m8, m4, m1; .reg .pred p, q;"
    )
    masks = " ".join(
        f"and.b32 y, lane, {LANES - size}; mov.u32 m{size}, {(1 << size) - 1}; shl.b32 m{size}, m{size}, y;"
        for size in (32, 16, 8, 4, 1)
    )
    return (
        f".visible .entry {case.name.replace('.', '_')}(.param .u64 array) {{ {declared} ld.param.u64 out, [array];"
        "mov.u32 t, %tid.x; cvt.u64.u32 t64, t; mov.u32 lane, %laneid; mad.wide.u32 out, t, 8, out; ld.global.u64 a, [out];"
        f"cvt.u32.u64 x, a; {masks} mov.u64 d, 0; st.global.u64 [out], d; {case.text} st.global.u64 [out], d; ret; }}"
    )


TEXTS = by_capability((case.since, text) for case in CASES for text in (case.outside, kernel(case)))


@pytest.fixture(scope="module")
def modules(driver_kind: str) -> Iterator[dict[int, Module]]:
    with loaded(TEXTS) as found:
        yield found


@pytest.mark.parametrize("name", sorted({family(case) for case in CASES}))
def test_thread_instructions_agree_with_reference(modules: dict[int, Module], name: str) -> None:
    cases = family_cases(CASES, name, modules)
    wrong = [line for case in cases for line in disagreements(modules[case.since], case)]
    assert not wrong, "\n".join(wrong)


def disagreements(module: Module, case: Together) -> list[str]:
    """Return a line with the first threads that differ, if any."""
    words = mixed_words(THREADS)
    results = module.run(case.name.replace(".", "_"), [np.array(words, np.uint64)], THREADS)[0]
    if case.block:
        expected = case.expected(words)
    else:
        expected = [one for start in range(0, THREADS, LANES) for one in case.expected(words[start : start + LANES])]
    wrong = wrong_words(results, expected)
    return [f"{case.name}: thread, result, expected: {wrong}"] if wrong else []
