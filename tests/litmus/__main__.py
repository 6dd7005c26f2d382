"""Show one random program, and remove steps while the simulator and the axioms still disagree.

In the default mode, races that it has a reason to hide are no disagreement. ``PYTHONPATH=tests .venv/bin/python -m litmus SEED [MODE]``, where ``MODE`` is a value of ``CUARRAY_SIM_KERNEL_RACES``.
"""

from __future__ import annotations

import sys

from .comparison import Comparison, compare, describe
from .generator import Maker
from .kernels import Pause, Text
from .programs import Program
from .runner import run


def run_all(texts: list[Text], mode: str) -> list[tuple[Comparison, list[int], list[dict[str, object]]]]:
    results = run(texts, CUARRAY_SIM_KERNEL_RACES=mode)
    return [
        (compare(text, result), result["words"], result["races"]) for text, result in zip(texts, results, strict=True)
    ]


def without(text: Text, step: int, number: int) -> Text:
    """The kernel without a step."""
    pauses: dict[int, list[Pause]] = {}
    for place, found in text.pauses.items():
        pauses.setdefault(place - (place > step), []).extend(found)
    steps = text.program.steps[:step] + text.program.steps[step + 1 :]
    return Text(number, Program(text.program.places, steps, text.program.cluster), pauses, text.patience)


def without_pauses(text: Text, number: int) -> Text:
    return Text(number, text.program, {}, text.patience)


def disagreements(comparison: Comparison, mode: str) -> tuple[bool, ...]:
    """Whether a comparison has false alarms, missed races, and no allowed execution."""
    missed = comparison.missed if mode == "strict" else comparison.unexcused
    return bool(comparison.false_alarms), bool(missed), not comparison.explained


def disagrees(comparison: Comparison, mode: str, kinds: tuple[bool, ...]) -> bool:
    """Whether a comparison has the disagreements of these kinds."""
    return any(kind and found for kind, found in zip(kinds, disagreements(comparison, mode), strict=True))


def main() -> None:
    seed, mode = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "strict"
    text = Maker(seed).text(0)
    ((comparison, words, races),) = run_all([text], mode)
    kinds = disagreements(comparison, mode)
    while any(kinds):
        count = len(text.program.steps)
        shorter = [without(text, step, step) for step in range(count)] + (
            [without_pauses(text, count)] if text.pauses else []
        )
        found = next((one for one in run_all(shorter, mode) if disagrees(one[0], mode, kinds)), None)
        if found is None:
            break
        text = found[0].text
        text.number = 0
        ((comparison, words, races),) = run_all([text], mode)
    print(describe(text, words))
    print(
        "named by the axioms:",
        sorted(comparison.named),
        "in an allowed execution" if comparison.explained else "none allowed",
    )
    print("reported:", sorted(comparison.reported))
    for race in races:
        print("  ", race["lines"], race["missing"])
    print("false alarms:", sorted(comparison.false_alarms), "missed:", sorted(comparison.missed))


if __name__ == "__main__":
    main()
