"""Record the names of the functions that the headers of NVIDIA's mathematical libraries declare.

A person runs it after an update: ``pip download`` and ``unzip`` the wheels ``nvidia-cublas``, ``nvidia-cublas-cu12`` and those of cuFFT,
cuRAND, cuSOLVER, cuSPARSE and cuDNN into one folder for each major version of CUDA, then ``python tests/support/mathematics_headers.py 12=FOLDER 13=FOLDER``. With a
folder of CuPy's or PyTorch's wheel as ``user=NAME=FOLDER``, it also records the functions that the machine code there asks for.
The file has names only.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

RECORD = Path(__file__).resolve().parents[1] / "project/mathematics_names.txt"

HEADERS = {
    "cublas": ("cublas.h", "cublas_api.h", "cublasXt.h"),
    "cublasLt": ("cublasLt.h",),
    "cufft": ("cufft.h", "cufftXt.h", "cufft_device.h"),
    "curand": ("curand.h",),
    "cusolver": (
        "cusolverDn.h",
        "cusolverSp.h",
        "cusolverSp_LOWLEVEL_PREVIEW.h",
        "cusolverRf.h",
        "cusolver_common.h",
    ),
    "cusparse": ("cusparse.h",),
    "cudnn": (
        "cudnn_graph.h",
        "cudnn_ops.h",
        "cudnn_cnn.h",
        "cudnn_adv.h",
        "cudnn_gnn_ops.h",
        "cudnn_subquadratic_ops.h",
    ),
}
"""The headers of each library. Those of `libcufftw` and `libnvblas` are other libraries'."""


def declared(folder: Path, headers: tuple[str, ...]) -> set[str]:
    """The functions with C linkage that headers declare and do not define."""
    names = set()
    for header in headers:
        for path in folder.rglob(header):
            text = re.sub(
                r"/\*.*?\*/|//[^\n]*", " ", path.read_text(encoding="utf-8", errors="replace"), flags=re.DOTALL
            )
            names |= set(
                re.findall(
                    r"\b(?:CUBLASWINAPI|CUFFTAPI|CURANDAPI|CUSOLVERAPI|CUSPARSEAPI|CUDNNWINAPI)\s+((?:__)?cu\w+)\s*\(",
                    text,
                )
            )
    return names


def asked_for(folder: Path) -> set[str]:
    """The functions of these libraries that machine code in a folder leaves to the dynamic loader."""
    names = set()
    for path in sorted(folder.rglob("*.so*")):
        if path.is_file() and not path.is_symlink():
            command = ["nm", "-D", "--undefined-only", "--without-symbol-versions", str(path)]
            text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
            names |= set(
                re.findall(r"\bU ((?:cublas|cufft|curand|cusolver|cusparse(?!Lt)|cudnn)\w+)$", text, flags=re.MULTILINE)
            )
    return names


def section(title: str, names: set[str]) -> str:
    lines = textwrap.fill(
        " ".join(sorted(names)), 150, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
    )
    return f"{title}:\n{lines}\n"


def main(arguments: list[str]) -> None:
    parts = []
    for argument in arguments:
        kind, _, rest = argument.partition("=")
        if kind == "user":
            name, _, folder = rest.partition("=")
            parts.append(section(f"user {name}", asked_for(Path(folder))))
        else:
            parts += [section(f"{library} {kind}", declared(Path(rest), of)) for library, of in HEADERS.items()]
    RECORD.write_text("".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
