"""Labels of CuPy's images: their kernels race by the letter of the memory model, and cannot give another result."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

IMAGE = np.random.default_rng(7).random((24, 24)) > 0.45


def labelled(cp: Any) -> tuple[np.ndarray, int]:
    from cupyx.scipy import ndimage

    labels, count = ndimage.label(cp.asarray(IMAGE))
    return labels.get(), count


def components() -> int:
    """The components of the image, counted on the host."""
    seen, found = np.zeros(IMAGE.shape, bool), 0
    for start in zip(*np.nonzero(IMAGE), strict=True):
        pending, found = [start], found + (not seen[start])
        while pending:
            row, column = pending.pop()
            inside = 0 <= row < IMAGE.shape[0] and 0 <= column < IMAGE.shape[1]
            if inside and IMAGE[row, column] and not seen[row, column]:
                seen[row, column] = True
                pending += [(row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)]
    return found


PROGRAM = """
import cupy, cupyx.scipy.ndimage
print(cupyx.scipy.ndimage.label(cupy.asarray([[1, 1, 0], [0, 1, 1], [1, 0, 1]]))[1])
"""


def test_strict_check_finds_the_races(cp: Any, tmp_path: Path) -> None:
    (tmp_path / "label.py").write_text(PROGRAM)
    environment = os.environ | {"CUARRAY_SIM_KERNEL_RACES": "strict"}
    command = [sys.executable, "-m", "cuarray_sim", str(tmp_path / "label.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (66, "2\n"), done.stderr
    assert "label_connect race" in done.stderr


def test_labels_have_no_finding(cp: Any) -> None:
    labels, count = labelled(cp)
    assert count == components() == len(np.unique(labels[labels > 0]))
    assert ((labels > 0) == IMAGE).all()


def test_neighbours_have_the_same_label(cp: Any) -> None:
    labels, _ = labelled(cp)
    for one, other in ((labels[1:], labels[:-1]), (labels[:, 1:], labels[:, :-1])):
        both = (one > 0) & (other > 0)
        assert (one[both] == other[both]).all()
