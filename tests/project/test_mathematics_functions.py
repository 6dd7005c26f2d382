"""The page of the functions of the mathematical libraries, made from the lists of entry points and the recorded names. `UPDATE=1` writes it."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest
from generated import differences

ROOT = Path(__file__).resolve().parents[2]
RECORD = Path(__file__).parent / "mathematics_names.txt"
PAGE = ROOT / "docs/results/mathematics-functions.md"
CRATES = ROOT / "crates"
FILES = {
    "cublas": {12: "libcublas.so.12", 13: "libcublas.so.13"},
    "cublasLt": {12: "libcublasLt.so.12", 13: "libcublasLt.so.13"},
    "cufft": {12: "libcufft.so.11", 13: "libcufft.so.12"},
    "curand": {12: "libcurand.so.10", 13: "libcurand.so.10"},
    "cusolver": {12: "libcusolver.so.11", 13: "libcusolver.so.12"},
    "cusparse": {12: "libcusparse.so.12", 13: "libcusparse.so.12"},
    "cudnn": {12: "libcudnn.so.9", 13: "libcudnn.so.9"},
}
"""The file of each library for each major version of CUDA."""

HEAD = """# Functions of the mathematical libraries

`python -m pytest tests/project/test_mathematics_functions.py` compares this page with the lists of entry points and with the names that NVIDIA's
headers declare; `UPDATE=1` writes it. `tests/support/mathematics_headers.py` recorded the names, from the wheels of cuBLAS 12.9 and 13.10, cuFFT 11.4
and 12.5, cuRAND 10.3 and 10.4, cuSOLVER 11.7 and 12.4, cuSPARSE 12.5 and 12.9, and cuDNN 9.28. Each library exports every function that its headers declare.
`libcublasLt.so.12` also exports those of the header of CUDA 13, and `libcusparse.so.12` those of both. `libcudnn.so.9` also exports names of earlier versions, and refuses them.

"""


XLA = """- XLA of JAX looks functions up by their names. Its wheel holds the names of all functions of these libraries, so a list of those that it calls
  is not known. [Its tests](../../tests/all_libraries/jax) show what runs.
"""


def recorded() -> dict[str, set[str]]:
    """The names by section: a library with a major version of CUDA, or a program that uses the libraries."""
    text = RECORD.read_text(encoding="utf-8")
    sections = re.findall(r"^(\S.*):\n((?: {4}.*\n)*)", text, flags=re.MULTILINE)
    return {title: set(names.split()) for title, names in sections}


def block(text: str, name: str) -> str:
    """The lines of a part of a list of entry points."""
    found = re.search(rf"^( *){name} \{{(?: ([^\n]*)\}}$|\n(.*?)^\1\}})", text, flags=re.MULTILINE | re.DOTALL)
    assert found, name
    return found[2] or found[3]


def names_of(text: str, prefix: str) -> set[str]:
    return set(re.findall(rf"\b{prefix}\w+\b", text))


def cublas(major: int) -> tuple[set[str], set[str]]:
    text = (CRATES / "cuarray-cublas/src/entry_points.rs").read_text(encoding="utf-8")
    works: set[str] = set()
    for part in ("generic", "xt", "handle", "major", "host", *(["handle_13"] if major == 13 else [])):
        for entry in re.findall(r"\) \{ ([^{}]*) \}|^ +[\w:]+: (cublas[^;]*);", block(text, part), flags=re.MULTILINE):
            works |= set("".join(entry).split())
    works |= set(re.findall(r"^ +(cublas\w+)\(", block(text, "raw"), flags=re.MULTILINE))
    return works, names_of(block(text, "refused"), "cublas")


def cublas_lt(_: int) -> tuple[set[str], set[str]]:
    text = (CRATES / "cuarray-cublas/src/lt/entry_points.rs").read_text(encoding="utf-8")
    works = set(re.findall(r"^ +(cublasLt\w+)\(", block(text, "functions"), flags=re.MULTILINE))
    return works, names_of(block(text, "refused"), "cublasLt")


def cufft(major: int) -> tuple[set[str], set[str]]:
    text = (CRATES / "cuarray-cufft/src/entry_points.rs").read_text(encoding="utf-8")
    works: set[str] = set()
    for part in ("functions", "major"):
        works |= set(re.findall(r"\{ (cufft\w+) \}", block(text, part)))
    own = names_of(block(text, f"refused_{major - 1}"), "(?:__)?cufft")
    return works, names_of(block(text, "refused"), "cufft") | own


def curand(_: int) -> tuple[set[str], set[str]]:
    text = (CRATES / "cuarray-curand/src/exports.rs").read_text(encoding="utf-8")
    parts = re.findall(r"^exports! \{\n(.*?)^\}", text, flags=re.MULTILINE | re.DOTALL)
    refused = {name for part in parts if "@refused" in part for name in names_of(part, "curand")}
    works = {name for part in parts for name in re.findall(r"^ {4}(curand\w+)\(", part, flags=re.MULTILINE)}
    return works, refused


def cusolver(major: int) -> tuple[set[str], set[str]]:
    text = (CRATES / "cuarray-cusolver/src/entry_points.rs").read_text(encoding="utf-8")
    lists = "".join(block(text, part) for part in ("generic", "handle", "major"))
    works = set(re.findall(r"\w+: (cusolver\w+);|\{ (cusolver\w+) \}", lists))
    own = names_of(block(text, f"refused_{major - 1}"), "cusolver")
    return {name for pair in works for name in pair if name}, names_of(block(text, "refused"), "cusolver") | own


def cusparse(_: int) -> tuple[set[str], set[str]]:
    text = (CRATES / "cuarray-cusparse/src/entry_points.rs").read_text(encoding="utf-8")
    works = set(
        re.findall(r"\b(cusparse\w+)(?: \}|;)", "".join(block(text, part) for part in ("generic", "handle", "plain")))
    )
    for file in ("exports.rs", "matrix_descriptor.rs"):
        raw = (CRATES / "cuarray-cusparse/src" / file).read_text(encoding="utf-8")
        works |= set(re.findall(r"^(?:extern \"C\" fn | {4})(cusparse\w+)[(:]", raw, flags=re.MULTILINE))
    return works, names_of(block(text, "refused"), "cusparse")


def cudnn(_: int) -> tuple[set[str], set[str]]:
    text = (CRATES / "cuarray-cudnn/src/entry_points.rs").read_text(encoding="utf-8")
    works: set[str] = set()
    for names in re.findall(r"\) \{ ([^{}]*) \}", "".join(block(text, part) for part in ("handle", "plain"))):
        works |= set(names.split())
    raw = (CRATES / "cuarray-cudnn/src/exports.rs").read_text(encoding="utf-8")
    works |= set(re.findall(r"extern \"C\" fn (cudnn\w+)\(", raw))
    return works, names_of(block(text, "refused"), "cudnn")


LISTS = {
    "cublas": cublas,
    "cublasLt": cublas_lt,
    "cufft": cufft,
    "curand": curand,
    "cusolver": cusolver,
    "cusparse": cusparse,
    "cudnn": cudnn,
}


@pytest.mark.parametrize("major", [12, 13])
@pytest.mark.parametrize("library", LISTS)
def test_library_exports_what_the_headers_declare(library: str, major: int) -> None:
    works, refused = LISTS[library](major)
    declared = recorded()[f"{library} {major}"]
    assert len(declared) > 20
    assert works & refused == set()
    assert sorted(declared - works - refused) == []
    # A library may export functions that only the header of the other major version declares.
    others = set.union(*(recorded()[f"{library} {each}"] for each in (12, 13)))
    assert sorted((works | refused) - others) == []


def listing(names: set[str]) -> str:
    text = textwrap.fill(", ".join(sorted(names)), 150, break_long_words=False, break_on_hyphens=False)
    return f"```text\n{text}\n```\n"


def page() -> str:
    rows, refusals = "", ""
    for library, of in LISTS.items():
        files: dict[str, set[str]] = {}
        for major, file in FILES[library].items():
            declared, (works, refused) = recorded()[f"{library} {major}"], of(major)
            if files.get(file) != declared:
                title = f"`{file}`, CUDA {major}" if file in files else f"`{file}`"
                rows += f"| {title} | {len(declared)} | {len(works & declared)} | {len(refused & declared)} |\n"
            files[file] = declared
        refused = set.union(*(of(major)[1] for major in (12, 13)))
        if refused:
            refusals += f"\n`{library}`:\n\n{listing(refused)}"
    users = ""
    for title, names in recorded().items():
        if title.startswith("user "):
            works = set.union(*(of(major)[0] for of in LISTS.values() for major in (12, 13)))
            lacking = f", and lack these:\n\n{listing(names - works)}" if names - works else ".\n"
            users += f"- {title.removeprefix('user ')} asks for {len(names)} functions. The stand-ins implement {len(names & works)}{lacking}"
    return (
        HEAD
        + f"| library | declared | implemented | refused |\n|---|---|---|---|\n{rows}"
        + f"\n## Programs\n\nThe machine code of these wheels leaves functions to the dynamic loader.\n\n{users}"
        + XLA
        + "\n## Refused\n\nA call returns the library's own status for what is not supported, and the first one prints its name on standard error.\n"
        + refusals
    )


def test_page_of_functions_is_that_of_the_lists() -> None:
    assert differences(PAGE, page()) == []
