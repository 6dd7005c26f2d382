"""Weaken each synchronizing instruction of right kernels in turn, and write docs/results/kernel-sweep.md.

    PYTHONPATH=tests python -m kernel_sweep [--update]
"""

from __future__ import annotations

import argparse
import difflib
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from racy_kernels.kernels import Source, sources
from racy_kernels.running import compile_ptx
from racy_kernels.scoreboard import MODES, start

from .running import KERNELS
from .weakening import Variant, cut, variants

PAGE = Path(__file__).parents[2] / "docs" / "results" / "kernel-sweep.md"
REASONS = Path(__file__).parent / "unneeded.toml"
# Each instruction of a loop is in the PTX once.
MACROS = '#define for _Pragma("unroll 1") for\n'

INTRODUCTION = """\
# The sweep over kernels

`make kernel-sweep UPDATE=1` writes this page. Each kernel (`tests/kernel_sweep/kernels/`) runs without findings in both modes, and its
results are checked. The sweep then weakens one instruction of its PTX at a time: it removes a barrier, a fence, a wait or a commit; narrows
the scope of a fence, an atomic operation or an access to the block; makes an acquiring or releasing operation relaxed, a strong access plain,
and an atomic operation a load and a store. The simulated driver must report a finding, or the launch must fail. An instruction that
is not needed is listed with the reason. `make sweep` does this for [the calls that order streams](sweep.md).
"""


@dataclass
class Swept:
    """A kernel with the results of its variants."""

    source: Source
    name: str
    variants: list[Variant]
    runs: dict[str, dict[str, Any]]
    """By mode, the finding or error of each variant and of the kernel itself."""
    reasons: dict[str, str]
    """Why a variant is as good as the kernel."""

    def found(self, mode: str, symbol: str) -> bool:
        run = self.runs[mode][symbol]
        return bool(run["findings"] or run["error"])

    def missed(self, mode: str) -> list[Variant]:
        return [
            variant for variant in self.variants if not self.found(mode, variant.symbol) and variant.name not in self.reasons
        ]


def run_all() -> list[Swept]:
    """Compile the kernels, and run them and their variants in each mode."""
    reasons, swept = tomllib.loads(REASONS.read_text()), []
    with tempfile.TemporaryDirectory() as name:
        folder, files = Path(name), sources(KERNELS)
        with ThreadPoolExecutor(2) as pool:
            modules = pool.map(lambda source: compile_ptx(source.build(False, MACROS), source.name), files)
            for source, ptx in zip(files, modules, strict=True):
                (folder / f"{source.path.stem}.ptx").write_bytes(ptx)
            runs = dict(zip(MODES, pool.map(lambda mode: start("kernel_sweep.running", folder, mode), MODES), strict=True))
        for source in files:
            module = cut((folder / f"{source.path.stem}.ptx").read_bytes(), source.name)
            for kernel in source.kernels:
                weaker = list(variants(module, kernel.name))
                swept.append(Swept(source, kernel.name, weaker, runs, reasons.pop(kernel.name, {})))
    assert not reasons, f"{REASONS.name} has reasons for unknown kernels: {sorted(reasons)}"
    return swept


def complaints(swept: list[Swept]) -> list[str]:
    """Return what is wrong in any case: kernels that are not clean, and reasons for variants that are found or unknown."""
    found = []
    for kernel in swept:
        for mode in MODES:
            if kernel.found(mode, kernel.name):
                found.append(f"{mode}: {kernel.name} is not clean: {kernel.runs[mode][kernel.name]}")
        names = {variant.name: variant for variant in kernel.variants}
        for name in kernel.reasons:
            if name not in names:
                found.append(f"{kernel.name}: {REASONS.name} names the unknown variant {name}")
            elif any(kernel.found(mode, names[name].symbol) for mode in MODES):
                found.append(f"{kernel.name}: {name} is found, although {REASONS.name} says that it is not needed")
    return found


def page(swept: list[Swept]) -> str:
    """Return the page with the results."""
    total = sum(len(kernel.variants) for kernel in swept)
    unneeded = sum(len(kernel.reasons) for kernel in swept)
    counts = {mode: sum(kernel.found(mode, each.symbol) for kernel in swept for each in kernel.variants) for mode in MODES}
    found = ", ".join(f"{count} found in the {mode} mode" for mode, count in counts.items())
    lines = [INTRODUCTION, f"**{len(swept)} kernels, {total} weakened instructions: {found}, {unneeded} not needed.**", ""]
    lines += [f"| kernel | weakened | {' | '.join(f'found, {mode}' for mode in MODES)} | not needed |"]
    lines += [f"|---|---:|{'---:|' * len(MODES)}---:|"]
    for kernel in swept:
        name = f"[{kernel.name}](../../tests/kernel_sweep/kernels/{kernel.source.name})"
        cells = [str(sum(kernel.found(mode, variant.symbol) for variant in kernel.variants)) for mode in MODES]
        lines.append(f"| {name} | {len(kernel.variants)} | {' | '.join(cells)} | {len(kernel.reasons)} |")
    lines += ["", "## Missed", ""]
    rows = [
        f"| {kernel.name} | `{variant.name}` | {', '.join(mode for mode in MODES if variant in kernel.missed(mode))} |"
        for kernel in swept
        for variant in kernel.variants
        if any(variant in kernel.missed(mode) for mode in MODES)
    ]
    lines += ["| kernel | weakened instruction | missed in |", "|---|---|---|", *rows] if rows else ["None."]
    lines += ["", "## Not needed", "", "| kernel | weakened instruction | reason |", "|---|---|---|"]
    for kernel in swept:
        lines += [f"| {kernel.name} | `{name}` | {reason} |" for name, reason in kernel.reasons.items()]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run the sweep, and compare its results with the page."""
    parser = argparse.ArgumentParser(description="Weaken each synchronizing instruction of right kernels.")
    parser.add_argument("--update", action="store_true", help="write the page")
    options = parser.parse_args()
    started = time.monotonic()
    swept = run_all()
    wrong = complaints(swept)
    print("".join(f"{complaint}\n" for complaint in wrong), end="")
    text = page(swept)
    print(next(line for line in text.splitlines() if line.startswith("**")).strip("*"), f"{time.monotonic() - started:.0f} s")
    if options.update:
        PAGE.write_text(text)
    shown = list(difflib.unified_diff(PAGE.read_text().splitlines(), text.splitlines(), "the page", "this run", lineterm="", n=0))
    print("".join(f"{line}\n" for line in shown), end="")
    return 1 if wrong or shown else 0


if __name__ == "__main__":
    sys.exit(main())
