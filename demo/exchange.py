"""Exchange arrays between cuarray and the installed real libraries, check each exchange, and print a table.

    python demo/exchange.py                    on the machine's CUDA driver
    python -m cuarray_sim demo/exchange.py     on the simulated one

The exit status is 1 if a check fails, and 2 if there is no driver."""

import platform
import sys

import driver
import numpy
import peer_mpi4py
import peers
import table
from progress import Progress
from route import own
from survey import survey

import cuarray


def main():
    # Printing the arrows of the table must not fail if the output has an encoding without them.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")
    try:
        current = driver.current()
    except cuarray.CudaError as error:
        print(f"There is no CUDA driver here: {error}", file=sys.stderr)
        print("To use the simulated driver: python -m cuarray_sim demo/exchange.py", file=sys.stderr)
        return 2
    print(f"Arrays between CUDA libraries, without copies, on the {current}", flush=True)

    cuarray_itself = own()
    present, absent = peers.load_all()
    ranks, why_not = peer_mpi4py.version()
    if ranks is None:
        absent["mpi4py"] = why_not
    versions = [f"{each.name} {each.version}" for each in (cuarray_itself, *present)]
    versions += [f"mpi4py {ranks}"] if ranks else []
    print(f"{', '.join(versions)}; NumPy {numpy.__version__}, Python {platform.python_version()}", flush=True)
    for name, reason in absent.items():
        print(f"without {name}: {reason}", flush=True)

    every = peers.routes(cuarray_itself, present)
    progress = Progress(len(every) + (ranks is not None))
    outcomes = []
    for route in every:
        progress.begin(str(route))
        outcomes.append(survey(route, current, progress.step))
    if ranks is not None:
        progress.begin("mpi4py, 2 ranks")
        outcomes += peer_mpi4py.survey(current)
    progress.end()

    print(table.render(outcomes))
    print(table.details(outcomes))
    print(table.summary(outcomes))
    return 1 if any(outcome.has_failed for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
