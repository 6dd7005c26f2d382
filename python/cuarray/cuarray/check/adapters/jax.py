"""JAX. Arrays are immutable, so there is no ``write``."""

from __future__ import annotations

import os
from typing import Any

# By default JAX allocates three quarters of the device's memory, and has no types of 64 bits.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("JAX_ENABLE_X64", "1")

import jax
import jax.numpy as jnp
import numpy as np

from cuarray.check import NotClaimed

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
KNOWN = {
    "I4.data-is-a-pair-of-pointer-and-flag": "D21: arrays are immutable, so all are exported as read-only",
    "I7.version-is-current": "D17: version 2 is exported, without a stream; docs/explanation/real-libraries.md",
    "I7.older-version-is-read.*": "D9: versions 2 and 3 are read",
    "I10.*": "D7: the mask is not read; docs/explanation/real-libraries.md",
    "DL3.stream-zero-is-refused": "0 is read as no stream",
    "DL3.stream-minus-one-makes-no-driver-call-that-waits": "-1 is used as a stream's handle; docs/findings/jax.md",
    "L2.*": "D23: no reference to the owner is kept; docs/findings/jax.md",
    "P1.*": "D17: version 2 is exported, without a stream; docs/explanation/real-libraries.md",
    "S2.*": "D16: the streams 1 and 2 are not waited for, and streams of others are refused",
}


def make(shape, typestr, *, strides=None, readonly=False, stream=None, device=0) -> Any:
    if strides is not None and 0 not in shape and strides != np.empty(shape, typestr).strides:
        raise NotClaimed("arrays are row-major")
    return jax.device_put(np.zeros(shape, typestr), jax.devices("cuda")[device]).block_until_ready()


def pending(shape, typestr, data, *, stream=None) -> Any:
    dtype = np.dtype(typestr)
    changed = jax.device_put(np.frombuffer(data, "u1").reshape(*shape, dtype.itemsize) ^ 1, jax.devices("cuda")[0])
    return jax.jit(lambda each: jax.lax.bitcast_convert_type(each ^ 1, dtype))(changed)


def read(array, *, stream=None) -> bytes:
    return np.asarray(array).tobytes()


def import_(obj, *, stream=None) -> Any:
    return jnp.asarray(obj)


def from_dlpack(obj, *, stream=None) -> Any:
    return jnp.from_dlpack(obj)


def pointer(array) -> int:
    return int(array.unsafe_buffer_pointer())
