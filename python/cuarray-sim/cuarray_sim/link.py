"""The command ``python -m cuarray_sim.link FOLDER``: names by which ``-lcublas`` and the like find the stand-ins when a program is linked.

The linker looks for ``libcublas.so``, and NVIDIA's wheels have that name for no library. The command makes links from such names to the
driver, the runtime and the other stand-ins. Only linking needs the folder: the program asks for ``libcublas.so.13`` when it runs.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from .library import library_path
from .stand_ins import STAND_INS

__all__ = ["link_names", "main"]

PROGRAM = "python -m cuarray_sim.link"


def link_names(folder: Path, cuda: int = 13) -> list[Path]:
    """Make the links of a major version of CUDA in a folder, which is made if it is missing. Links that are there are replaced.

    :raises FileExistsError: a name is that of a file which is no link.
    """
    folder.mkdir(parents=True, exist_ok=True)
    links = []
    for name, library in _libraries(cuda).items():
        link = folder / name
        if link.exists() and not link.is_symlink():
            raise FileExistsError(f"{link} is a file, and no link that this command made")
        link.unlink(missing_ok=True)
        link.symlink_to(library)
        links.append(link)
    return links


def _libraries(cuda: int) -> dict[str, Path]:
    """Return the file of each library of a major version, by its name for the linker."""
    libraries = {"libcuda.so": library_path()}
    for stand_in in STAND_INS:
        versions = [file for file in stand_in.files if re.search(r"\.so\.\d+$", file)]
        # The first file is that of CUDA 13. A library with one file serves both.
        if versions and (stand_in.path / (file := versions[0 if cuda == 13 else -1])).is_file():
            libraries[f"{file.partition('.so')[0]}.so"] = stand_in.path / file
    return libraries


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the links, and print the option of the linker. An error ends the program with the status 2."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Link names such as libcublas.so, for nvcc and other linkers, to the libraries of cuarray-sim. "
        "The folder is printed as an option: -LFOLDER.",
    )
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help="the folder of the names; it is made if it is missing"
    )
    parser.add_argument(
        "--cuda", type=int, choices=(12, 13), default=13, help="the major version of CUDA (default: 13)"
    )
    options = parser.parse_args(arguments)
    try:
        link_names(options.folder, options.cuda)
    except OSError as error:
        parser.exit(2, f"{PROGRAM}: {error}\n")
    print(f"-L{options.folder}")


if __name__ == "__main__":
    main()
