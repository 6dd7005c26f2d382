"""The recorder of facts asks a driver about each error code that the manual documents and that no test of the simulator shows."""

from __future__ import annotations

from gpu.facts import questions
from gpu.facts.entry_points import LATEST, implemented
from gpu.facts.questions.codes.documented import CASES, items, pairs, questions_of
from gpu.facts.questions.codes.objects import ENDS, MAKERS
from gpu.facts.questions.codes.valid_arguments import NODES, TABLE, unknown


def test_each_documented_code_that_is_not_shown_has_a_question() -> None:
    assert questions.declare()
    without = [
        f"{pair.name} {pair.code}" for pair in pairs() if pair.reason and pair.entries and not questions_of(pair)
    ]
    assert without == []


def test_functions_without_a_question_are_later_than_the_driver_that_is_asked() -> None:
    asked = {pair.name for pair in pairs() if pair.entries}
    later = {pair.name for pair in pairs()} - asked
    assert all(entry.since > LATEST for entry in implemented() if entry.name in later)


def test_single_cases_are_about_documented_codes() -> None:
    documented = {f"{pair.name}.{pair.code}" for pair in pairs()}
    assert [step for step in items(CASES) if step.rpartition(".")[0] not in documented] == []


def test_valid_arguments_name_parameters_and_objects() -> None:
    assert unknown() == []
    values = [value for values in TABLE.values() for value in values.values()]
    kinds = {value for value in values if isinstance(value, str)}.union(NODES.values(), ENDS)
    assert kinds - MAKERS.keys() == set()
