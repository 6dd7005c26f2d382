"""Operations of tinygrad with their gradients, compared with those of PyTorch on the host: ``python -m cuarray_sim operations.py``.

Prints the name of each operation, and exits with 1 if a value or a gradient differs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from tinygrad import Tensor

Function = Callable[..., Any]

MATRIX, SQUARE, VECTOR, IMAGE = (9, 13), (8, 8), (37,), (2, 3, 9, 9)

BOTH: dict[str, tuple[list[tuple[int, ...]], Function]] = {
    "add": ([MATRIX, MATRIX], lambda x, y: x + y),
    "broadcast": ([MATRIX, (13,)], lambda x, y: x * y + y),
    "sub": ([MATRIX, MATRIX], lambda x, y: x - 2 * y),
    "div": ([MATRIX, MATRIX], lambda x, y: x / (y * y + 1)),
    "pow": ([MATRIX], lambda x: (x * x + 1) ** 1.5),
    "maximum": ([MATRIX, MATRIX], lambda x, y: x.maximum(y)),
    "minimum": ([MATRIX, MATRIX], lambda x, y: x.minimum(y)),
    "abs": ([MATRIX], lambda x: x.abs()),
    "neg": ([MATRIX], lambda x: -x),
    "sign": ([MATRIX], lambda x: x.sign() * x),
    "floor": ([MATRIX], lambda x: x.floor() + x.ceil() + x.trunc() + x),
    "round": ([MATRIX], lambda x: x.round() + x),
    "sqrt": ([MATRIX], lambda x: (x * x + 0.5).sqrt()),
    "rsqrt": ([MATRIX], lambda x: (x * x + 0.5).rsqrt()),
    "exp": ([MATRIX], lambda x: x.exp()),
    "exp2": ([MATRIX], lambda x: x.exp2()),
    "log": ([MATRIX], lambda x: (x.abs() + 0.5).log()),
    "log2": ([MATRIX], lambda x: (x.abs() + 0.5).log2()),
    "sin": ([MATRIX], lambda x: x.sin()),
    "cos": ([MATRIX], lambda x: (20 * x).cos()),
    "tan": ([MATRIX], lambda x: (0.5 * x).tan()),
    "tanh": ([MATRIX], lambda x: x.tanh()),
    "sigmoid": ([MATRIX], lambda x: x.sigmoid()),
    "erf": ([MATRIX], lambda x: x.erf()),
    "relu": ([MATRIX], lambda x: x.relu()),
    "clamp": ([MATRIX], lambda x: x.clamp(-0.7, 0.9)),
    "where": (
        [MATRIX, MATRIX],
        lambda x, y: (x > y).where(x, y) if isinstance(x, Tensor) else torch.where(x > y, x, y),
    ),
    "lerp": ([MATRIX, MATRIX, MATRIX], lambda x, y, z: x.lerp(y, z)),
    "sum": ([IMAGE], lambda x: x.sum((1, 3))),
    "mean": ([IMAGE], lambda x: x.mean((0, 2))),
    "prod": ([(4, 5)], lambda x: x.prod(1)),
    "max": ([IMAGE], lambda x: x.amax((2, 3)) if isinstance(x, torch.Tensor) else x.max((2, 3))),
    "var": ([MATRIX], lambda x: x.var(1)),
    "std": ([MATRIX], lambda x: x.std(0)),
    "softmax": ([MATRIX], lambda x: x.softmax(1)),
    "log_softmax": ([MATRIX], lambda x: x.log_softmax(0)),
    "logsumexp": ([MATRIX], lambda x: x.logsumexp(1)),
    "cumsum": ([MATRIX], lambda x: x.cumsum(1)),
    "cumsum of 700": ([(700,)], lambda x: x.cumsum(0)),
    "matmul": ([(33, 21), (21, 17)], lambda x, y: x.matmul(y)),
    "batched matmul": ([(3, 9, 8), (3, 8, 7)], lambda x, y: x @ y),
    "matrix times vector": ([(33, 37), VECTOR], lambda x, y: x @ y),
    "dot": ([VECTOR, VECTOR], lambda x, y: x @ y),
    "transpose": ([MATRIX], lambda x: x.transpose(0, 1) * 2),
    "permute": ([IMAGE], lambda x: x.permute(2, 0, 3, 1) * 2),
    "reshape": ([IMAGE], lambda x: x.reshape(27, 18) * 2),
    "expand": ([(9, 1)], lambda x: x.expand(9, 13) * 2),
    "flip": ([MATRIX], lambda x: x.flip((0, 1)) * 2),
    "repeat": ([(3, 4)], lambda x: x.repeat(2, 3) * 2),
    "slice": ([MATRIX], lambda x: x[1:7, 2:12:3] * 2),
    "negative index": ([MATRIX], lambda x: x[-1] + x[-2]),
    "gather": ([MATRIX], lambda x: x.gather(1, host(x, np.arange(18).reshape(9, 2) * 5 % 13))),
    "index": ([MATRIX], lambda x: x[host(x, np.array([3, 1, 1, 8]))]),
    "tril": ([SQUARE], lambda x: x.tril() + x.triu(1) * 3),
    "diagonal": ([SQUARE], lambda x: x.diagonal() * 2),
    "unfold": ([VECTOR], lambda x: x.unfold(0, 5, 3) * 2),
    "sort": ([(19,)], lambda x: x.sort()[0]),
}
"""Operations that tinygrad and PyTorch write equally: the shapes of the arguments, and the function."""

functional = torch.nn.functional

OWN: dict[str, tuple[list[tuple[int, ...]], Function, Function]] = {
    "cat": ([MATRIX, (4, 13)], lambda x, y: x.cat(y), lambda x, y: torch.cat([x, y])),
    "stack": ([MATRIX, MATRIX], lambda x, y: x.stack(y, dim=1), lambda x, y: torch.stack([x, y], dim=1)),
    "pad": ([MATRIX], lambda x: x.pad(((1, 2), (3, 0))), lambda x: functional.pad(x, (3, 0, 1, 2))),
    "gelu": ([MATRIX], lambda x: x.gelu(), lambda x: functional.gelu(x, approximate="tanh")),
    "silu": ([MATRIX], lambda x: x.silu(), functional.silu),
    "elu": ([MATRIX], lambda x: x.elu(), functional.elu),
    "leaky_relu": ([MATRIX], lambda x: x.leaky_relu(), functional.leaky_relu),
    "softplus": ([MATRIX], lambda x: x.softplus(), functional.softplus),
    "mish": ([MATRIX], lambda x: x.mish(), functional.mish),
    "layernorm": ([MATRIX], lambda x: x.layernorm(), lambda x: functional.layer_norm(x, (13,))),
    "conv2d": (
        [IMAGE, (4, 3, 3, 3)],
        lambda x, w: x.conv2d(w, padding=1),
        lambda x, w: functional.conv2d(x, w, padding=1),
    ),
    "strided conv2d": (
        [IMAGE, (4, 3, 3, 3)],
        lambda x, w: x.conv2d(w, stride=2),
        lambda x, w: functional.conv2d(x, w, stride=2),
    ),
    "conv_transpose2d": (
        [IMAGE, (3, 2, 3, 3)],
        lambda x, w: x.conv_transpose2d(w, stride=2),
        lambda x, w: functional.conv_transpose2d(x, w, stride=2),
    ),
    "max_pool2d": ([IMAGE], lambda x: x.max_pool2d((3, 3)), lambda x: functional.max_pool2d(x, 3)),
    "avg_pool2d": ([IMAGE], lambda x: x.avg_pool2d((3, 3)), lambda x: functional.avg_pool2d(x, 3)),
    "attention": (
        [(2, 8, 16)] * 3,
        lambda q, k, v: q.scaled_dot_product_attention(k, v),
        functional.scaled_dot_product_attention,
    ),
    "einsum": (
        [(3, 5), (5, 4)],
        lambda x, y: Tensor.einsum("ij,jk->ki", x, y),
        lambda x, y: torch.einsum("ij,jk->ki", x, y),
    ),
    "interpolate": (
        [IMAGE],
        lambda x: x.interpolate((13, 7)),
        lambda x: functional.interpolate(x, (13, 7), mode="bilinear"),
    ),
    "cross_entropy": (
        [MATRIX],
        lambda x: x.sparse_categorical_crossentropy(Tensor(np.arange(9) % 13)),
        lambda x: functional.cross_entropy(x, torch.arange(9) % 13),
    ),
}
"""Operations with tinygrad's and PyTorch's own names and arguments."""


def host(like: Any, indices: np.ndarray) -> Any:
    """Indices in the library of an array."""
    return Tensor(indices.astype(np.int32)) if isinstance(like, Tensor) else torch.from_numpy(indices)


def differences(shapes: list[tuple[int, ...]], tiny: Function, host_function: Function) -> list[str]:
    """The results that differ: the value, or the gradient of an argument."""
    rng = np.random.default_rng(7)
    values = [rng.uniform(-2, 2, shape).astype(np.float32) for shape in shapes]
    ours = [Tensor(value) for value in values]
    theirs = [torch.from_numpy(value).requires_grad_() for value in values]
    result, expected = tiny(*ours), host_function(*theirs)
    weights = rng.uniform(0.5, 1.5, tuple(expected.shape)).astype(np.float32)
    gradients = (result * Tensor(weights)).sum().gradient(*ours)
    Tensor.realize(result, *gradients)
    expected_gradients = torch.autograd.grad((expected * torch.from_numpy(weights)).sum(), theirs)
    pairs = [("value", result, expected.detach())]
    pairs += [(f"gradient {i}", *pair) for i, pair in enumerate(zip(gradients, expected_gradients, strict=True))]
    return [
        f"{name}: {error}"
        for name, found, wanted in pairs
        for error in [difference(found.numpy(), wanted.numpy())]
        if error is not None
    ]


def difference(found: np.ndarray, wanted: np.ndarray) -> str | None:
    if found.shape != wanted.shape:
        return f"shape {found.shape} instead of {wanted.shape}"
    close = np.isclose(found, wanted, rtol=1e-3, atol=1e-4)
    return None if close.all() else f"{found[~close][:4]} instead of {wanted[~close][:4]}"


def main() -> int:
    failed = 0
    operations = {name: (shapes, same, same) for name, (shapes, same) in BOTH.items()} | OWN
    for name, (shapes, tiny, host_function) in operations.items():
        wrong = differences(shapes, tiny, host_function)
        failed += bool(wrong)
        print(name, *wrong, sep="; ", flush=True)
    print(f"{len(operations) - failed} of {len(operations)} operations are right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
