"""The choice between the two searches for races is made in one place.

``watch.rs`` tells what threads do: accesses, barriers, fences, copies and exits. It passes this to the search by the memory model, whose side
of the machine is ``memory_model.rs``, or to the search by barriers. No other file of the machine asks which one runs.
"""

from __future__ import annotations

import re
from pathlib import Path

MACHINE = Path(__file__).parents[2] / "crates/cuarray-ptx/src/machine"
CHOOSES = {"watch.rs", "memory_model.rs"}
CHOICE = re.compile(r"\.causality\b|\b\w+_causally\b")


def test_only_the_interface_of_the_search_chooses_between_the_two_searches() -> None:
    names = {str(path.relative_to(MACHINE)): path.read_text() for path in MACHINE.rglob("*.rs")}
    choosing = {name: sorted(set(CHOICE.findall(text))) for name, text in names.items() if CHOICE.search(text)}
    elsewhere = {name: found for name, found in choosing.items() if name not in CHOOSES}
    assert choosing.keys() >= CHOOSES
    assert not elsewhere, f"call `watch_…` of watch.rs in place of these: {elsewhere}"
