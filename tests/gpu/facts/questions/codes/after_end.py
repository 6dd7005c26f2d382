"""Calls after the end of the driver: ``python -m gpu.facts.questions.codes.after_end DRIVER SYMBOL...`` prints the number of each result.

The process makes them in a handler of its end. Handlers run in the reverse order of their registration, and a driver registers its own
when it is loaded or later. So the handler of this process is registered first, and runs after those of the driver.
"""

from __future__ import annotations

import ctypes
import os
import sys

from ...driver import Driver
from ...entry_points import called
from .arguments import zero

Handler = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def main() -> None:
    path, *symbols = sys.argv[1:]
    drivers: list[Driver] = []

    def at_end(_: int | None) -> None:
        for symbol in symbols:
            number = drivers[0].number(symbol, *map(zero, called()[symbol].parameters))
            print(symbol, number, flush=True)
        os._exit(0)

    handler, program = Handler(at_end), ctypes.CDLL(None)
    assert program["__cxa_atexit"](handler, None, None) == 0
    drivers.append(Driver(path))
    drivers[0].start()
    # The end of the C program, and not that of Python, whose interpreter still has to run the handler.
    program.exit(0)


if __name__ == "__main__":
    main()
