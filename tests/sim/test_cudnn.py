"""The stand-in for cuDNN has the functions that a library calls at its start, and refuses all others by name."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from cuarray_sim.stand_ins import STAND_INS

NOT_SUPPORTED = 3000


@pytest.fixture
def cudnn() -> ctypes.CDLL:
    (stand_in,) = (each for each in STAND_INS if each.name == "cuDNN")
    path = stand_in.path / stand_in.files[0]
    if not path.is_file():
        pytest.skip("the package was built without cuDNN")
    library = ctypes.CDLL(str(path))
    library.cudnnGetVersion.restype = ctypes.c_size_t
    library.cudnnGetErrorString.restype = ctypes.c_char_p
    return library


def test_handle_keeps_its_stream(cudnn: ctypes.CDLL) -> None:
    handle, stream = ctypes.c_void_p(), ctypes.c_void_p()
    assert cudnn.cudnnCreate(ctypes.byref(handle)) == 0
    assert cudnn.cudnnSetStream(handle, ctypes.c_void_p(42)) == 0
    assert cudnn.cudnnGetStream(handle, ctypes.byref(stream)) == 0
    assert stream.value == 42
    assert cudnn.cudnnDestroy(handle) == 0
    assert cudnn.cudnnDestroy(None) != 0


def test_version_and_its_parts_agree(cudnn: ctypes.CDLL) -> None:
    parts = []
    for kind in range(3):
        value = ctypes.c_int()
        assert cudnn.cudnnGetProperty(kind, ctypes.byref(value)) == 0
        parts.append(value.value)
    assert cudnn.cudnnGetVersion() == parts[0] * 10_000 + parts[1] * 100 + parts[2]
    assert cudnn.cudnnGetProperty(3, ctypes.byref(value)) != 0


def test_refusal_prints_its_name_once(cudnn: ctypes.CDLL) -> None:
    program = (
        "import ctypes, sys; library = ctypes.CDLL(sys.argv[1])\n"
        "print(library.cudnnConvolutionForward(), library.cudnnConvolutionForward())"
    )
    done = subprocess.run([sys.executable, "-c", program, cudnn._name], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(NOT_SUPPORTED)] * 2
    assert done.stderr.count("cudnnConvolutionForward is not supported") == 1
    assert cudnn.cudnnGetErrorString(NOT_SUPPORTED) == b"CUDNN_STATUS_NOT_SUPPORTED"
