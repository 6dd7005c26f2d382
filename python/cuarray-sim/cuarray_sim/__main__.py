"""The command ``python -m cuarray_sim [options] script.py args...``; see :mod:`cuarray_sim.launcher`."""

from .launcher import main

if __name__ == "__main__":
    main()
