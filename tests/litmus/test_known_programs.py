"""Programs on which the search and the axioms once disagreed."""

from __future__ import annotations

import pytest

from litmus.comparison import compare, describe
from litmus.kernels import Text
from litmus.programs import Location, Operation, Place, Program, Step, parse
from litmus.runner import run


def bytes_of_global(offset: int, size: int) -> Location:
    return Location("global", offset, size)


PROGRAMS = {
    # A plain store of a part of a location leaves the strong accesses to the rest.
    "store-of-a-part": Program(
        (Place(0, 0), Place(1, 0)),
        [
            Step(Operation("load", "relaxed", "gpu", bytes_of_global(8, 8)), (0,)),
            Step(Operation("store", "weak", None, bytes_of_global(10, 2), 0x740), (0,)),
            Step(Operation("store", "relaxed", "gpu", bytes_of_global(12, 2), 0x840), (1,)),
        ],
    ),
    # Accesses that race do not tell the order of two fences.
    "fences-between-racing-stores": parse(
        "st.release.cta y, 1; fence.sc.gpu; st.weak x, 1 | st.weak x, 2; fence.sc.gpu; st.release.gpu y, 2", "grid"
    ),
    "fences-between-strong-accesses": parse(
        "st.weak x, 1; fence.sc.gpu; ld.relaxed.gpu r0, y | st.relaxed.gpu y, 2; fence.sc.gpu; st.weak x, 2", "grid"
    ),
    # A reduction observes a write, although it acquires nothing.
    "reduction-observes": parse("st.relaxed.gpu x, 1 | red.relaxed.gpu.add x, 1; ld.weak r0, x", "grid"),
    "reduction-acquires-nothing": parse(
        "st.weak x, 1; st.release.gpu y, 1 | red.relaxed.gpu.add y, 1; fence.acquire.gpu; ld.weak r0, x", "grid"
    ),
    "acquire-after-a-plain-store-of-the-flag": parse(
        "st.weak y, 2; st.release.gpu y, 1 | ld.acquire.gpu r0, y", "grid"
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_strict_search_agrees_with_the_axioms(simulator: str, name: str) -> None:
    text = Text(0, PROGRAMS[name])
    (result,) = run([text], CUARRAY_SIM_KERNEL_RACES="strict")
    comparison = compare(text, result)
    assert comparison.reported == comparison.named.keys(), describe(text, result["words"])
