"""The folder of built modules beside CuPy: it appears as a whole, is replaced as a whole, or stays as it was."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from .finder import BUILT, FOLDER, MODULES, built_modules
from .release import BuildError, Installed

__all__ = ["missing_modules", "place", "try_imports", "undo"]


def missing_modules(installed: Installed, modules: Iterable[str]) -> list[str]:
    """Return those of some modules that are not built yet for this CuPy and this Python."""
    built = built_modules(installed.packages)
    return [name for name in modules if MODULES[name] not in built]


def place(installed: Installed, built: Path, check: Callable[[], None]) -> None:
    """Put the files of a folder beside CuPy, with those that were built before for the same version.

    :raises BuildError: the folder cannot be written, or the check fails. The folder is as it was before, then.
    """
    folder = installed.packages / FOLDER
    try:
        with tempfile.TemporaryDirectory(dir=installed.packages, prefix=f".{FOLDER}-") as temporary:
            made, before = Path(temporary) / "made", Path(temporary) / "before"
            made.mkdir()
            for file in [*_kept(installed), *sorted(built.iterdir())]:
                shutil.copyfile(file, made / file.name)
            record = {"distribution": installed.distribution, "version": installed.version}
            (made / BUILT).write_text(json.dumps(record) + "\n", encoding="utf-8")
            if folder.exists():
                folder.rename(before)
            try:
                made.rename(folder)
                check()
            except BaseException:
                if folder.exists():
                    folder.rename(made)
                if before.exists():
                    before.rename(folder)
                raise
    except OSError as error:
        raise BuildError(f"{folder} cannot be written: {error.strerror or error}; it is as it was before") from None


def _kept(installed: Installed) -> list[Path]:
    """Return the files that were built before, for any version of Python, if they fit the installed CuPy."""
    folder = installed.packages / FOLDER
    try:
        record = json.loads((folder / BUILT).read_text(encoding="utf-8"))
        fits = (record["distribution"], record["version"]) == (installed.distribution, installed.version)
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return sorted(folder.glob("*.so")) if fits else []


def try_imports(modules: Iterable[str]) -> None:
    """Import modules of CuPy on the simulated driver, in another process.

    :raises BuildError: an import fails, or gets a released module.
    """
    names = [MODULES[name] for name in modules]
    done = subprocess.run(
        [sys.executable, "-m", f"{__package__}.check", *names],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-8:])
        raise BuildError(f"the built modules cannot be imported on the simulated driver:\n{last}")


def undo(packages: Path) -> Path | None:
    """Remove the built modules beside CuPy; return their folder, or None if there was none.

    :raises BuildError: the folder cannot be removed.
    """
    folder = packages / FOLDER
    if not folder.exists():
        return None
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise BuildError(f"{folder} cannot be removed: {error.strerror or error}") from None
    return folder
