"""What the tests of extension modules need: the modules, which cargo builds."""

from __future__ import annotations

import importlib.util

import pytest

if importlib.util.find_spec("typed_views") is None:
    pytest.skip("the extension modules are not built (`make extensions` builds them)", allow_module_level=True)
