"""docs/reference/troubleshooting.md has an entry for each message that the simulator prints."""

from __future__ import annotations

import pytest
from project import messages
from project.messages import ROOT, fixed_parts

PAGE = " ".join((ROOT / "docs/reference/troubleshooting.md").read_text(encoding="utf-8").replace("`", "").split())
ALL = {**messages.rust_messages(), **messages.python_messages()}


@pytest.mark.parametrize("file", sorted(ALL))
def test_each_message_of_the_file_has_an_entry(file: str) -> None:
    parts = {part for text in ALL[file] for part in fixed_parts(text)}
    missing = {part for part in parts - messages.OTHERS if part not in PAGE}
    assert not missing, f"{file}: explain these messages in docs/reference/troubleshooting.md: {sorted(missing)}"


def test_each_file_that_prints_has_messages_that_are_read() -> None:
    """A file that prints texts of other files is listed in PASSED_ON, with the files that make them."""
    assert messages.printing_files() <= {*messages.rust_messages(), *messages.PASSED_ON}
    alone = {
        file
        for file, texts in messages.rust_messages().items()
        if any(messages.PREFIX.match(text) and not fixed_parts(text) for text in texts)
    }
    assert alone - {*messages.PASSED_ON} == set()
    assert {*messages.PASSED_ON} <= messages.printing_files()


def test_known_messages_are_read() -> None:
    found = {text for texts in ALL.values() for text in texts}
    assert any("another CUDA driver is already loaded" in text for text in found)
    assert any("machine code was refused" in text for text in found)
    assert any("nothing was suppressed by" in text for text in found)


def test_each_text_that_is_left_out_is_in_the_sources() -> None:
    assert {part for texts in ALL.values() for text in texts for part in fixed_parts(text)} >= messages.OTHERS


def test_places_split_a_message_into_its_fixed_parts() -> None:
    assert fixed_parts("cuarray-sim: {name} waits for {} s; call `f` of it {{15}}") == [
        "waits for",
        "s; call f of it {15}",
    ]
