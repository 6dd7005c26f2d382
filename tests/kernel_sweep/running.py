"""Run right kernels and their weakened variants in a process with the simulated driver.

    python -m cuarray_sim -m kernel_sweep.running FOLDER

The folder has the PTX of each file. Standard output is one JSON object: the findings of each kernel and of each variant, or
the error of its launch.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from racy_kernels.kernels import sources
from racy_kernels.running import Launcher, difference, order, races

from .reasons import NOT_REACHED
from .weakening import cut, variants

KERNELS = Path(__file__).parent / "kernels"


def main(folder: Path) -> None:
    """Run all kernels and variants, and print the results."""
    launcher, results = Launcher(), {}
    for source in sources(KERNELS):
        module = cut((folder / f"{source.path.stem}.ptx").read_bytes(), source.name)
        errors: dict[str, str | None] = {}
        for kernel in (kernel for kernel in source.kernels if order() in kernel.orders):
            weaker = list(variants(module, kernel.name))
            weaker += [each.trapped() for each in weaker if each.name in NOT_REACHED.get(kernel.name, ())]
            ptx = module.with_variants(weaker, kernel.name)
            loaded = launcher.load(ptx)
            for symbol in (kernel.name, *(variant.symbol for variant in weaker)):
                try:
                    buffers = launcher.run(loaded, kernel, symbol)
                    errors[symbol] = difference(kernel, buffers) if symbol == kernel.name else None
                except RuntimeError as error:
                    # The context is of no more use.
                    errors[symbol] = str(error)
                    launcher.check(launcher.driver.cuDevicePrimaryCtxReset(0))
                    launcher = Launcher(launcher)
                    loaded = launcher.load(ptx)
            launcher.check(launcher.driver.cuModuleUnload(loaded))
        found = races(launcher, source.name)
        for symbol, error in errors.items():
            results[symbol] = {"findings": found.pop(symbol, []), "error": error}
        assert not found, f"findings of other kernels: {found}"
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
