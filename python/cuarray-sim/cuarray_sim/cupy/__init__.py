"""CuPy on the simulated driver: the command ``python -m cuarray_sim.cupy``, and the import of the modules that it builds.

Five modules of CuPy's released wheels contain a static CUDA runtime, which needs undocumented tables of NVIDIA's driver. The command
compiles them from CuPy's own source against the shared runtime, into the folder :data:`~cuarray_sim.cupy.finder.FOLDER` beside CuPy.
No file of CuPy changes. On the simulated driver, :mod:`cuarray_sim.cupy.finder` imports the built modules in place of the released
ones; on any other driver CuPy is as released.
"""
