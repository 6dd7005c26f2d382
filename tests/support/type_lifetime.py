"""The end of a type: a condition of tests."""

import sys
import sysconfig

import pytest

types_end = pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")) and sys.version_info < (3, 14),
    reason="Python 3.13 without a global lock keeps all types once a second thread has started",
)
