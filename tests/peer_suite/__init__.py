"""Run the own tests of a real library on the simulated driver and compare the outcomes with the expected ones.

:class:`peer_suite.description.Suite` describes a suite. ``numba_suite`` and ``cupy_suite`` are the suites.
"""
