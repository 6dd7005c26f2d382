"""Awkward arrays as a fixture of pytest.

A ``conftest.py`` takes it over by its name: ``from cuarray.testing.fixtures import awkward_array``. A test with this argument then runs once
for each of :data:`cuarray.testing.ARRAYS`, with the name of the array in its id.
"""

from __future__ import annotations

import pytest

from cuarray.testing.arrays import ARRAYS, Array, array

__all__ = ["awkward_array"]


@pytest.fixture(params=ARRAYS)
def awkward_array(request: pytest.FixtureRequest) -> Array:
    """An array of no library, with an awkward layout, and its elements on the host as ``awkward_array.host``."""
    return array(request.param)
