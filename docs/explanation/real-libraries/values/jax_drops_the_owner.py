"""JAX keeps no reference to the owner of imported memory."""

import weakref

import jax.numpy as jnp
import numpy as np

import cuarray

array = cuarray.to_device(np.ones(1000, "f4"))
owner = type("Owner", (), {"__cuda_array_interface__": array.__cuda_array_interface__})()
alive = weakref.ref(owner)
imported = jnp.asarray(owner)
del owner
print("alive" if alive() else "released, while the import lives")
