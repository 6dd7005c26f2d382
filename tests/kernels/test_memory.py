"""Loads, stores, atomics, copies and stack allocations agree with the same operations on host arrays."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from exact_arithmetic import BF16, F16, F32, F64, Format, add, of_type, rounded, value
from kernel_modules import Module, by_capability, family, family_cases, loaded, mixed_words, wrong_words

THREADS, ONES = 64, 0xFFFFFFFF
AREA = ".shared .align 16 .b8 area[2048];"


@dataclass(frozen=True)
class Access:
    """A kernel whose ``text`` works on the thread's 64-bit word ``[own]`` and on the block's words ``[all]``.

    ``expected`` computes the words after the kernel from the words before it.
    """

    name: str
    text: str
    expected: Callable[[list[int]], list[int]]
    since: int = 75
    outside: str = ""


def each(f: Callable[[int], int]) -> Callable[[list[int]], list[int]]:
    return lambda words: [f(word) & (1 << 64) - 1 for word in words]


def loads() -> Iterator[Access]:
    for ty, wide in itertools.product(("u8", "s8", "u16", "s16", "u32", "s32", "b8", "b16", "b32"), (32, 64)):
        register = "d" if wide == 64 else "x"
        bits = int(ty[1:])

        offset = {8: 3, 16: 4, 32: 4}[bits]

        def loaded(word: int, ty: str = ty, wide: int = wide, bits: int = bits, offset: int = offset) -> int:
            return of_type(f"{'s' if ty[0] == 's' else 'u'}{bits}", word >> 8 * offset) & (1 << wide) - 1

        after = "" if wide == 64 else "cvt.u64.u32 d, x;"
        yield Access(
            f"ld_{ty}_{wide}",
            f"ld.global.{ty} {register}, [own+{offset}]; {after} st.global.u64 [own], d;",
            each(loaded),
        )
    for n, parts in ((32, 2), (16, 4), (8, 4), (16, 2)):
        names = ["x", "y", "z", "w"][:parts]
        vector, turned = ", ".join(names), ", ".join(reversed(names))

        def reversed_parts(word: int, n: int = n, parts: int = parts) -> int:
            kept = word >> n * parts << n * parts
            return kept | sum((word >> n * i & (1 << n) - 1) << n * (parts - 1 - i) for i in range(parts))

        text = f"ld.global.v{parts}.u{n} {{{vector}}}, [own]; st.global.v{parts}.u{n} [own], {{{turned}}};"
        yield Access(f"ld_v{parts}_u{n}", text, each(reversed_parts))
    spaces = {
        "shared": AREA,
        "local": "",
        "generic": "",
    }
    for space, outside in spaces.items():
        declared = ".local .align 16 .b8 area[64];" if space == "local" else ""
        place = {
            "shared": "mov.u64 u, area; mad.wide.u32 u, t, 16, u;",
            "local": "mov.u64 u, area;",
            "generic": "mov.u64 u, own;",
        }
        prefix = "" if space == "generic" else f".{space}"
        text = (
            f"{declared} {place[space]} ld.global.u64 d, [own]; st{prefix}.u8 [u+5], d; st{prefix}.v2.b16 [u], {{h, h}};"
            f"ld{prefix}.u8 v, [u+5]; st.global.u64 [own], v;"
        )
        yield Access(f"st_u8_{space}", text, each(lambda word: word & 255), outside=outside)
    text = "ld.global.u32 x, [own]; and.b32 x, x, 7; mov.u64 u, numbers; mad.wide.u32 u, x, 4, u; ld.const.s32 d, [u]; st.global.u64 [own], d;"
    yield Access(
        "ld_const",
        text,
        each(lambda word: (5, -1, 7, 0, 9, -100, 11, 1 << 30)[word & 7]),
        outside=".const .align 4 .s32 numbers[8] = {5, -1, 7, 0, 9, -100, 11, 1073741824};",
    )
    text = "ld.global.v2.u64 {u, v}, [all+16]; add.u64 d, u, v; bar.sync 0; st.global.u64 [own], d;"
    yield Access("ld_v2_u64", text, lambda words: [words[2] + words[3] & (1 << 64) - 1] * THREADS)
    text = ".reg .b128 o; ld.global.b128 o, [all+32]; mov.b128 {u, v}, o; xor.b64 d, u, v; bar.sync 0; st.global.u64 [own], d;"
    yield Access("ld_b128", text, lambda words: [words[4] ^ words[5]] * THREADS)


INTEGERS: dict[str, Callable[[str, int, int], int]] = {
    "add": lambda ty, old, b: old + b,
    "min": lambda ty, old, b: min(of_type(ty, old), of_type(ty, b)),
    "max": lambda ty, old, b: max(of_type(ty, old), of_type(ty, b)),
    "and": lambda ty, old, b: old & b,
    "or": lambda ty, old, b: old | b,
    "xor": lambda ty, old, b: old ^ b,
    "exch": lambda ty, old, b: b,
    "inc": lambda ty, old, b: 0 if old >= b else old + 1,
    "dec": lambda ty, old, b: b if old == 0 or old > b else old - 1,
}


def integer_atomics() -> Iterator[Access]:
    forms = [(name, ty) for name in ("add", "min", "max") for ty in ("u32", "s32", "u64", "s64")]
    forms = [form for form in forms if form != ("add", "s64")]
    forms += [(name, ty) for name in ("and", "or", "xor", "exch") for ty in ("b32", "b64")] + [
        ("inc", "u32"),
        ("dec", "u32"),
    ]
    for (name, ty), space in itertools.product(forms, ("global", "generic", "shared", "red")):
        n, f, kind = int(ty[1:]), INTEGERS[name], ty.replace("b", "u")
        if space == "red" and name == "exch":
            continue

        # Each thread works on its own word, so the result does not depend on an order. It combines the old and the new value.
        def on_own(
            word: int, f: Callable[[str, int, int], int] = f, ty: str = kind, n: int = n, reduces: bool = space == "red"
        ) -> int:
            old, b = (word & ONES, word >> 32) if n == 32 else (word, word * 0x9E3779B97F4A7C15 & (1 << 64) - 1)
            new = f(ty, old, b) & (1 << n) - 1
            if reduces:
                return (word >> 32 << 32 | new) if n == 32 else new
            return new ^ (old << 7)

        source = (
            "ld.global.v2.u32 {x, y}, [own];"
            if n == 32
            else "ld.global.u64 u, [own]; mul.lo.u64 v, u, 0x9E3779B97F4A7C15;"
        )
        b = "y" if n == 32 else "v"
        if space == "red":
            text = f"{source} red.global.{name}.{ty} [own], {b};"
        else:
            old = "z" if n == 32 else "d"
            place, prefix = "own", "" if space == "generic" else f".{space}"
            if space == "shared":
                source += "mov.u64 u, area; mad.wide.u32 u, t, 8, u; ld.global.u64 d, [own]; st.shared.u64 [u], d; "
                place = "u"
            after = f"ld{prefix}.u{n} {'x' if n == 32 else 'w64'}, [{place}];"
            wide = "cvt.u64.u32 d, z; cvt.u64.u32 w64, x;" if n == 32 else ""
            text = f"{source} atom{prefix}.{name}.{ty} {old}, [{place}], {b}; {after} {wide} shl.b64 d, d, 7; xor.b64 d, d, w64; st.global.u64 [own], d;"
        yield Access(f"atom_{name}_{ty}_{space}", text, each(on_own), outside=AREA if space == "shared" else "")
    for n in (32, 64):
        # The comparison succeeds in half of the threads.
        a = "x" if n == 32 else "u"

        def swapped(word: int, n: int = n) -> int:
            old = word & (1 << n) - 1
            new = 77 if word & 1 else old
            return (word >> 32 << 32 | new) if n == 32 else new

        text = f"ld.global.u{n} {a}, [own]; or.b{n} {a}, {a}, 1; atom.global.cas.b{n} {a}, [own], {a}, 77;"
        yield Access(f"atom_cas_b{n}", text, each(swapped))
    text = (
        ".reg .b16 seven, three; mov.b16 seven, 7; mov.b16 three, 3; ld.global.b16 h, [own+2]; mov.u64 u, own;"
        "atom.global.cas.b16 h, [u+2], h, three; st.global.b16 [own+4], h; atom.global.cas.b16 h, [own+6], three, seven;"
    )

    def halves(word: int) -> int:
        return word & 0xFFFF00000000FFFF | 3 << 16 | (word >> 16 & 0xFFFF) << 32

    yield Access("atom_b16", text, each(halves), since=90)
    # All threads add to one word; the sum does not depend on the order.
    text = "mov.u32 x, t; atom.global.add.u32 y, [all], x; bar.sync 0; ld.global.u32 x, [all]; cvt.u64.u32 d, x; bar.sync 0; st.global.u64 [own], d;"
    yield Access("atom_add_contended", text, lambda words: [(words[0] & ONES) + sum(range(THREADS)) & ONES] * THREADS)


FORMATS = {"f32": F32, "f64": F64, "f16": F16, "bf16": BF16}


def total(form: Format, a: int, b: int) -> int:
    return rounded(form, add(form, value(form, a), value(form, b), "rn"), "rn")


def floating_atomics() -> Iterator[Access]:
    for ty in ("f32", "f64", "f16x2", "bf16x2"):
        form = FORMATS[ty.removesuffix("x2")]
        n = 32 if ty.endswith("x2") else form.bits

        def added(word: int, form: Format = form, n: int = n) -> int:
            if form.bits == 64:
                return total(form, tame(form, word), tame(form, word * 3))
            step = form.bits
            old, b = word & ONES, word >> 32
            parts = [total(form, tame(form, old >> at), tame(form, b >> at)) << at for at in range(0, n, step)]
            return sum(parts)

        tamed = tame_text(form, n)
        noftz = ".noftz" if ty.endswith("x2") else ""
        if n == 64:
            text = f"ld.global.u64 u, [own]; mul.lo.u64 v, u, 3; {tamed} st.global.u64 [own], u; red.global.add.f64 [own], v;"
        else:
            text = (
                f"ld.global.v2.u32 {{x, y}}, [own]; {tamed} cvt.u64.u32 d, x; st.global.u64 [own], d;"
                f"red.global.add{noftz}.{ty} [own], y;"
            )
        yield Access(f"red_add_{ty}", text, each(added), since=90 if ty == "bf16x2" else 75)


def tame(form: Format, bits: int) -> int:
    """Replace the exponent so that the number is normal and near 1, and flushing has no effect."""
    fraction = bits & ((1 << form.fraction) - 1)
    return form.bias << form.fraction | fraction | bits & form.sign


def tame_text(form: Format, n: int) -> str:
    kept, set_ = (form.sign | (1 << form.fraction) - 1), form.bias << form.fraction
    if form.bits == 16:
        kept, set_ = kept * 0x10001, set_ * 0x10001
    names = ("u", "v") if n == 64 else ("x", "y")
    return "".join(f"and.b{n} {name}, {name}, {kept}; or.b{n} {name}, {name}, {set_};" for name in names)


def vector_atomics() -> Iterator[Access]:
    # The block's words are consecutive vectors, one for each thread.
    for ty, count, name in (
        *(("f32", 2, "add"), ("f32", 4, "add"), ("f16x2", 2, "add"), ("f16x2", 4, "min"), ("bf16x2", 2, "max")),
        *(("f16", 2, "add"), ("f16", 4, "max"), ("f16", 8, "add"), ("bf16", 4, "min"), ("bf16", 8, "add")),
    ):
        form = FORMATS[ty.removesuffix("x2")]
        bits = form.bits * (2 if ty.endswith("x2") else 1)
        size = bits * count // 64  # number of 64-bit words in a vector
        old = [f"o{index}" for index in range(count)]
        new = [f"n{index}" for index in range(count)]

        def vectors(words: list[int], form: Format = form, size: int = size, name: str = name) -> list[int]:
            words = list(words)
            for thread in range(0, THREADS // max(size, 1)):
                for place in range(thread * size, thread * size + size):
                    word = sum(tame(form, words[place] >> at) << at for at in range(0, 64, form.bits))
                    other = sum(tame(form, (words[place] >> 1) >> at) << at for at in range(0, 64, form.bits))
                    parts = []
                    for at in range(0, 64, form.bits):
                        a, b = (one >> at & (1 << form.bits) - 1 for one in (word, other))
                        if name == "add":
                            parts.append(total(form, a, b) << at)
                        else:
                            key = lambda one, form=form: value(form, one)  # noqa: E731
                            parts.append((min if name == "min" else max)(a, b, key=key) << at)
                    words[place] = sum(parts)
            return words

        if size == 0:
            continue
        noftz = "" if ty == "f32" else ".noftz"
        kind = f".b{bits}"
        kept = form.sign | (1 << form.fraction) - 1
        repeat = sum(1 << at for at in range(0, 64, form.bits))
        prepare = "".join(
            f"ld.global.u64 u, [at+{8 * index}]; shr.u64 v, u, 1; and.b64 u, u, {kept * repeat}; or.b64 u, u, {(form.bias << form.fraction) * repeat};"
            f"and.b64 v, v, {kept * repeat}; or.b64 v, v, {(form.bias << form.fraction) * repeat}; st.global.u64 [at+{8 * index}], u;"
            f"mov.b64 {{{', '.join(new[index * count // size : (index + 1) * count // size])}}}, v;"
            for index in range(size)
        )
        text = (
            f".reg {kind} {', '.join(old + new)}; .reg .b64 at; setp.ge.u32 p, t, {THREADS // size}; @p exit;"
            f"mad.wide.u32 at, t, {8 * size}, all; {prepare}"
            f"atom.global.add{noftz}.v{count}.{ty} {{{', '.join(old)}}}, [at], {{{', '.join(new)}}};"
        ).replace("atom.global.add", f"atom.global.{name}")
        yield Access(f"atom_{name}_v{count}_{ty}", text, vectors, since=90)


def wide_atomics() -> Iterator[Access]:
    def exchanged(words: list[int]) -> list[int]:
        pairs = [(words[index], words[index + 1]) for index in range(0, THREADS, 2)]
        return [one for low, high in pairs for one in (high, low)]

    head = ".reg .b128 o, n, m; .reg .b64 at; setp.ge.u32 p, t, 32; @p exit; mad.wide.u32 at, t, 16, all; ld.global.v2.u64 {u, v}, [at];"
    text = f"{head} mov.b128 n, {{v, u}}; atom.global.exch.b128 o, [at], n; mov.b128 {{v, u}}, o; "
    yield Access("atom_exch_b128", text, exchanged, since=90)

    def compared(words: list[int]) -> list[int]:
        pairs = [(words[index], words[index + 1]) for index in range(0, THREADS, 2)]
        return [one for low, high in pairs for one in ((1, 2) if low & 1 else (low, high))]

    text = (
        f"{head} or.b64 d, u, 1; mov.b128 m, {{d, v}}; mov.u64 u, 1; mov.u64 v, 2; mov.b128 n, {{u, v}};"
        "atom.global.cas.b128 o, [at], m, n;"
    )
    yield Access("atom_cas_b128", text, compared, since=90)


def copies() -> Iterator[Access]:
    for size, cached in ((4, "ca"), (8, "ca"), (16, "ca"), (16, "cg")):
        for form in ("", "counted", "ignored"):

            def copied(words: list[int], size: int = size, form: str = form) -> list[int]:
                data = b"".join(word.to_bytes(8, "little") for word in words)
                results = list(words)
                for thread in range(32):
                    part = data[16 * thread : 16 * thread + size]
                    if form == "counted":
                        count = min(thread & 15, size)
                        part = part[:count] + bytes(size - count)
                    elif form == "ignored" and thread & 1:
                        part = bytes(size)
                    whole = part + b"\xee" * (16 - size)
                    results[2 * thread], results[2 * thread + 1] = (
                        int.from_bytes(whole[at : at + 8], "little") for at in (0, 8)
                    )
                return results

            more = {"": "", "counted": ", x", "ignored": ", p"}[form]
            limit = f"min.u32 x, x, {size};" if form == "counted" else ""
            text = (
                "setp.ge.u32 p, t, 32; @p exit; and.b32 x, t, 1; setp.eq.u32 p, x, 1; and.b32 x, t, 15;"
                f"{limit} .reg .b64 at; mad.wide.u32 at, t, 16, all; mov.u64 u, area; mad.wide.u32 u, t, 16, u;"
                "mov.u64 v, 0xeeeeeeeeeeeeeeee; st.shared.v2.u64 [u], {v, v};"
                f"cp.async.{cached}.shared.global [u], [at], {size}{more}; cp.async.commit_group; cp.async.wait_group 0;"
                "ld.shared.v2.u64 {d, v}, [u]; st.global.v2.u64 [at], {d, v};"
            )
            yield Access(f"cp_async_{cached}_{size}_{form}", text, copied, since=80, outside=AREA)
    text = (
        ".reg .b64 state; mov.u64 u, area; setp.ne.u32 p, t, 0; @p bra READY; mbarrier.init.shared.b64 [u+1024], 64; READY:"
        "bar.sync 0; mad.wide.u32 v, t, 8, u; cp.async.ca.shared.global [v], [own], 8;"
        "cp.async.mbarrier.arrive.noinc.shared.b64 [u+1024]; WAIT: mbarrier.test_wait.parity.shared.b64 p, [u+1024], 0;"
        "@!p bra WAIT; sub.u32 x, 63, t; mad.wide.u32 v, x, 8, u; ld.shared.u64 d, [v]; bar.sync 0; st.global.u64 [own], d;"
    )
    yield Access("cp_async_mbarrier", text, lambda words: words[::-1], since=90, outside=AREA)


def stacks() -> Iterator[Access]:
    # Allocate a thread-dependent number of words, fill and sum them, restore the stack, and repeat.
    text = (
        ".reg .b64 saved, size; ld.global.u64 d, [own]; and.b64 d, d, 15; add.u64 size, d, 1; shl.b64 size, size, 3;"
        "mov.u32 z, 0; mov.u64 w64, 0; TWICE: stacksave.u64 saved; alloca.u64 u, size, 16; and.b64 v, u, 15; add.u64 w64, w64, v;"
        "mov.u32 x, 0; cvt.u32.u64 y, d; FILL: mad.wide.u32 v, x, 8, u; cvt.u64.u32 size, x; mul.lo.u64 size, size, 7;"
        "st.local.u64 [v], size; add.u32 x, x, 1; setp.le.u32 p, x, y; @p bra FILL;"
        "mov.u32 x, 0; SUM: mad.wide.u32 v, x, 8, u; ld.local.u64 v, [v]; add.u64 w64, w64, v; add.u32 x, x, 1;"
        "setp.le.u32 p, x, y; @p bra SUM; add.u64 size, d, 1; shl.b64 size, size, 3; stackrestore.u64 saved;"
        "add.u32 z, z, 1; setp.lt.u32 p, z, 2; @p bra TWICE; st.global.u64 [own], w64;"
    )
    yield Access("alloca", text, each(lambda word: 2 * sum(7 * index for index in range((word & 15) + 1))), since=75)
    # Allocations of a function and of its caller do not overlap.
    functions = """
    .func (.param .b64 result) deep(.param .b64 count) {
        .reg .b64 n, u, v, w; .reg .pred p; .param .b64 to; .param .b64 from;
        ld.param.u64 n, [count]; alloca.u64 u, 24; st.local.u64 [u+16], n; mov.u64 w, 0; setp.eq.u64 p, n, 0; @p bra END;
        sub.u64 v, n, 1; st.param.u64 [to], v; call (from), deep, (to); ld.param.u64 w, [from];
        END: ld.local.u64 v, [u+16]; add.u64 w, w, v; st.param.u64 [result], w; ret;
    }"""
    text = (
        "{ .param .b64 n; .param .b64 r; ld.global.u64 d, [own]; and.b64 d, d, 15; alloca.u64 u, 8; st.local.u64 [u], d;"
        "st.param.u64 [n], d; call (r), deep, (n); ld.param.u64 d, [r]; ld.local.u64 v, [u]; shl.b64 v, v, 32; or.b64 d, d, v;"
        "st.global.u64 [own], d; }"
    )
    yield Access(
        "alloca_in_calls", text, each(lambda word: sum(range((word & 15) + 1)) | (word & 15) << 32), outside=functions
    )


def hints() -> Iterator[Access]:
    """Address spaces, and instructions without a visible effect."""
    text = (
        "mov.u64 u, area; cvta.shared.u64 v, u; isspacep.shared p, v; isspacep.global q, v; selp.u32 x, 1, 0, p;"
        "selp.u32 y, 2, 0, q; or.b32 x, x, y; isspacep.global p, own; isspacep.local q, own; selp.u32 y, 4, 0, p;"
        "or.b32 x, x, y; selp.u32 y, 8, 0, q; or.b32 x, x, y; cvta.to.shared.u64 w64, v; sub.u64 w64, w64, u;"
        "cvt.u64.u32 d, x; add.u64 d, d, w64; st.global.u64 [own], d;"
    )
    yield Access("address_spaces", text, each(lambda _: 5), outside=AREA)
    text = (
        "ldu.global.u64 d, [own]; prefetch.global.L1 [own]; prefetch.global.L2::evict_last [own]; prefetchu.L1 [own];"
        "applypriority.global.L2::evict_normal [own], 128; membar.gl; fence.acq_rel.gpu; fence.sc.cta; nanosleep.u32 20;"
        "pmevent 3; add.u64 d, d, 1; st.global.u64 [own], d;"
    )
    yield Access("hints", text, each(lambda word: word + 1), since=80)
    text = (
        "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 u, 0.5; createpolicy.cvt.L2.b64 u, u;"
        "createpolicy.range.global.L2::evict_last.L2::evict_first.b64 v, [all], 0x1000, 0x2000;"
        "ld.global.L1::evict_last.L2::cache_hint.L2::128B.u64 d, [own], u; add.u64 d, d, 3;"
        "st.global.L1::no_allocate.L2::cache_hint.u64 [own], d, v;"
    )
    yield Access("cache_policies", text, each(lambda word: word + 3), since=80)
    text = (
        "ld.global.u64 d, [own]; bar.sync 0; setp.ne.u32 p, t, 0; @p bra OTHERS; discard.global.L2 [all], 128; OTHERS:"
        "bar.sync 0; add.u64 d, d, 2; st.global.u64 [own], d;"
    )
    yield Access("discard", text, each(lambda word: word + 2), since=80)
    text = (
        "mov.u64 u, area; mapa.shared::cluster.u64 v, u, 0; getctarank.shared::cluster.u64 x, v; cvt.u64.u32 d, x; "
        "barrier.sync 0; griddepcontrol.wait;"
        "griddepcontrol.launch_dependents; st.global.u64 [own], d;"
    )
    yield Access("cluster_of_one", text, each(lambda _: 0), since=90, outside=AREA)


CASES = [
    *(
        *hints(),
        *loads(),
        *integer_atomics(),
        *floating_atomics(),
        *vector_atomics(),
        *wide_atomics(),
        *copies(),
        *stacks(),
    ),
]


def kernel(case: Access) -> str:
    declared = ".reg .b64 all, own, d, u, v, w64; .reg .b32 x, y, z, w, t; .reg .b16 h; .reg .pred p, q;"
    return (
        f".visible .entry {case.name}(.param .u64 array) {{ {declared} ld.param.u64 all, [array]; mov.u32 t, %tid.x;"
        f"mad.wide.u32 own, t, 8, all; mov.b16 h, 0; {case.text} ret; }}"
    )


TEXTS = by_capability((case.since, text) for case in CASES for text in (case.outside, kernel(case)))


@pytest.fixture(scope="module")
def modules(driver_kind: str) -> Iterator[dict[int, Module]]:
    with loaded(TEXTS) as found:
        yield found


@pytest.mark.parametrize("name", sorted({family(case) for case in CASES}))
def test_memory_access_agrees_with_host_arrays(modules: dict[int, Module], name: str) -> None:
    cases = family_cases(CASES, name, modules)
    wrong = [line for case in cases for line in disagreements(modules[case.since], case)]
    assert not wrong, "\n".join(wrong)


def disagreements(module: Module, case: Access) -> list[str]:
    """Return a line with the first words that differ, if any."""
    words = mixed_words(THREADS)
    results = module.run(case.name, [np.array(words, np.uint64)], THREADS)[0]
    expected = case.expected(words)
    wrong = wrong_words(results, expected)
    return [f"{case.name}: word, result, expected: {wrong}"] if wrong else []
