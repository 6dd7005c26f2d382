"""``cuda.bindings.nvjitlink`` calls the stand-in for nvJitLink: results, codes and logs of the documented functions."""

from __future__ import annotations

import pytest

nvjitlink = pytest.importorskip("cuda.bindings.nvjitlink")
pytestmark = pytest.mark.usefixtures("nvjitlink")

PTX = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry kernel() { ret; }
"""


def error_log(handle: int) -> str:
    log = bytearray(nvjitlink.get_error_log_size(handle))
    nvjitlink.get_error_log(handle, log)
    return log.decode().rstrip("\0")


def test_linked_ptx_is_an_image_that_the_driver_loads() -> None:
    from cuda.core import Device, ObjectCode

    handle = nvjitlink.create(2, ["-arch=sm_90", "-lineinfo"])
    nvjitlink.add_data(handle, nvjitlink.InputType.PTX, PTX, len(PTX), "input")
    nvjitlink.complete(handle)
    image = bytearray(nvjitlink.get_linked_cubin_size(handle))
    nvjitlink.get_linked_cubin(handle, image)
    nvjitlink.destroy(handle)
    Device().set_current()
    assert ObjectCode.from_cubin(bytes(image)).get_kernel("kernel") is not None


def test_undefined_function_is_an_internal_error_with_a_log() -> None:
    call = b".extern .func missing(); .visible .entry kernel() { call missing; ret; }"
    text = PTX.partition(b".visible")[0] + call
    handle = nvjitlink.create(1, ["-arch=sm_90"])
    nvjitlink.add_data(handle, nvjitlink.InputType.PTX, text, len(text), "input")
    with pytest.raises(nvjitlink.nvJitLinkError, match="INTERNAL"):
        nvjitlink.complete(handle)
    assert error_log(handle) == "error   : Undefined reference to 'missing' in 'input'\nERROR 9: complete\n"
    nvjitlink.destroy(handle)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([], "MISSING_ARCH"),
        (["-arch=sm_90", "-unknown"], "UNRECOGNIZED_OPTION"),
        (["-arch=sm_90", "-ptx"], "INCOMPATIBLE_OPTIONS"),
    ],
)
def test_invalid_options_are_documented_errors(options: list[str], code: str) -> None:
    with pytest.raises(nvjitlink.nvJitLinkError, match=code):
        nvjitlink.create(len(options), options)


def test_version_is_the_one_of_the_installed_library() -> None:
    from importlib.metadata import version

    major, minor = nvjitlink.version()
    assert version("nvidia-nvjitlink").startswith(f"{major}.{minor}.")
