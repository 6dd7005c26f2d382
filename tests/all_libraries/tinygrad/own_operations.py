"""tinygrad's own tests of its operations, from the source archive of 0.12.0, the last one with this file, on the installed tinygrad.

::

    pip download --no-deps --no-binary tinygrad tinygrad==0.12.0
    tar xf tinygrad-0.12.0.tar.gz
    DEV=CUDA:PTX python -m cuarray_sim own_operations.py tinygrad-0.12.0/test/test_ops.py [test_std ...]

Names that tinygrad 0.14 has changed are put back. It prints a line for each test that does not pass, and the counts.
"""

from __future__ import annotations

import collections
import contextlib
import io
import sys
import types
import unittest
from pathlib import Path

import tinygrad.device
import tinygrad.helpers
from tinygrad import Device, Tensor, dtypes

path, *names = sys.argv[1:]
for name, value in {"CI": False, "CPU_LLVM": 0, "AMD_LLVM": 0, "EMULATE": ""}.items():
    setattr(tinygrad.helpers, name, value)
tinygrad.device.is_dtype_supported = lambda dtype, device=None: (
    dtype in Device[device or Device.DEFAULT].renderer.supported_dtypes()
)
type(dtypes).max, type(dtypes).min = (staticmethod(lambda dtype: dtype.max), staticmethod(lambda dtype: dtype.min))
create = Tensor.__init__
Tensor.__init__ = lambda self, *args, requires_grad=None, **options: create(self, *args, **options)

module = types.ModuleType("test_ops")
module.__file__ = path
sys.modules["test_ops"] = module
exec(compile(Path(path).read_text(), path, "exec"), module.__dict__)
suite = unittest.defaultTestLoader.loadTestsFromModule(module)
counts: collections.Counter[str] = collections.Counter()
for case in (case for cases in suite for case in cases):
    if names and case.id().rsplit(".", 1)[-1] not in names:
        continue
    result = unittest.TestResult()
    with contextlib.redirect_stdout(io.StringIO()):
        case.run(result)
    problems = result.failures + result.errors
    counts["failed" if problems else "skipped" if result.skipped else "passed"] += 1
    for _, text in problems:
        print(case.id(), "failed:", text.strip().splitlines()[-1])
print(*(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
