"""JAX. Arrays are immutable, so there is no ``write``."""

from __future__ import annotations

import os
from typing import Any

# By default JAX allocates three quarters of the device's memory, and has no types of 64 bits.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("JAX_ENABLE_X64", "1")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

from cuarray.check import NotClaimed  # noqa: E402

NAME, VERSION = "JAX", jax.__version__
NOT_CLAIMED = {
    "streams": "JAX has no streams for its users",
    "strides": "arrays are row-major",
    "negative-strides": "arrays are row-major",
    "broadcast": "arrays are row-major",
    "structures": "arrays have no structured types",
    "masks": "jax.numpy.asarray does not read masks",
    "read-only": "all arrays are immutable",
}
KNOWN: dict[str, str] = {}


def make(
    shape: tuple[int, ...],
    typestr: str,
    *,
    strides: tuple[int, ...] | None = None,
    readonly: bool = False,
    stream: Any = None,
    device: int = 0,
) -> Any:
    if strides is not None and 0 not in shape and strides != np.empty(shape, typestr).strides:
        raise NotClaimed("arrays are row-major")
    return jax.device_put(np.zeros(shape, typestr), jax.devices("cuda")[device]).block_until_ready()


def pending(shape: tuple[int, ...], typestr: str, data: Any, *, stream: Any = None) -> Any:
    dtype = np.dtype(typestr)
    changed = jax.device_put(np.frombuffer(data, "u1").reshape(*shape, dtype.itemsize) ^ 1, jax.devices("cuda")[0])
    return jax.jit(lambda each: jax.lax.bitcast_convert_type(each ^ 1, dtype))(changed)


def read(array: Any, *, stream: Any = None) -> bytes:
    return np.asarray(array).tobytes()


def import_(obj: Any, *, stream: Any = None) -> Any:
    return jnp.asarray(obj)


def from_dlpack(obj: Any, *, stream: Any = None) -> Any:
    return jnp.from_dlpack(obj)


def pointer(array: Any) -> int:
    return int(array.unsafe_buffer_pointer())
