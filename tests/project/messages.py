"""The texts that the simulator prints, read from its sources: the fixed parts of each message."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SIMULATOR = ROOT / "crates" / "cuarray-sim" / "src"
PACKAGE = ROOT / "python" / "cuarray-sim" / "cuarray_sim"

# Places that print a text of another place, and the files that make these texts.
PASSED_ON = {
    "cuarray-cudart/src/trace.rs": "itself",
    "cuarray-sim/src/driver.rs": "config/, explain()",
    "cuarray-sim/src/execution/chosen.rs": "itself, schedule/scheduler.rs",
    "cuarray-sim/src/execution/mod.rs": "copy/work.rs",
    "cuarray-sim/src/exports/export_table.rs": "itself",
    "cuarray-sim/src/launch/failures.rs": "itself",
    "cuarray-sim/src/launch/work.rs": "assertions of kernels",
    "cuarray-sim/src/process/exit.rs": "process/summary.rs",
    "cuarray-testing/src/extension/mod.rs": "names of cases",
    "cuarray-toolchain/src/bin/ptxas.rs": "NVIDIA's formats",
}
# Every sentence of these files may be printed.
TEXTS = (
    *("config/environment.rs", "config/mod.rs", "exports/export_table.rs", "module/jit.rs", "execution/chosen.rs"),
    *(
        "process/summary.rs",
        "schedule/choices.rs",
        "schedule/mod.rs",
        "schedule/scheduler.rs",
        "launch/failures.rs",
    ),
)
# Fixed parts of these files that no program prints on standard error.
OTHERS = {
    "application ptx input",  # a part of the log of the linker
    # Read from PyTorch.
    "no kernel image",
    "RNN module weights are not part of single contiguous chunk",
    "python -m cuarray_sim",  # the name of the command
    # Descriptions of markers.
    "(expect=kind, allow=kind): on the simulated CUDA driver, the test fails unless there is a finding of the expected kind; "
    "findings of an allowed kind are ignored",
    ": the test may leave objects alive on the simulated CUDA driver",
    # Parts of a notebook's output.
    '" style="width: 100%; height: 30em; border: 1px solid gray"></iframe>',
    "<details><summary>picture</summary>",
    '<iframe srcdoc="',
    r"^( *)(?:in thread .*?, |launched )?at (.+?):(\d+)(?: in |,|$).*$",
}

PREFIX = re.compile(r"\Acuarray[-a-z]*: ")
RUST = re.compile(
    r"//[^\n]*|b?c?r(?P<hashes>#*)\".*?\"(?P=hashes)|[bc]?\"(?P<text>(?:\\.|[^\"\\])*)\"|b?'(?:\\.[^']*|[^'\\\n])'",
    re.DOTALL,
)
PLACE = re.compile(r"(?<!\{)\{[^{}]*\}")


def rust_texts(file: Path) -> Iterator[tuple[str, bool]]:
    """The string literals of a Rust file without its tests, and whether each is an argument of `explain`."""
    text = file.read_text(encoding="utf-8").split("#[cfg(test)]\nmod")[0]
    for found in RUST.finditer(text):
        if found["text"] is not None:
            literal = re.sub(r"\\\n\s*", "", found["text"]).replace("\\n", "\n").replace('\\"', '"')
            before = text[: found.start()]
            yield literal, bool(re.search(r"\.explain\(\s*(?:&format!\(\s*)?\Z", before[-60:]))


def rust_files() -> list[Path]:
    """The sources of the crates that print, without tests."""
    return [
        file
        for file in sorted(ROOT.glob("crates/*/src/**/*.rs"))
        if "tests" not in file.parts and file.parent != ROOT / "crates" / "cuarray" / "src" / "error"
    ]


def rust_messages() -> dict[str, set[str]]:
    """The messages of each Rust file that has any."""
    found: dict[str, set[str]] = {}
    for file in rust_files():
        sentences = file.is_relative_to(SIMULATOR) and str(file.relative_to(SIMULATOR)) in TEXTS
        texts = {
            text
            for text, explains in rust_texts(file)
            if explains or PREFIX.match(text) or (sentences and len(text.split()) > 2)
        }
        if texts:
            found[str(file.relative_to(ROOT / "crates"))] = texts
    return found


def printing_files() -> set[str]:
    """The Rust files that write to standard error."""
    pattern = re.compile(r"^[^/\n]*(?:\beprint(?:ln)?!|\bstderr\(\)|\bSTDERR_FILENO\b)", re.MULTILINE)
    return {
        str(file.relative_to(ROOT / "crates"))
        for file in rust_files()
        if pattern.search(file.read_text(encoding="utf-8").split("#[cfg(test)]\nmod")[0])
    }


def python_texts(code: str) -> set[str]:
    """The strings of a module, with `{}` for each value, without docstrings, the texts of `--help` and arguments of decorators."""
    tree = ast.parse(code)
    left_out: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            left_out.add(node.value)
        if isinstance(node, ast.keyword) and node.arg in ("help", "description", "epilog", "metavar", "usage"):
            left_out |= {*ast.walk(node.value)}
        if isinstance(node, ast.FunctionDef):
            left_out |= {each for decorator in node.decorator_list for each in ast.walk(decorator)}
        if isinstance(node, ast.JoinedStr):
            left_out |= {part for part in node.values if isinstance(part, ast.Constant)}
    found = set()
    for node in ast.walk(tree):
        if node in left_out:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            found.add("".join(str(part) for part in parts))
    return {text for text in found if len(text.split()) > 2}


def python_messages() -> dict[str, set[str]]:
    """The messages of each module of the package that has any."""
    found = {file: python_texts(file.read_text(encoding="utf-8")) for file in sorted(PACKAGE.rglob("*.py"))}
    return {str(file.relative_to(PACKAGE)): texts for file, texts in found.items() if texts}


def fixed_parts(message: str) -> list[str]:
    """The parts of a message between its places, of two words or more, each in one line and without backticks."""
    pieces = [piece for line in PLACE.split(PREFIX.sub("", message)) for piece in line.split("\n")]
    plain = [" ".join(piece.replace("`", "").replace("{{", "{").replace("}}", "}").split()) for piece in pieces]
    return [piece for piece in plain if len(re.findall(r"\w{2,}", piece)) > 1]
