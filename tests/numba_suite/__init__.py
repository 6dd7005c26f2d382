"""Run numba-cuda's own tests on the simulated driver and compare the outcomes with the expected ones."""
