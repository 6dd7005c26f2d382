"""JAX exports no stream, so a consumer reads an array while its kernel is still pending."""

import jax.numpy as jnp
from numba import cuda

a = jnp.zeros(1000)
b = a + 1  # pending in a stream of JAX's
cuda.as_cuda_array(b).copy_to_host(stream=cuda.stream())
