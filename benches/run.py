"""Measure the cost of cuarray beside other libraries in the same run; print medians and ratios.

    python benches/run.py                                          # everything
    python benches/run.py importing copying                        # some of the subjects; --help lists them
    python benches/run.py --update docs/results/performance.md     # also puts the tables into a page

Without a CUDA driver it runs on the simulated one. That changes little for imports and exports: cuarray makes no driver call to import,
and the others make those that the text requires. Copies are then copies in host memory."""

import argparse
import json
import os
import platform
import sys
from datetime import date
from pathlib import Path

import measure
import peers
from tables import Table, replaced

import cuarray


def driver():
    """Return the driver in use, as a sentence."""
    try:
        return f"CUDA driver: {cuarray.driver_path()}"
    except cuarray.CudaError:
        # Searching for races would slow each driver call.
        os.environ.setdefault("CUARRAY_SIM_FINDINGS", "0")
        import cuarray_sim

        cuarray_sim.install()
        return "CUDA driver: simulated, as there is no real one"


def machine():
    """Return the processor, kernel and versions that the figures depend on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.machine()
    return f"{model}, {os.cpu_count()} cores"


def imports(key, title, objects, calls, own):
    """Measure the calls of each object side by side; return the times by column, and their table."""
    from measure import planned, side_by_side

    columns = {}
    for name, obj in objects.items():
        print(f"{key}, {name} ...", file=sys.stderr, flush=True)
        columns[name] = side_by_side(calls(obj))
    table = Table.of_times(key, title, columns, own)
    table.notes.append(f"Medians of {planned()} rounds, each call in turn; the ratios are to cuarray.")
    return columns, table


def importing():
    """Imports side by side, and the ratio to the fastest peer."""
    import importing as work

    title = "Importing an object with a ready-made dictionary, without waiting"
    columns, table = imports("importing", title, work.objects(), work.calls, work.OWN)
    others = [name for name in columns["1-d"] if name not in (work.OWN, work.FLOOR)]
    if others:
        least = min(min(times[name].ratio_to(times[work.OWN]) for name in others) for times in columns.values())
        table.notes.append(f"cuarray is at least {least:.1f} times as fast as the fastest of the others.")
    floor = [(times[work.OWN].median - times[work.FLOOR].median, name) for name, times in columns.items()]
    table.notes.append(
        "Above the floor, which is reading the attribute: "
        + ", ".join(f"{above:.0f} ns ({name})" for above, name in floor)
        + "."
    )
    table.notes.append("cuda.core asks the driver on which device the pointer is; numba makes its context current.")
    return table


def importing_by_default():
    """The default import of each library, with and without a stream."""
    import importing as work

    title = "Importing an object by the default call of each library"
    _, table = imports("importing-default", title, work.default_objects(), work.default_calls, work.OURS_BY_DEFAULT)
    table.notes.append(
        "With a stream, cuarray and numba wait for it on the host, and cuda.core makes its own stream wait. The stream has no pending work."
    )
    return table


def imports_by_ndim():
    """Imports by number of axes, with the line through them."""
    import by_ndim as work

    print("importing, by number of axes ...", file=sys.stderr, flush=True)
    columns = work.measured()
    lines = {name: work.Line.through(list(medians.items())) for name, medians in columns.items()}
    rows = []
    for ndim in work.NDIMS:
        cells = []
        for name, medians in columns.items():
            cells += [f"{medians[ndim]:.0f} ns", f"{medians[ndim] / lines[name].at(ndim):.2f}"]
        rows.append((f"{ndim}-d", *cells))
    heads = [head for name in columns for head in (name, "of the line")]
    table = Table("ndim", "Importing by number of axes", ["", *heads], rows)
    for name, line in lines.items():
        half = columns[name][16] - columns[name][0]
        whole = columns[name][32] - columns[name][0]
        table.notes.append(
            f"{name}: {line.base:.0f} ns and {line.slope:.1f} ns more for each dimension (least squares); dimensions "
            f"17 to 32 together cost {(whole - half) / half:.2f} times as much as the first 16 (1.00 on a straight line)."
        )
    return table


def exporting():
    """Exports side by side: the first export of an array, and later ones."""
    import exporting as work
    from measure import side_by_side

    columns = {}
    for name, form in work.forms().items():
        print(f"exporting, {name} ...", file=sys.stderr, flush=True)
        columns[name] = side_by_side(work.calls(form))
    own_first, own = f"{work.OWN}, {work.FIRST}", f"{work.OWN}, {work.AGAIN}"
    table = Table.of_times("exporting", "Exporting: reading __cuda_array_interface__", columns, own)
    others = [name for name in columns["1-d"] if name.endswith(work.FIRST) and name != own_first]
    if others:
        for row, when in ((own, "again"), (own_first, "for the first time")):
            ratios = [(times[name].ratio_to(times[row]), name) for times in columns.values() for name in others]
            ratio, name = min(ratios)
            table.notes.append(
                f"Read {when}, cuarray is at least {ratio:.1f} times as fast as an export that is not cached "
                f"(the fastest: {name.removesuffix(', ' + work.FIRST)})."
            )
    table.notes.append(
        "numba and PyCUDA cache nothing, so both reads do the same work. Warp returns the dictionary that it made at the first read. "
        "cuarray returns a new copy of its constant entries. The first reads include 10 ns for the loop."
    )
    return table


def exchange_out():
    """Exports by each protocol, from C."""
    import exchanging as work
    from measure import side_by_side

    if (calls := work.compiled()) is None:
        return None
    print("exporting by each protocol, from C ...", file=sys.stderr, flush=True)
    array, (source, *_) = work.sources(calls)
    times = side_by_side(work.exports(calls, array, source))
    return Table.of_times("exchange-out", "Exporting from C, by each protocol", {"3-d": times}, work.DICTIONARY_OUT)


def exchange_in():
    """Imports by each protocol, from C."""
    import exchanging as work
    from measure import side_by_side

    if (calls := work.compiled()) is None:
        return None
    print("importing by each protocol, from C ...", file=sys.stderr, flush=True)
    array, made = work.sources(calls)
    times = side_by_side(work.imports(calls, array, made))
    return Table.of_times("exchange-in", "Importing from C, by each protocol", {"3-d": times}, work.DICTIONARY_IN)


def from_dlpack():
    """Imports of one producer's capsules by cuarray and by cuda.core."""
    import exchanging as work
    from measure import side_by_side

    if (calls := work.compiled()) is None:
        return None
    print("from_dlpack ...", file=sys.stderr, flush=True)
    _, (_, _, capsules, _) = work.sources(calls)
    times = {column: side_by_side(calls) for column, calls in work.beside(capsules).items()}
    return Table.of_times("from-dlpack", "Importing a DLPack capsule, from Python", times, work.OWN)


def copying():
    """Copies of strided arrays beside one driver copy of the same bytes."""
    import copying as work

    speeds, fixed = {}, []
    for size, layout, direction, times in work.measured():
        if (size, layout) not in speeds:
            print(f"copying {size}, {layout} ...", file=sys.stderr, flush=True)
        speeds.setdefault((size, layout), {})[direction] = times[work.DRIVER].ratio_to(times[work.OWN])
        if size == next(iter(work.SIZES)) and direction != work.TO_NEW:
            fixed.append(times[work.OWN].median - times[work.DRIVER].median)
    directions = list(next(iter(speeds.values())))
    rows = [
        (f"{size}, {layout}", *(f"{speed[direction]:.2f}" for direction in directions))
        for (size, layout), speed in speeds.items()
    ]
    table = Table("copying", "Copying strided arrays: speed, where one driver copy has 1.00", ["", *directions], rows)
    table.notes.append(
        f"In addition to the driver's copy, cuarray takes {min(fixed):.0f} to {max(fixed):.0f} ns for each copy, whatever its size."
    )
    table.notes.append(f"{work.TO_NEW}: both include the new array and the look-up of its address.".capitalize())
    for size in work.SIZES:
        all_of = [speed for (of, _), row in speeds.items() if of == size for speed in row.values()]
        table.notes.append(f"{size}: between {min(all_of):.2f} and {max(all_of):.2f}.")
    return table


def overlap():
    """Chains of exchanges, ordered on the device and by waits of the host."""
    import overlap as work
    from measure import side_by_side

    print("overlap ...", file=sys.stderr, flush=True)
    times = {f"work of {size}": side_by_side(work.calls(size), work.ROUNDS) for size in work.SIZES}
    table = Table.of_times(
        "overlap", f"{work.EXCHANGES} exchanges between two streams, for each exchange", times, work.OWN
    )
    table.notes.append("Each exchange orders a fill of one stream before a copy in another.")
    return table


def arguments():
    """Typed arguments of Rust functions, side by side with rust-numpy's."""
    import arguments as work
    from measure import side_by_side

    print("arguments ...", file=sys.stderr, flush=True)
    times = side_by_side(work.calls())
    table = Table.of_times("arguments", "Arguments of Rust functions", {"1-d": times}, work.OWN)
    above = times[work.OWN].median - times[work.FLOOR].median - times[work.ATTRIBUTE].median
    table.notes.append(f"Above an empty function and the reading of the attribute, a view takes {above:.0f} ns.")
    table.notes.append(
        f"It takes {times[work.OWN].ratio_to(times[work.THEIRS]):.2f} times as long as rust-numpy's array."
    )
    return table


def kernels():
    """Kernels on the simulated driver, and on numba's own simulator."""
    import kernels as work

    columns = work.measured()
    rows = []
    for name in columns[work.OWN]:
        seconds, sums = zip(*(columns[simulator][name] for simulator in columns), strict=True)
        if max(sums) - min(sums) > 1e-4 * max(sums):
            raise RuntimeError(f"{name}: the simulators do not agree: {sums}")
        own, off, numbas = seconds
        rows.append(
            (
                name,
                f"{own * 1e3:.2f} ms",
                f"{off * 1e3:.2f} ms",
                f"{numbas * 1e3:,.0f} ms",
                f"{numbas / own:,.0f}",
                f"{numbas / off:,.0f}",
            )
        )
    heads = ["", *columns, "ratio", "ratio, findings off"]
    table = Table("kernels", "Kernels of numba-cuda on the simulated driver, beside numba's own simulator", heads, rows)
    table.notes.append(
        "The time of a launch and a wait, without compilation. All simulators run the same functions on the same grids and arrays, and "
        f"their results agree. cuarray-sim: medians; numba's simulator: one run. All {os.cpu_count()} cores are used."
    )
    return table


def host_loops():
    """Kernels on the simulated driver without findings, and the same loops compiled for the host."""
    import kernels as work

    rows = [
        (name, f"{simulated * 1e3:.2f} ms", f"{host * 1e3:.2f} ms", f"{simulated / host:.1f}")
        for name, (simulated, host) in work.beside_host_loops().items()
    ]
    heads = ["", "cuarray-sim, findings off", "host loop", "ratio"]
    table = Table("host-loops", "Kernels of numba-cuda on the simulated driver, beside host loops", heads, rows)
    table.notes.append(
        "The least time of 15 launches, each with a wait, in turn with the host's loop, without compilation. Their results agree. "
        f"All {os.cpu_count()} cores are used."
    )
    return table


def mathematics():
    """Stand-ins for mathematical libraries, beside NumPy and SciPy."""
    import kernels as work

    def time(seconds):
        return f"{seconds * 1e3:.1f} ms" if seconds > 1e-3 else f"{seconds * 1e6:.1f} µs"

    off, on = work.mathematics()
    rows = [
        (name, time(ours), time(on[name][0]), time(host), f"{ours / host:.1f}") for name, (ours, host) in off.items()
    ]
    heads = ["", "findings off", "findings on", "host", "ratio, findings off"]
    table = Table("mathematics", "Stand-ins for cuBLAS and cuFFT, beside NumPy and SciPy", heads, rows)
    table.notes.append(
        "The least time of 15 calls with their copies between device memory and the host's, each with a wait, in turn with the call of the host. "
        f"The small call waits once after 200 calls. SciPy transforms if it is installed, else NumPy. Results agree. All {os.cpu_count()} cores are used."
    )
    return table


def builds():
    """Builds of the stand-ins for mathematical libraries."""
    import builds as work

    rows = [
        (
            library,
            f"{seconds:.0f} s",
            f"{max(sizes) / 1e6:.1f} MB" if sizes else "",
            f"{compressed / 1e6:.1f} MB" if sizes else "",
        )
        for library, (seconds, sizes, compressed) in work.measured().items()
    ]
    heads = ["", "processor time of the build", "file", "all files in the wheel"]
    table = Table("builds", "Builds of the stand-ins for mathematical libraries", heads, rows)
    table.notes.append(
        "Built one after the other from nothing, without link-time optimization, as CI builds them. A dependency counts for the first library that needs it."
    )
    return table


def findings():
    """The cost of findings in kernels on the simulated driver."""
    import findings as work

    alone, all_cores = work.measured(1), work.measured(0)
    rows = []
    for name, seconds in alone.items():
        off, on = seconds["off"], seconds["on"]
        cells = [
            f"{off * 1e3:.1f} ms",
            f"{on * 1e3:.1f} ms",
            f"{seconds['without races'] / off:.1f}",
            f"{on / off:.1f}",
        ]
        rows.append((name, *cells, f"{all_cores[name]['on'] / all_cores[name]['off']:.1f}"))
    heads = ["", "findings off", "findings on", "factor without races", "factor", "factor, all cores"]
    table = Table("findings", "Kernels of numba-cuda on the simulated driver, with findings and without", heads, rows)
    table.notes.append(
        "The least time of a launch and a wait, without compilation, on one core; the settings take turns. The factors are to findings off. "
        f"`CUARRAY_SIM_KERNEL_RACES=0` is the factor without races. The last column is of {os.cpu_count()} cores."
    )
    return table


def algorithms():
    """The cost of the search for races in algorithms whose threads synchronize through memory."""
    import algorithms as work

    print("algorithms ...", file=sys.stderr, flush=True)
    if (seconds := work.measured()) is None:
        return None
    rows = []
    for name, times in seconds.items():
        off, on, strict = (times[setting] for setting in (work.OFF, work.ON, work.STRICT))
        cells = [f"{off * 1e3:.1f} ms", f"{on * 1e3:.1f} ms", f"{on / off:.1f}", f"{strict / off:.1f}"]
        rows.append((name, *cells))
    heads = ["", "without the search", "with it", "factor", "factor, strict"]
    title = "Algorithms of CUB and Thrust on the simulated driver, with the search for races and without"
    table = Table("algorithms", title, heads, rows)
    table.notes.append(
        f"{work.ELEMENTS:,} elements. The second run of each, with a wait. The factors are to `CUARRAY_SIM_KERNEL_RACES=0`."
    )
    return table


def instructions():
    """Instructions of one core."""
    import kernels as work

    print("instructions ...", file=sys.stderr, flush=True)
    rates = work.instructions()
    rows = [(name, f"{rate:,.0f}") for name, rate in rates.items()]
    heads = ["", "million PTX instructions a second"]
    table = Table("instructions", "Instructions of one core of the host on the simulated driver", heads, rows)
    table.notes.append(
        "The instructions of all threads are counted. Each kernel is a loop of 64 equal instructions, in 8 blocks of 256 threads."
    )
    return table


def slowest():
    """The slowest programs of the tests."""
    import slowest as work

    print("slowest programs ...", file=sys.stderr, flush=True)
    programs = work.measured()
    rows = [
        (item.test, f"{item.seconds:.1f} s", f"{item.in_kernels / item.seconds:.0%}", item.kernel)
        for item in programs[: work.SHOWN]
    ]
    table = Table("slowest", "The slowest programs of the tests", ["", "time", "in kernels", "slowest kernel"], rows)
    table.notes.append(
        f"Of {len(programs):,} tests of {', '.join(work.FOLDERS)}, with findings on, {sum(item.seconds for item in programs):.0f} s together. "
        "The rest of the time is the compilers', Python's, or that of processes that a test starts."
    )
    return table


def launches():
    """Empty launches: many from C, and the first one of a process."""
    import launches as work

    print("launches ...", file=sys.stderr, flush=True)
    if (seconds := work.measured()) is None:
        return None
    many, first = zip(*(seconds[setting] for setting in (work.OFF, work.ON)), strict=True)
    rows = [
        ("an empty kernel", *(f"{each * 1e6:.1f} µs" for each in many)),
        ("the first one of a process", *(f"{each * 1e3:.1f} ms" for each in first)),
    ]
    heads = ["", "findings off", "findings on"]
    table = Table("launches", "Launches of an empty kernel on the simulated driver", heads, rows)
    table.notes.append(
        f"From C: the least of {work.RUNS} runs of {work.LAUNCHES:,} launches of one thread, with one wait at the end, for each launch. "
        f"The first one: with the load of the driver, its first calls and a wait, the least of {work.RUNS} processes, without the start of Python."
    )
    return table


def large_programs():
    """Many operations, and a module of many functions."""
    import large_programs as work

    print("large programs ...", file=sys.stderr, flush=True)
    operations, (seconds, functions) = work.measured()
    rows = [
        (f"{count:,} operations, findings on", f"{s:.1f} s", f"{mb:.0f} MB") for count, (s, mb) in operations.items()
    ]
    rows.append((f"load of {work.PTX_BYTES // 1_000_000} MB of PTX, {functions:,} functions", f"{seconds:.2f} s", ""))
    table = Table("large", "Large programs on the simulated driver", ["", "time", "peak memory of the process"], rows)
    table.notes.append(
        "Operations: fills, event records, waits and copies in four streams, called by `ctypes`, with one synchronization at the end. One run each."
    )
    return table


SECTIONS = {
    "importing": importing,
    "importing-default": importing_by_default,
    "ndim": imports_by_ndim,
    "exporting": exporting,
    "exchange-out": exchange_out,
    "exchange-in": exchange_in,
    "from-dlpack": from_dlpack,
    "overlap": overlap,
    "copying": copying,
    "arguments": arguments,
    "kernels": kernels,
    "host-loops": host_loops,
    "mathematics": mathematics,
    "builds": builds,
    "findings": findings,
    "algorithms": algorithms,
    "instructions": instructions,
    "launches": launches,
    "slowest": slowest,
    "large": large_programs,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("sections", nargs="*", metavar="section", help=f"some of {', '.join(SECTIONS)}; else all")
    parser.add_argument("--update", type=Path, action="append", default=[], help="a page to put the tables into")
    parser.add_argument("--json", type=Path, help="a file for the tables")
    parser.add_argument(
        "--rounds", type=float, default=1.0, metavar="PART", help="the part of the rounds to measure (1)"
    )
    options = parser.parse_args()
    measure.share = options.rounds
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"no such section: {', '.join(sorted(unknown))}")

    where = driver()
    _, absent = peers.load()
    setting = f"Measured on {date.today()}: Python {platform.python_version()}, cuarray {cuarray.__version__}, {machine()}. {where}."
    print(setting)
    for name, reason in absent.items():
        print(f"without {name}: {reason}", flush=True)
    tables = []
    for name, section in SECTIONS.items():
        if name in ("kernels", "host-loops", "findings") and "numba-cuda" in absent:
            continue
        if not options.sections or name in options.sections:
            table = section()
            if table is None:
                print(f"\n{name} left out: there is no C compiler, or no nvcc (`make nvcc`)", flush=True)
                continue
            tables.append(table)
            print("\n" + table.as_text(), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps({"setting": setting, "tables": [vars(table) for table in tables]}, indent=1))
    for page in options.update:
        text = replaced(page.read_text(), {"setting": setting, **{table.name: table.as_markdown() for table in tables}})
        page.write_text(text)
        print(f"updated {page}", file=sys.stderr)


if __name__ == "__main__":
    main()
