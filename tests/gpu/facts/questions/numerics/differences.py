"""Print the operands for which two recordings have different results.

``python -m gpu.facts.questions.numerics.differences ONE OTHER`` reads recordings of ``gpu.facts``. A line has the operands, and the result of each
driver. For products of matrices it has the row and the column of the element.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

from ...recorder import Recording
from . import (
    atomics,
    contractions,
    conversions,
    functions,
    instructions,
    lanes,
    matrices,
    specials,
)
from .asking import NOT_HERE, Given, read

OPERANDS: dict[str, Callable[[], dict[str, Given]]] = {
    "numerics.instruction": instructions.cases,
    "numerics.function": functions.computations,
    "numerics.conversion": conversions.conversions,
    "numerics.special_values": specials.computations,
    "numerics.contraction": contractions.computations,
    "numerics.atomic": atomics.operations,
    "numerics.lanes": lanes.computations,
}
RESULTS = ".results"


def columns(name: str, step: str) -> int:
    """Return the number of columns of the matrix D of a step."""
    if name == "numerics.whole_matrix_product":
        return matrices.whole_products()[step][0].size[1]
    return 8


def places(name: str) -> Callable[[int], str]:
    """Return a function from the number of a result to its operands, or to its row and column."""
    for start, every in OPERANDS.items():
        if name.startswith(f"{start}."):
            operands = every()[name.removeprefix(f"{start}.")].operands
            return lambda index: " ".join(f"{source[index]:x}" for source in operands)
    start, step = ".".join(name.split(".")[:2]), name.split(".", 2)[2]
    count = columns(start, step)
    return lambda index: f"row {index // count} column {index % count}"


def differences(one: Recording, other: Recording, most: int, only: str) -> Iterator[str]:
    for fact in sorted(one.facts.keys() & other.facts.keys()):
        if not fact.startswith(only) or not fact.endswith(RESULTS) or one.facts[fact] == other.facts[fact]:
            continue
        name, values = fact.removesuffix(RESULTS), (one.facts[fact], other.facts[fact])
        if NOT_HERE in values:
            yield f"{name}: {' / '.join(value[:40] for value in values)}"
            continue
        first, second = map(read, values)
        if len(first) != len(second):
            yield f"{name}: {len(first)} / {len(second)} results; the recordings have different questions"
            continue
        pairs = list(zip(first, second, strict=True))
        wrong = [index for index, (result, other_result) in enumerate(pairs) if result != other_result]
        furthest = max(abs(pairs[index][0] - pairs[index][1]) for index in wrong)
        yield f"{name}: {len(wrong)} of {len(pairs)} results differ, by {furthest} as integers at most"
        place = places(name)
        yield from (f"  {place(index)}: {pairs[index][0]:x} / {pairs[index][1]:x}" for index in wrong[:most])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m gpu.facts.questions.numerics.differences", description=__doc__)
    parser.add_argument("files", nargs=2, type=Path, metavar="FILE")
    parser.add_argument("--most", type=int, default=8, help="the most operands of one instruction (default: 8)")
    parser.add_argument("--only", default="numerics.", help="the start of the names of the facts")
    options = parser.parse_args()
    for line in differences(*map(Recording.read, options.files), options.most, options.only):
        print(line)


if __name__ == "__main__":
    main()
