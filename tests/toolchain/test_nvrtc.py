"""``cuda.bindings.nvrtc`` calls the stand-in for NVRTC: machine code becomes PTX, and everything else is as before."""

from __future__ import annotations

import pytest

nvrtc = pytest.importorskip("cuda.bindings.nvrtc")
pytestmark = pytest.mark.usefixtures("nvrtc")

SOURCE = b"template <int N> __global__ void kernel(int *p) { *p = N; }"


def compiled(*options: bytes, source: bytes = SOURCE) -> tuple[int, dict[str, bytes]]:
    """Compile a program, and return the result code with the log and the outputs."""
    error, program = nvrtc.nvrtcCreateProgram(source, b"program.cu", 0, [], [])
    assert error == 0
    nvrtc.nvrtcAddNameExpression(program, b"kernel<7>")
    (result,) = nvrtc.nvrtcCompileProgram(program, len(options), [*options])
    outputs = {}
    for name in ("ProgramLog", "PTX", "CUBIN", "LTOIR"):
        error, size = getattr(nvrtc, f"nvrtcGet{name}Size")(program)
        text = b" " * size
        if error == 0 and size:
            getattr(nvrtc, f"nvrtcGet{name}")(program, text)
        outputs[name] = text
    if result == 0:
        error, lowered = nvrtc.nvrtcGetLoweredName(program, b"kernel<7>")
        outputs["lowered"] = lowered
    nvrtc.nvrtcDestroyProgram(program)
    return int(result), outputs


@pytest.mark.parametrize("form", [(b"-arch=sm_90",), (b"--gpu-architecture=sm_90",), (b"-arch", b"sm_90")])
def test_machine_code_of_a_device_is_ptx(form: tuple[bytes, ...]) -> None:
    result, outputs = compiled(*form)
    assert result == 0
    assert b".target sm_90" in outputs["CUBIN"]
    assert outputs["CUBIN"] == outputs["PTX"]
    assert outputs["lowered"] in outputs["CUBIN"]


def test_source_follows_code_with_lines() -> None:
    result, outputs = compiled(b"-arch=sm_90", b"-lineinfo", source=SOURCE + b"\n// end")
    assert result == 0
    behind = b"\n// source of program.cu\n//| " + SOURCE + b"\n//| // end\n\0"
    assert outputs["CUBIN"] == outputs["PTX"].removesuffix(b"\0") + behind
    assert SOURCE not in outputs["PTX"]


def test_virtual_architecture_has_no_machine_code() -> None:
    result, outputs = compiled(b"-arch=compute_90")
    assert result == 0
    assert b".target sm_90" in outputs["PTX"]
    assert outputs["CUBIN"] == b""


def test_lto_ir_is_passed_on() -> None:
    result, outputs = compiled(b"-arch=sm_90", b"-dlto")
    assert result == 0
    assert outputs["LTOIR"].startswith((0x7F4E43ED).to_bytes(4, "little"))
    assert outputs["CUBIN"] == b""


def test_errors_of_the_source_are_in_the_log() -> None:
    result, outputs = compiled(b"-arch=sm_90", source=b"__global__ void kernel() { wrong; }")
    assert result == 6
    assert b'identifier "wrong" is undefined' in outputs["ProgramLog"]


def test_invalid_option_is_the_error_of_nvrtc() -> None:
    result, outputs = compiled(b"-arch=sm_90", b"--no-such-option")
    assert result == 5
    assert b"unrecognized option --no-such-option" in outputs["ProgramLog"]
