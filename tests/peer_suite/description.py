"""Description of a suite: the tests of one library, its expected outcomes and its page of results."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@dataclass(frozen=True)
class Suite:
    """The tests of a library."""

    name: str
    """Target of the Makefile that runs the suite; name of its page in ``docs/results``."""
    library: str
    folder: Path
    """Folder with ``expected.toml`` and ``reasons.toml``."""
    package: str
    """Package of the test modules. Names of modules omit it."""
    head: str
    """Start of the page of results, with the fields ``versions``, ``passed``, ``run``, ``percent``, ``skipped`` and ``failed``."""
    libraries: tuple[str, ...]
    """Distributions whose versions decide the set of tests."""
    needed: tuple[str, ...]
    """Packages that the tests import. Nothing runs if one of them, or of the libraries, is not available for this version of Python."""
    installed_by: str
    modules: Callable[[], list[str]]
    """Names of all modules of the suite."""
    forked_with: tuple[str, ...]
    """Modules that are imported once, before the process of each test module is forked. They must not call the driver."""
    longest: tuple[str, ...] = ()
    """The slowest modules. They start first, to shorten the whole run."""
    options: tuple[str, ...] = ()
    """Further options of pytest."""
    parts: Mapping[str, int] = field(default_factory=dict)
    """Of each of these modules, every ``n``-th test runs, where ``n`` is the smallest odd number that leaves at most so many tests."""

    def interval(self, module: str, tests: int) -> int:
        """Return ``n`` if every ``n``-th test of a module with so many tests runs. Parameters often come in pairs, so it is odd."""
        most = self.parts.get(module, tests)
        return next(interval for interval in itertools.count(1, 2) if -(-tests // interval) <= most)

    @property
    def expected(self) -> Path:
        return self.folder / "expected.toml"

    @property
    def reasons(self) -> Path:
        return self.folder / "reasons.toml"

    @property
    def page(self) -> Path:
        return RESULTS / f"{self.name}.md"

    def versions(self) -> dict[str, str]:
        """Return the versions of Python and of the libraries; of a library that is not installed, an empty text."""
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        return {"python": python, **{library: _version(library) for library in self.libraries}}

    def missing(self) -> list[str]:
        packages = [package for package in self.needed if importlib.util.find_spec(package) is None]
        return packages + [library for library in self.libraries if not _version(library)]


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ""
