"""D22: reading the attribute may raise anything.

``hasattr(tensor, "__cuda_array_interface__")`` raises RuntimeError for a PyTorch tensor that requires a gradient, and KeyError for a
type that is not in PyTorch's table. A categorical series of cuDF raises TypeError. ``hasattr`` catches only AttributeError.

The text: it is an attribute whose value is a dict (I1).

cuarray: ``is_cuda_array`` returns False. An import raises TypeError that names the original exception and has it as its cause, so
that PyTorch's advice ("use tensor.detach()") is visible. MemoryError, RecursionError, and exceptions outside ``Exception`` propagate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuarray

# Errors of PyTorch (gradient required, unsupported type, host tensor), of cuDF, and of others.
ERRORS = [
    (RuntimeError, "Can't get __cuda_array_interface__ on Variable that requires grad. Use var.detach()"),
    (KeyError, "torch.float8_e4m3fn"),
    (AttributeError, "Can't get __cuda_array_interface__ on non-CUDA tensor type"),
    (TypeError, "Cannot get the array interface of a categorical column"),
    (NotImplementedError, "dtype string is not supported"),
    (BufferError, "the buffer is gone"),
]


@pytest.fixture(params=ERRORS, ids=[kind.__name__ for kind, _ in ERRORS])
def error(request: pytest.FixtureRequest) -> Exception:
    """Return a new exception for each test, since an exception keeps its traceback."""
    kind, text = request.param
    raised: Exception = kind(text)
    return raised


class Raising:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        raise self.error


def test_is_cuda_array_is_false_if_the_attribute_raises(error: Exception) -> None:
    if not isinstance(error, AttributeError):
        with pytest.raises(type(error)):
            hasattr(Raising(error), "__cuda_array_interface__")
    assert cuarray.is_cuda_array(Raising(error)) is False


@pytest.mark.parametrize("take", [cuarray.as_cuda_array, cuarray.interface])
def test_import_raises_type_error_with_the_cause(take: Callable[[Any], object], error: Exception) -> None:
    with pytest.raises(TypeError, match=f"Raising raised {type(error).__name__}") as raised:
        take(Raising(error))
    assert type(raised.value) is TypeError
    assert raised.value.__cause__ is error


def test_copy_from_raising_object_is_an_error(driver: str, error: Exception) -> None:
    """AttributeError means that the attribute is absent, so the object is read as host numbers."""
    array = cuarray.to_device(np.arange(4))
    for copy in (array.copy_to_device, cuarray.to_device):
        if isinstance(error, AttributeError):
            with pytest.raises((TypeError, ValueError)):
                copy(Raising(error))
            continue
        with pytest.raises(TypeError, match=f"Raising raised {type(error).__name__}") as raised:
            copy(Raising(error))
        assert raised.value.__cause__ is error
    assert array.copy_to_host().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, RecursionError])
@pytest.mark.parametrize("take", [cuarray.as_cuda_array, cuarray.interface, cuarray.is_cuda_array])
def test_exceptions_about_the_process_propagate(take: Callable[[Any], object], kind: type[BaseException]) -> None:
    error = kind()
    with pytest.raises(kind) as raised:
        take(Raising(error))
    assert raised.value is error


def test_numba_is_cuda_array_raises(numba: Any) -> None:
    with pytest.raises(RuntimeError, match="requires grad"):
        numba.is_cuda_array(Raising(RuntimeError("requires grad")))


@pytest.mark.parametrize(
    "value", [None, 3, "text", [("shape", (2,))], {1, 2}, pytest.param(object(), id="object()")], ids=repr
)
def test_attribute_that_is_no_dict_is_type_error(value: object) -> None:
    class Wrong:
        __cuda_array_interface__ = value

    assert cuarray.is_cuda_array(Wrong()) is False
    with pytest.raises(TypeError, match="a dict is expected"):
        cuarray.as_cuda_array(Wrong())
