"""The options of ``pytest --pyargs cuarray.check --library ADAPTER``.

pytest loads this module in every run of an environment with cuarray, so it imports nothing.
"""

from __future__ import annotations

from typing import Any

__all__ = ["pytest_addoption"]


def pytest_addoption(parser: Any) -> None:
    """Add the options of the conformance kit."""
    group = parser.getgroup("cuarray", "conformance kit of cuarray")
    group.addoption(
        "--library",
        action="append",
        default=[],
        metavar="ADAPTER",
        help="check this library with `--pyargs cuarray.check`: a module path, or the name of a shipped adapter",
    )
    group.addoption("--library-timeout", type=float, default=30.0, metavar="S", help="seconds for each check (30)")
