"""Weaken each synchronizing instruction of right kernels in turn, and write docs/results/kernel-sweep.md.

PYTHONPATH=tests python -m kernel_sweep
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from generated import differences
from racy_kernels.kernels import Source, sources
from racy_kernels.running import compile_ptx
from racy_kernels.scoreboard import MODES, start_all

from .reasons import ACCEPTED, MISSED, NOT_REACHED, UNNEEDED
from .running import KERNELS
from .weakening import Variant, cut, variants

PAGE = Path(__file__).parents[2] / "docs" / "results" / "kernel-sweep.md"
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "kernels.md"
# Each instruction of a loop is in the PTX once.
MACROS = '#define for _Pragma("unroll 1") for\n'

INTRODUCTION = """\
# The barrier-removal sweep

`make kernel-sweep UPDATE=1` writes this page. Each kernel (`tests/kernel_sweep/kernels/`) runs without findings in both modes, and its
results are checked. The sweep then weakens one instruction of its PTX at a time. It removes a barrier, a fence, a wait or a commit. It
narrows the scope of a fence, an atomic operation or an access to the block. It makes acquiring and releasing operations relaxed, strong
accesses plain, and an atomic operation a load and a store. The simulated driver must report a finding, or the launch must fail. `make sweep` does this
for [the calls that order streams](sweep.md).

Each weakened instruction that is not found has one of these verdicts:

- *accepted*: only the strict mode reports it, because the default mode accepts [an idiom](../reference/kernels.md#default-and-strict).
- *not needed*: the kernel is right without it.
- *not executed*: this launch does not reach the instruction. The sweep puts a trap in its place, and the launch does not fail.
- *missed*: the simulator should report it.
"""


@dataclass
class Swept:
    """A kernel with the results of its variants."""

    source: Source
    name: str
    variants: list[Variant]
    runs: dict[str, dict[str, Any]]
    """By mode, the finding or error of each variant and of the kernel itself."""

    def found(self, mode: str, symbol: str) -> bool:
        run = self.runs[mode][symbol]
        return bool(run["findings"] or run["error"])

    def verdict(self, variant: Variant) -> str:
        """Return the verdict of a variant: ``found`` in both modes, or one of those of the page."""
        found = {mode: self.found(mode, variant.symbol) for mode in MODES}
        if all(found.values()):
            return "found"
        if found["strict"] and variant.name in ACCEPTED.get(self.name, ()):
            return "accepted"
        if variant.name in UNNEEDED.get(self.name, ()):
            return "not needed"
        return "not executed" if variant.name in NOT_REACHED.get(self.name, ()) else "missed"

    def is_stale(self, variant: Variant, verdict: str) -> bool:
        """Whether a reason for this verdict is not that of the variant."""
        if verdict in ("not needed", "not executed") and any(self.found(mode, variant.symbol) for mode in MODES):
            return True
        return self.verdict(variant) != verdict


def run_all() -> list[Swept]:
    """Compile the kernels, and run them and their variants in each mode."""
    swept = []
    with tempfile.TemporaryDirectory() as name:
        folder, files = Path(name), sources(KERNELS)
        with ThreadPoolExecutor(2) as pool:
            modules = pool.map(lambda source: compile_ptx(source.build(False, MACROS), source.name), files)
            for source, ptx in zip(files, modules, strict=True):
                (folder / f"{source.path.stem}.ptx").write_bytes(ptx)
            orders = {order for source in files for kernel in source.kernels for order in kernel.orders}
            run = partial(start_all, "kernel_sweep.running", folder, orders=orders)
            runs = dict(zip(MODES, pool.map(run, MODES), strict=True))
        for source in files:
            module = cut((folder / f"{source.path.stem}.ptx").read_bytes(), source.name)
            for kernel in source.kernels:
                weaker = list(variants(module, kernel.name))
                swept.append(Swept(source, kernel.name, weaker, runs))
    return swept


REASONS = {"accepted": ACCEPTED, "not needed": UNNEEDED, "not executed": NOT_REACHED, "missed": MISSED}


def complaints(swept: list[Swept]) -> list[str]:
    """Return what is wrong in any case: kernels that are not clean, and reasons that do not hold."""
    found = []
    kernels = {kernel.name: kernel for kernel in swept}
    for kernel in swept:
        for mode in MODES:
            if kernel.found(mode, kernel.name):
                found.append(f"{mode}: {kernel.name} is not clean: {kernel.runs[mode][kernel.name]}")
    for verdict, reasons in REASONS.items():
        for name in reasons.keys() - kernels.keys():
            found.append(f"{name}: there is no such kernel, but a reason why something is {verdict}")
        for kernel in (kernels[name] for name in reasons.keys() & kernels.keys()):
            variants_of = {variant.name: variant for variant in kernel.variants}
            for name in reasons[kernel.name]:
                if name not in variants_of:
                    found.append(f"{kernel.name}: there is no variant {name}, but a reason why it is {verdict}")
                elif kernel.is_stale(variants_of[name], verdict):
                    found.append(
                        f"{kernel.name}: {name} is {kernel.verdict(variants_of[name])}, but has a reason why it is {verdict}"
                    )
                elif verdict == "not executed":
                    symbol = variants_of[name].trapped().symbol
                    found += [
                        f"{mode}: {kernel.name}: {name} is executed" for mode in MODES if kernel.found(mode, symbol)
                    ]
    idioms = {
        line.split(" | ")[0].removeprefix("| ") for line in REFERENCE.read_text().splitlines() if line.startswith("| ")
    }
    for idiom in {idiom for reasons in ACCEPTED.values() for idiom in reasons.values()} - idioms:
        found.append(f"{REFERENCE.name} has no idiom {idiom!r}")
    return sorted(found)


def page(swept: list[Swept]) -> str:
    """Return the page with the results."""
    total = sum(len(kernel.variants) for kernel in swept)
    counts = {
        mode: sum(kernel.found(mode, each.symbol) for kernel in swept for each in kernel.variants) for mode in MODES
    }
    verdicts = [(kernel, variant, kernel.verdict(variant)) for kernel in swept for variant in kernel.variants]
    found = " and ".join(f"{count} in the {mode} mode" for mode, count in counts.items())
    rest = ", ".join(f"{sum(verdict == each for *_, each in verdicts)} {verdict}" for verdict in REASONS)
    lines = [INTRODUCTION, f"**{len(swept)} kernels, {total} weakened instructions: {found} found; {rest}.**", ""]
    lines += [f"| kernel | weakened | {' | '.join(f'found, {mode}' for mode in MODES)} | {' | '.join(REASONS)} |"]
    lines += [f"|---|---:|{'---:|' * (len(MODES) + len(REASONS))}"]
    for kernel in swept:
        name = f"[{kernel.name}](../../tests/kernel_sweep/kernels/{kernel.source.name})"
        cells = [sum(kernel.found(mode, variant.symbol) for variant in kernel.variants) for mode in MODES]
        cells += [sum(kernel.verdict(variant) == verdict for variant in kernel.variants) for verdict in REASONS]
        lines.append(f"| {name} | {len(kernel.variants)} | {' | '.join(map(str, cells))} |")
    lines += [
        "",
        "An instruction is named with its change. The number counts equal changes in the PTX of the kernel.",
        "",
    ]
    heads = {"accepted": "idiom", "not needed": "reason", "not executed": "", "missed": "reason"}
    for verdict, reasons in REASONS.items():
        columns = ["kernel", "line", "weakened instruction", *([heads[verdict]] if heads[verdict] else [])]
        rows = []
        for kernel, variant, each in verdicts:
            if each == verdict:
                cells = [kernel.name, str(variant.line), f"`{variant.name}`"]
                if verdict == "missed":
                    missed = reasons.get(kernel.name, {}).get(variant.name, "not yet explained")
                    accepted = kernel.found("strict", variant.symbol)
                    cells.append(f"{missed} (only by default)" if accepted else missed)
                elif heads[verdict]:
                    cells.append(reasons[kernel.name][variant.name])
                rows.append(f"| {' | '.join(cells)} |")
        lines += [f"## {verdict.capitalize()}", ""]
        lines += [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}", *rows, ""] if rows else ["None.", ""]
    return "\n".join(lines[:-1]) + "\n"


def main() -> int:
    """Run the sweep, and compare its results with the page."""
    parser = argparse.ArgumentParser(description="Weaken each synchronizing instruction of right kernels.")
    parser.parse_args()
    started = time.monotonic()
    swept = run_all()
    wrong = complaints(swept)
    print("".join(f"{complaint}\n" for complaint in wrong), end="")
    text = page(swept)
    print(
        next(line for line in text.splitlines() if line.startswith("**")).strip("*"),
        f"{time.monotonic() - started:.0f} s",
    )
    shown = differences(PAGE, text)
    print("".join(f"{line}\n" for line in shown), end="")
    return 1 if wrong or shown else 0


if __name__ == "__main__":
    sys.exit(main())
