"""The simulated driver is installed after numba-cuda has looked for a driver."""

from numba import cuda

print(cuda.is_available())

import cuarray_sim  # noqa: E402

cuarray_sim.install()
print(cuda.is_available())
