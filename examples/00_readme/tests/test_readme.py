"""README.md shows the source of this extension module, and the module behaves as README.md states."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numba import cuda
from scaled import scale

HERE = Path(__file__).parents[1]


def test_readme_shows_this_source_file() -> None:
    readme = (HERE.parents[1] / "README.md").read_text()
    assert "```rust,ignore\n" + (HERE / "src" / "lib.rs").read_text() + "```\n" in readme


def test_scale_multiplies_float32_arrays_and_refuses_others() -> None:
    x = cuda.to_device(np.arange(4, dtype=np.float32))
    scale(x[::2], 10)
    assert x.copy_to_host().tolist() == [0, 1, 20, 3]
    scale(x, 2, cuda.stream())
    assert x.copy_to_host().tolist() == [0, 2, 40, 6]
    with pytest.raises(BufferError, match="the elements are '<i8'; '<f4' is expected"):
        scale(cuda.to_device(np.arange(4)), 10)
