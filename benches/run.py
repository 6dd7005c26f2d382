"""Measures what cuarray costs, beside what other libraries cost in the same run; prints medians and ratios.

    python benches/run.py

Without a CUDA driver it runs on the simulated one, and says so. That changes little here: an import asks the driver for
nothing in cuarray, and in the others where the text says so.
"""

import platform
import sys

import exporting
import importing
import peers
from measure import ROUNDS, side_by_side

import cuarray


def driver():
    """The driver in use, as a sentence."""
    try:
        return f"CUDA driver: {cuarray.driver_path()}"
    except cuarray.CudaError:
        import cuarray_sim

        cuarray_sim.install()
        return f"CUDA driver: simulated, since no real one answers here ({cuarray.driver_path()})"


def table(title, columns, ours):
    """Prints a row for each call, a time and its ratio to ours for each column."""
    names = list(next(iter(columns.values())))
    width = max(map(len, names))
    print(f"\n{title}")
    print(" " * width + "".join(f"  {column:>22}" for column in columns))
    for name in names:
        line = name.ljust(width)
        for times in columns.values():
            ratio = f"{times[name].ratio_to(times[ours]):.2f} x"
            line += f"  {times[name].median:>8.0f} ns {ratio:>10}"
        print(line, flush=True)
    widest = max(each.spread for times in columns.values() for each in times.values())
    print(f"(the middle half of the rounds lies within {widest:.0%} of the median, in the worst case)")


def main():
    print(driver())
    _, absent = peers.load()
    print(
        f"Python {platform.python_version()}, cuarray {cuarray.__version__}; medians of {ROUNDS} rounds, each call in turn"
    )
    for name, reason in absent.items():
        print(f"without {name}: {reason}")

    columns = {}
    for name, obj in importing.objects().items():
        print(f"importing, {name} ...", file=sys.stderr, flush=True)
        columns[name] = side_by_side(importing.calls(obj))
    table("Importing an object with a ready-made dictionary, without waiting", columns, importing.OURS)
    print("(cuda.core asks the driver on which device the pointer is; numba sees to the current context)")

    columns = {}
    for name, form in exporting.arrays().items():
        print(f"exporting, {name} ...", file=sys.stderr, flush=True)
        columns[name] = side_by_side(exporting.calls(form))
    table("Exporting: reading __cuda_array_interface__", columns, exporting.OURS)


if __name__ == "__main__":
    main()
