"""Matrix products of tinygrad on tensor cores: ``python -m cuarray_sim tensor_cores.py``. Prints the instruction of each type."""

from __future__ import annotations

import re

import numpy as np
from tinygrad import Device, Tensor, dtypes
from tinygrad.helpers import Context
from tinygrad.runtime.ops_cuda import CUDAProgram

SIZE = 32

loaded: list[bytes] = []
create = CUDAProgram.__init__


def remember(self, dev, obj, *args, **kwargs) -> None:  # type: ignore[no-untyped-def]
    loaded.append(obj.lib)
    create(self, dev, obj, *args, **kwargs)


CUDAProgram.__init__ = remember

rng = np.random.default_rng(1)
x, y = (rng.integers(-4, 5, (SIZE, SIZE)).astype(np.float32) for _ in range(2))
for name in ("half", "bfloat16", "float", "fp8e4m3", "fp8e5m2"):
    dtype = getattr(dtypes, name)
    if dtype not in Device[Device.DEFAULT].renderer.supported_dtypes():
        continue
    a, b = Tensor(x).cast(dtype).realize(), Tensor(y).cast(dtype).realize()
    loaded.clear()
    with Context(TC=1, TC_OPT=2, ALLOW_TF32=1):
        product = a.matmul(b, dtype=dtypes.float).numpy()
    # The numbers are small integers, so each type holds the values and the sums exactly.
    np.testing.assert_array_equal(product, x @ y)
    instructions = {match for text in loaded for match in re.findall(rb"mma\.sync[\w.]*", text)}
    assert instructions, f"the product of {name} uses no tensor core"
    print(name, *sorted(text.decode() for text in instructions))
