"""numba-cuda's own tests on the simulated driver, held against what is known to pass."""
