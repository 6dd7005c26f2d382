"""Integer arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from exact_arithmetic import clamp, of_type, signed

from .case import INTEGERS, Case, mask, width


def integers() -> Iterator[Case]:
    for ty in INTEGERS:
        n = width(ty)

        def two(f: Callable[[int, int], int], ty: str = ty) -> Callable[[int, int], int]:
            return lambda a, b: f(of_type(ty, a), of_type(ty, b)) & mask(ty)

        def three(f: Callable[[int, int, int], int], ty: str = ty) -> Callable[[int, int, int], int]:
            return lambda a, b, c: f(of_type(ty, a), of_type(ty, b), of_type(ty, c)) & mask(ty)

        def quotient(a: int, b: int) -> int:
            return -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)

        yield Case(f"add.{ty}", ty, (ty, ty), two(lambda a, b: a + b))
        yield Case(f"sub.{ty}", ty, (ty, ty), two(lambda a, b: a - b))
        yield Case(f"mul.lo.{ty}", ty, (ty, ty), two(lambda a, b: a * b))
        yield Case(f"mul.hi.{ty}", ty, (ty, ty), two(lambda a, b, n=n: a * b >> n))
        yield Case(f"mad.lo.{ty}", ty, (ty,) * 3, three(lambda a, b, c: a * b + c))
        yield Case(f"mad.hi.{ty}", ty, (ty,) * 3, three(lambda a, b, c, n=n: (a * b >> n) + c))
        yield Case(f"div.{ty}", ty, (ty, ty), two(quotient), lambda a, b: b == 0)
        yield Case(f"rem.{ty}", ty, (ty, ty), two(lambda a, b: a - b * quotient(a, b) if b else a), lambda a, b: b == 0)
        yield Case(f"min.{ty}", ty, (ty, ty), two(min))
        yield Case(f"max.{ty}", ty, (ty, ty), two(max))
        yield Case(f"sad.{ty}", ty, (ty,) * 3, three(lambda a, b, c: abs(a - b) + c))
        if ty[0] == "s":
            yield Case(f"abs.{ty}", ty, (ty,), lambda a, ty=ty: abs(of_type(ty, a)) & mask(ty))
            yield Case(f"neg.{ty}", ty, (ty,), lambda a, ty=ty: -a & mask(ty))
        if n < 64:
            wide = f"{ty[0]}{2 * n}"
            yield Case(
                f"mul.wide.{ty}",
                wide,
                (ty, ty),
                lambda a, b, ty=ty, wide=wide: of_type(ty, a) * of_type(ty, b) & mask(wide),
            )
            yield Case(
                f"mad.wide.{ty}",
                wide,
                (ty, ty, wide),
                lambda a, b, c, ty=ty, wide=wide: of_type(ty, a) * of_type(ty, b) + c & mask(wide),
            )
        shift = f"shr.{ty}"
        yield Case(shift, ty, (ty, "u32"), lambda a, b, ty=ty: (of_type(ty, a) >> min(b, 200)) & mask(ty))
    yield Case(
        "add.sat.s32", "s32", ("s32", "s32"), lambda a, b: clamp("s32", signed(a, 32) + signed(b, 32)) & 0xFFFFFFFF
    )
    yield Case(
        "sub.sat.s32", "s32", ("s32", "s32"), lambda a, b: clamp("s32", signed(a, 32) - signed(b, 32)) & 0xFFFFFFFF
    )
    for ty in ("u32", "s32"):
        low = f"{ty[0]}24"

        def product(a: int, b: int, low: str = low) -> int:
            return of_type(low, a) * of_type(low, b)

        yield Case(f"mul24.lo.{ty}", ty, (ty, ty), lambda a, b, p=product: p(a, b) & 0xFFFFFFFF)
        yield Case(f"mul24.hi.{ty}", ty, (ty, ty), lambda a, b, p=product: p(a, b) >> 16 & 0xFFFFFFFF)
        yield Case(f"mad24.lo.{ty}", ty, (ty,) * 3, lambda a, b, c, p=product: p(a, b) + c & 0xFFFFFFFF)
