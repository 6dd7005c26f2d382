"""The published shapes as kernels on the simulated driver: each observed outcome is one that the axioms allow."""

from __future__ import annotations

import random

import pytest

from litmus.kernels import Text, values_read
from litmus.outcomes import State, outcomes
from litmus.programs import NAMES, Program, parse
from litmus.runner import run
from litmus.shapes import Row, rows

SETTINGS = [{}, {"CUARRAY_SIM_SCHEDULE": "eager"}, {"CUARRAY_SIM_SCHEDULE": "random:7"}, {"CUARRAY_SIM_CORES": "1"}]


def shuffled(program: Program, seed: int) -> Program:
    """Interleave the threads differently in the text, which decides the order within a warp."""
    chosen = random.Random(seed)
    threads = [[step for step in program.steps if thread in step.threads] for thread in range(len(program.places))]
    steps = []
    while any(threads):
        heads = [steps_of[0] for steps_of in threads if steps_of]
        step = chosen.choice([head for head in heads if sum(head is other for other in heads) == len(head.threads)])
        steps.append(step)
        for thread in step.threads:
            threads[thread].pop(0)
    return Program(program.places, steps, program.cluster)


def observed(text: Text, words: list[int], memory: list[int]) -> State:
    """The registers and the final values of the locations."""
    state: State = {name: memory[2 * index] for index, name in enumerate(NAMES)}
    for (number, _), value in values_read(text, words).items():
        register = text.program.steps[number].operation.register
        assert register is not None
        state[register] = value
    return state


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: "-".join(settings.values()) or "default")
def test_observed_outcomes_are_allowed(simulator: str, settings: dict[str, str]) -> None:
    found: list[tuple[Row, Text]] = []
    for row in rows():
        for seed in range(3):
            found.append((row, Text(len(found), shuffled(parse(row.text, row.placement), seed))))
    allowed: dict[str, list[State]] = {}
    for (row, text), result in zip(found, run([text for _, text in found], **settings), strict=True):
        if str(row) not in allowed:
            allowed[str(row)] = outcomes(text.program)
        state = observed(text, result["words"], result["memory"])
        others = allowed[str(row)]
        assert any(all(state[name] == value for name, value in other.items()) for other in others), (row, state)
