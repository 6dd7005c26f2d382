"""Packages and sources of a release of Debian, which apt downloads with lists of its own.

This needs no root, and the machine's own packages stay as they are. apt compares each file with the hash in the signed list of the release.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from . import steps

__all__ = ["download", "source", "unpack"]

KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def download(folder: Path, release: str, *packages: str, with_all: bool = False) -> list[Path]:
    """Download packages into a new folder, `with_all` that they depend on. A name may end with an architecture: `python3:arm64`."""
    archives = folder / "archives"
    options = _options(folder, "deb", release)
    architectures = sorted({name.partition(":")[2] for name in packages if ":" in name})
    options += [f"--option=APT::Architectures::={each}" for each in architectures]
    steps.run("apt-get", *options, "update")
    if with_all:
        steps.run("apt-get", *options, "install", "--download-only", "--no-install-recommends", *packages)
    else:
        steps.run("env", "-C", archives, "apt-get", *options, "download", *packages)
    return sorted(archives.glob("*.deb"))


def source(folder: Path, release: str, package: str) -> Path:
    """Download the archive of a package's authors, without Debian's changes, into a new folder."""
    archives = folder / "archives"
    options = _options(folder, "deb-src", release)
    steps.run("apt-get", *options, "update")
    steps.run("env", "-C", archives, "apt-get", *options, "source", "--download-only", "--tar-only", package)
    (archive,) = archives.glob("*.orig.tar.*")
    return archive


def unpack(package: Path, folder: Path, *files: str) -> None:
    """Unpack a package, or some of its files, without the steps of an installation."""
    steps.run("sh", "-c", 'dpkg-deb --fsys-tarfile "$0" | tar -x -C "$@"', package, folder, *files)


def _options(folder: Path, kind: str, release: str) -> list[str]:
    """Return apt's options for a new folder with its own lists, of packages (`deb`) or of sources (`deb-src`)."""
    if not KEYS.exists():
        raise steps.Failure(f"{KEYS} is missing: apt-get install debian-archive-keyring")
    shutil.rmtree(folder, ignore_errors=True)
    archives = folder / "archives"
    for part in (folder / "lists" / "partial", archives / "partial"):
        part.mkdir(parents=True)
    sources = folder / "sources.list"
    sources.write_text(f"{kind} [signed-by={KEYS}] http://deb.debian.org/debian {release} main\n", encoding="utf-8")
    # No package counts as installed.
    (folder / "status").touch()
    places = {
        "Dir::Etc::sourcelist": sources,
        "Dir::State::lists": folder / "lists",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder,
        "Dir::Cache::archives": archives,
    }
    options = [f"--option={name}={place.absolute()}" for name, place in places.items()]
    return [*options, "--option=Dir::Etc::sourceparts=-", "--option=Debug::NoLocking=1", "--quiet=2", "--yes"]
