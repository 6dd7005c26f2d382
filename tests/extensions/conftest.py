"""What the tests of extension modules need: the modules, which cargo builds."""

from __future__ import annotations

import importlib.util

# `make extensions` builds them; where there is no cargo, as beside a GPU, these tests are left out.
collect_ignore_glob = [] if importlib.util.find_spec("typed_views") else ["test_*.py"]
