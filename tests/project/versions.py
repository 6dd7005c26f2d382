"""The tables of docs/reference/versions.md, from the manifests, the workflow and requirements/."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .what_runs import ROOT, source, table

# Files of requirements with the libraries and with NVIDIA's tools; the others have tools of this project.
FILES = (
    "peers",
    "cupy",
    "torch",
    "all",
    "bench",
    "nvcc",
    "nvjitlink",
    "pylibcudf",
    "distributed",
    "rmm",
    "warp",
    "mpich",
    "test",
)
# NVIDIA's parts that the tests use, apart from libraries.
TOOLS = ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12", "nvidia-cuda-nvrtc", "nvidia-nvjitlink", "nvidia-nvvm")
# Dependencies that two environments have in two versions. No table shows them.
APART = ("rapids-logger",)
CRATES = ("cudarc", "dlpark", "burn-cuda")


def read(file: str, pattern: str) -> str:
    """Return the one group of a pattern in a file."""
    found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert found, f"{file} has no {pattern}"
    return found[1]


def pinned() -> dict[str, str]:
    """Return the version of each package."""
    found: dict[str, str] = {}
    for name in FILES:
        for line in (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8").splitlines():
            requirement = re.match(r"([\w.-]+)==([\w.]+)(?: --hash\S*)?(?:;|$)", line)
            if requirement:
                version = found.setdefault(requirement[1], requirement[2])
                assert version == requirement[2] or requirement[1] in APART, f"{requirement[1]} has two versions"
    return found


def crates() -> Iterator[str]:
    """The crates of the examples, with their versions."""
    manifests = "\n".join(file.read_text(encoding="utf-8") for file in sorted(ROOT.glob("examples/rust/*/Cargo.toml")))
    for crate in CRATES:
        found = re.search(rf'^{crate} = (?:\{{ version = )?"=([\d.]+)"', manifests, re.MULTILINE)
        assert found, crate
        yield f"{crate} {found[1]}"


def tables() -> dict[str, str]:
    """Return the tables by the names that the page gives their places."""
    versions = pinned()
    workflow = ".github/workflows/ci.yml"
    newest_python = read(workflow, r'python-version: "([\d.]+)"')
    hosted = [*re.findall(r"\d\.\d+", read(workflow, r"python: \[(.*)\]")), newest_python]
    pythons = sorted(hosted, key=lambda version: [int(part) for part in version.split(".")])
    driver = int(read("crates/cuarray-sim/src/config/mod.rs", r"driver_version: (\d+)"))
    oldest_python = read("python/cuarray/pyproject.toml", r'requires-python = ">=([\d.]+)"')
    rust, glibc = read("Cargo.toml", r'^rust-version = "(.*)"'), read("Makefile", r"^GLIBC := (.*)$")
    needs = [
        ("Python", f"{oldest_python} or later; one wheel for all (`abi3`)", ", ".join(pythons)),
        ("Rust", f"{rust} or later", "that version and the newest"),
        ("PyO3, for extension modules", read("Cargo.toml", r'^pyo3 = "(.*)"'), "the same"),
        ("glibc", f"{glibc} or later, for the wheels", "that of Ubuntu 24.04"),
        ("NumPy", "optional", versions["numpy"]),
        ("pytest, for `--cuarray-sim`", "optional", versions["pytest"]),
    ]
    libraries = [
        (row["name"], ", ".join(f"{each} {versions[each]}" for each in row["packages"]))
        for row in source()["library"]
        if "packages" in row
    ]
    return {
        "versions": table(("part", "needed", "tested"), needs),
        "versions-of-cuda": table(
            ("part", "version"),
            [
                ("the driver that the simulator claims to be", f"{driver // 1000}.{driver % 1000 // 10}"),
                ("NVIDIA's files in tests", ", ".join(f"{each} {versions[each]}" for each in TOOLS)),
            ],
        ),
        "versions-of-libraries": table(
            ("library", "version"), [*libraries, ("Rust crates of the examples", ", ".join(crates()))]
        ),
    }
