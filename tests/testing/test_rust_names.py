"""The crate cuarray-testing has the arrays of cuarray.testing, by name."""

from __future__ import annotations

import re
from pathlib import Path

from cuarray.testing import ARRAYS

SOURCE = Path(__file__).parents[2] / "crates/cuarray-testing/src/awkward.rs"


def test_crate_has_the_arrays_of_the_package() -> None:
    listed = SOURCE.read_text().partition("pub const AWKWARD")[2]
    assert tuple(re.findall(r'(?:plain|typed)\(\s*"([\w-]+)"', listed)) == tuple(ARRAYS)
