"""The epilogues of the stand-in for cublasLt: biases, functions, auxiliary matrices and gradients, compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from blas_probe import GAP, INVALID_VALUE, NOT_SUPPORTED, SUCCESS, T, close
from lt_probe import C_64F, COMPUTE_32F, COMPUTE_64F, R_16BF, R_16F, R_32F, R_64F, ROW, Lt, Matrix, bfloat, of_bfloat

RELU, BIAS, GELU, AUX = 2, 4, 32, 128
DRELU, DGELU, BGRAD, BGRADA, BGRADB = 8 | AUX, 64 | AUX, 16, 256, 512
M, N, K = 12, 5, 3


def gelu(x: np.ndarray) -> np.ndarray:
    result: np.ndarray = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return result


def slope(x: np.ndarray) -> np.ndarray:
    """The derivative of `gelu`, by differences."""
    step = 1e-5
    result: np.ndarray = (gelu(x + step) - gelu(x - step)) / (2 * step)
    return result


def operands(lt: Lt, count: int = 2) -> tuple[Matrix, Matrix, Matrix, np.ndarray]:
    a, b = (
        Matrix(lt, lt.random((count, M, K), np.float32), R_32F),
        Matrix(lt, lt.random((count, K, N), np.float32), R_32F),
    )
    d = Matrix(lt, np.zeros((count, M, N), np.float32), R_32F, gap=2)
    return a, b, d, 0.25 * a.values.astype(np.float64) @ b.values


def run(lt: Lt, a: Matrix, b: Matrix, d: Matrix, **values: int) -> int:
    alpha, beta = lt.scalar(0.25, np.float32), lt.scalar(0, np.float32)
    return lt.matmul(lt.description(COMPUTE_32F, R_32F, **values), alpha, a, b, beta, d, d)


FUNCTIONS = {0: lambda x: x, RELU: lambda x: np.maximum(x, 0), GELU: gelu}


@pytest.mark.parametrize("function", FUNCTIONS, ids=["identity", "relu", "gelu"])
@pytest.mark.parametrize("stride", [None, 0, M + 3], ids=["none", "shared", "own"])
def test_function_follows_the_bias(lt: Lt, function: int, stride: int | None) -> None:
    a, b, d, product = operands(lt)
    values, vectors = {"epilogue": function or 1}, np.zeros((2, M))
    if stride is not None:
        bias = lt.random((2 * (M + 3),), np.float32)
        values = {"epilogue": function | BIAS, "bias": lt.put(bias), "bias_stride": stride}
        vectors = np.stack([bias[item * stride :][:M] for item in range(2)])
    assert run(lt, a, b, d, **values) == SUCCESS
    close(d.get(lt), FUNCTIONS[function](product + vectors[:, :, None]).astype(np.float32))


def test_result_by_rows_has_the_bias_of_its_rows(lt: Lt) -> None:
    a, b, _, product = operands(lt)
    d = Matrix(lt, np.zeros((2, M, N), np.float32), R_32F, order=ROW, gap=1)
    bias = lt.random((M,), np.float32)
    assert run(lt, a, b, d, epilogue=BIAS, bias=lt.put(bias)) == SUCCESS
    close(d.get(lt), (product + bias[None, :, None]).astype(np.float32))


@pytest.mark.parametrize("kind", [R_16BF, R_32F], ids=["bfloat", "float"])
def test_bias_has_the_type_that_the_descriptor_names(lt: Lt, kind: int) -> None:
    x, y, bias = (lt.random(shape, np.float32) for shape in ((1, M, K), (1, K, N), (M,)))
    a, b = Matrix(lt, bfloat(x), R_16BF), Matrix(lt, bfloat(y), R_16BF)
    d = Matrix(lt, np.zeros((1, M, N), np.uint16), R_16BF)
    put = lt.put(bfloat(bias) if kind == R_16BF else bias)
    description = lt.description(COMPUTE_32F, R_32F, epilogue=BIAS, bias=put, bias_type=kind)
    one, zero = lt.scalar(1, np.float32), lt.scalar(0, np.float32)
    assert lt.matmul(description, one, a, b, zero, d, d) == SUCCESS
    np.testing.assert_array_equal(of_bfloat(d.get(lt)), x @ y + bias[None, :, None])


def bits(positive: np.ndarray, ld: int) -> np.ndarray:
    """The bytes of a matrix of bits by columns, with the bytes that no call may change."""
    memory = np.full((*positive.shape[::2], ld // 8), GAP, np.uint8)
    packed = np.packbits(positive.swapaxes(1, 2), axis=2, bitorder="little")
    memory[:, :, : packed.shape[2]] = packed
    return memory


def test_bits_of_relu_tell_the_gradient(lt: Lt) -> None:
    a, b, d, product = operands(lt)
    bias, ld = lt.random((M,), np.float32), 128
    aux = lt.put(np.full((2 * N * ld // 8,), GAP, np.uint8))
    values = {"aux": aux, "aux_ld": ld, "aux_stride": N * ld}
    assert run(lt, a, b, d, epilogue=RELU | AUX | BIAS, bias=lt.put(bias), **values) == SUCCESS
    inputs = product + bias[None, :, None]
    close(d.get(lt), np.maximum(inputs, 0).astype(np.float32))
    expected = bits(inputs > 0, ld)
    np.testing.assert_array_equal(lt.get(aux, expected.reshape(-1)), expected.reshape(-1))
    sums = lt.put(np.full(2 * M + 3, GAP, np.float32))
    values |= {"bias": sums, "bias_stride": M + 3}
    assert run(lt, a, b, d, epilogue=DRELU | BGRAD, **values) == SUCCESS
    gradient = np.where(inputs > 0, product, 0)
    close(d.get(lt), gradient.astype(np.float32))
    memory = lt.get(sums, np.zeros(2 * M + 3, np.float32))
    close(np.stack([memory[:M], memory[M + 3 :]]), gradient.sum(axis=2).astype(np.float32))
    np.testing.assert_array_equal(memory[M : M + 3], GAP)


@pytest.mark.parametrize("gradient", [DGELU, DGELU | BGRAD])
def test_input_of_gelu_tells_the_gradient(lt: Lt, gradient: int) -> None:
    a, b, d, product = operands(lt)
    ld = 16
    aux = lt.put(np.full((2, N, ld), GAP, np.float32).reshape(-1))
    values = {"aux": aux, "aux_ld": ld, "aux_stride": N * ld}
    assert run(lt, a, b, d, epilogue=GELU | AUX, **values) == SUCCESS
    close(d.get(lt), gelu(product).astype(np.float32))
    memory = lt.get(aux, np.zeros(2 * N * ld, np.float32)).reshape(2, N, ld)
    close(memory[:, :, :M].swapaxes(1, 2), product.astype(np.float32))
    np.testing.assert_array_equal(memory[:, :, M:], GAP)
    sums = lt.put(np.zeros(2 * M, np.float32))
    assert run(lt, a, b, d, epilogue=gradient, bias=sums, bias_stride=M, **values) == SUCCESS
    expected = product * slope(product)
    np.testing.assert_allclose(d.get(lt), expected, rtol=1e-3, atol=1e-3)
    if gradient & BGRAD:
        found = lt.get(sums, np.zeros(2 * M, np.float32)).reshape(2, M)
        np.testing.assert_allclose(found, expected.sum(axis=2), rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("transposed", [0, T])
def test_gradients_of_biases_are_sums_of_the_inputs(lt: Lt, transposed: int) -> None:
    x, y = lt.random((1, M, K), np.float32), lt.random((1, K, N), np.float32)
    turned = [each.swapaxes(1, 2) if transposed else each for each in (x, y)]
    a, b = (Matrix(lt, each, R_32F, gap=1) for each in turned)
    d = Matrix(lt, np.zeros((1, M, N), np.float32), R_32F)
    for epilogue, expected in ((BGRADA, x[0].sum(axis=1)), (BGRADB, y[0].sum(axis=0))):
        sums = lt.put(np.full(len(expected) + 1, GAP, np.float32))
        values = {"epilogue": epilogue, "bias": sums, "transa": transposed, "transb": transposed}
        assert run(lt, a, b, d, **values) == SUCCESS
        close(d.get(lt), (0.25 * x @ y).astype(np.float32))
        np.testing.assert_array_equal(lt.get(sums, np.zeros(len(expected) + 1, np.float32)), [*expected, GAP])


def test_wrong_epilogues_are_refused(lt: Lt) -> None:
    a, b, d, _ = operands(lt)
    put = lt.put(np.zeros(4096, np.float32))
    invalid: list[dict[str, int]] = [
        {"epilogue": 3},
        {"epilogue": BIAS},
        {"epilogue": BIAS, "bias": put, "bias_type": R_64F},
        {"epilogue": BIAS, "bias": put, "bias_stride": -1},
        {"epilogue": RELU | AUX, "aux": put, "aux_ld": 64, "aux_stride": 1280},
        {"epilogue": RELU | AUX, "aux": put, "aux_ld": 128},
        {"epilogue": RELU | AUX, "aux_ld": 128, "aux_stride": 1280},
        {"epilogue": GELU | AUX, "aux": put, "aux_ld": 8, "aux_stride": 128},
        {"epilogue": GELU | AUX, "aux": put, "aux_ld": 16, "aux_stride": 128, "aux_type": R_16F},
        {"epilogue": DRELU | BGRAD, "aux": put, "aux_ld": 128, "aux_stride": 1280, "bias": put},
        {"scale_a": put},
        {"amax_d": put},
    ]
    for values in invalid:
        assert run(lt, a, b, d, **values) == INVALID_VALUE, values
    assert not d.get(lt).any()
    complexes = Matrix(lt, np.zeros((1, 4, 4), np.complex128), C_64F)
    description = lt.description(COMPUTE_64F, C_64F, epilogue=RELU)
    one = lt.scalar(1, np.complex128)
    assert lt.matmul(description, one, complexes, complexes, one, complexes, complexes) == NOT_SUPPORTED
