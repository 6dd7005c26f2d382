"""Grids and samples of spatial transformers by the stand-in for cuDNN, compared with sums of NumPy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from device_probe import order, second_stream
from dnn_probe import (
    BAD_PARAM,
    FORMS,
    KINDS,
    NOT_SUPPORTED,
    NULL_POINTER,
    SUCCESS,
    Dnn,
    Tensor,
    close,
    ints,
    of,
    sides_of,
    write,
)

SHAPE = (2, 3, 4, 5)
"""The result: images, channels, rows and columns."""
EACH = pytest.mark.parametrize("kind", list(KINDS))


def transformer(dnn: Dnn, kind: str = "float", shape: tuple[int, ...] = SHAPE) -> ctypes.c_void_p:
    return dnn.made("SpatialTransformer", 0, KINDS[kind], len(shape), ints(shape), of="SpatialTransformerNd")


def points() -> np.ndarray:
    """Both coordinates and 1 of each place of a result."""
    rows, columns = np.meshgrid(np.linspace(-1, 1, SHAPE[2]), np.linspace(-1, 1, SHAPE[3]), indexing="ij")
    return np.stack([columns, rows, np.ones(rows.shape)], axis=-1)


def rounded(dnn: Dnn, values: np.ndarray, kind: str) -> tuple[Tensor, np.ndarray]:
    tensor = dnn.tensor(values, kind)
    return tensor, dnn.values(tensor)


@EACH
def test_grid_is_the_product_of_maps_and_places(dnn: Dnn, kind: str) -> None:
    made = transformer(dnn, kind)
    maps, theta = rounded(dnn, dnn.random((2, 2, 3)) / 4, kind)
    grid = dnn.tensor(np.zeros((2, 4, 5, 2)), kind)
    assert dnn.call("SpatialTfGridGeneratorForward", made, maps.address, grid.address) == SUCCESS
    close(dnn.values(grid), np.einsum("nij,hwj->nhwi", theta, points()), kind)
    change, dgrid = rounded(dnn, dnn.random((2, 4, 5, 2)), kind)
    result = dnn.tensor(np.zeros((2, 2, 3)), kind)
    assert dnn.call("SpatialTfGridGeneratorBackward", made, change.address, result.address) == SUCCESS
    close(dnn.values(result), np.einsum("nhwi,hwj->nij", dgrid, points()), kind)


def weights(grid: np.ndarray, height: int, width: int) -> np.ndarray:
    """The weight of each element of an image in each sample. Elements outside of the image count as 0."""
    parts = []
    for index, size in ((1, height), (0, width)):
        position = (grid[..., index, None] + 1) * (size - 1) / 2
        parts.append(np.maximum(1 - np.abs(position - np.arange(size)), 0))
    return np.einsum("npqh,npqw->npqhw", *parts)


@EACH
@pytest.mark.parametrize("form", FORMS)
def test_samples_and_their_gradients(dnn: Dnn, kind: str, form: str) -> None:
    made, size = transformer(dnn, kind), (6, 7)
    places, grid = rounded(dnn, dnn.rng.uniform(-1.4, 1.4, (2, 4, 5, 2)), kind)
    x, before, dy = (dnn.random(shape) for shape in ((2, 3, *size), SHAPE, SHAPE))
    given, y = dnn.tensor(x, kind, form), dnn.tensor(before, kind, form)
    one, two = dnn.scalar(2, kind), dnn.scalar(0.5, kind)
    assert dnn.call("SpatialTfSamplerForward", made, one, *of(given), places.address, two, *of(y)) == SUCCESS
    of_image = weights(grid, *size)
    close(dnn.values(y), 2 * np.einsum("npqhw,nchw->ncpq", of_image, x) + before / 2, kind)
    change, dx = dnn.tensor(dy, kind, form), dnn.tensor(np.ones(x.shape), kind, form)
    dgrid, zero = dnn.tensor(np.ones(grid.shape), kind), dnn.scalar(0, kind)
    images = *of(given), two, *of(dx), dnn.scalar(1, kind), *of(change)
    assert dnn.call("SpatialTfSamplerBackward", made, one, *images, places.address, zero, dgrid.address) == SUCCESS
    close(dnn.values(dx), 2 * np.einsum("npqhw,ncpq->nchw", of_image, dy) + 0.5, kind)
    # The samples are linear between elements, so the differences are exact there.
    step, slopes = 1e-7, np.zeros(grid.shape)
    for index in range(2):
        move = np.where(np.arange(2) == index, step, 0)
        change_of = (weights(grid + move, *size) - weights(grid - move, *size)) / (2 * step)
        slopes[..., index] = np.einsum("npqhw,nchw,ncpq->npq", change_of, x, dy)
    if kind == "double":
        np.testing.assert_allclose(dnn.values(dgrid), slopes, atol=1e-4)
    else:
        close(dnn.values(dgrid), slopes, kind)


def test_arguments_are_checked(dnn: Dnn) -> None:
    unset, made = dnn.made("SpatialTransformer"), transformer(dnn)
    for arguments, expected in (
        ((1, 0, 4, ints(SHAPE)), BAD_PARAM),
        ((0, 0, 3, ints(SHAPE)), NOT_SUPPORTED),
        ((0, 0, 9, ints(SHAPE)), BAD_PARAM),
        ((0, 3, 4, ints(SHAPE)), NOT_SUPPORTED),
        ((0, 77, 4, ints(SHAPE)), BAD_PARAM),
        ((0, 0, 4, ints((2, 3, 0, 5))), BAD_PARAM),
        ((0, 0, 4, ints((2, 3, -4, 5))), BAD_PARAM),
        ((0, 0, 4, None), NULL_POINTER),
    ):
        assert dnn.plain("SetSpatialTransformerNdDescriptor", unset, *arguments) == expected, arguments
    assert dnn.plain("CreateSpatialTransformerDescriptor", None) == NULL_POINTER
    x, y, grid = (dnn.tensor(np.ones(shape)) for shape in ((2, 3, 6, 7), SHAPE, (2, 4, 5, 2)))
    one, zero = dnn.scalar(1), dnn.scalar(0)

    def status(made: Any = made, x: Tensor = x, grid: Any = grid.address, y: Tensor = y) -> int:
        return dnn.call("SpatialTfSamplerForward", made, one, *of(x), grid, zero, *of(y))

    assert status() == SUCCESS
    assert status(made=unset) == BAD_PARAM
    assert status(grid=None) == NULL_POINTER
    assert status(x=dnn.tensor(np.ones((2, 4, 6, 7)))) == BAD_PARAM
    assert status(x=dnn.tensor(np.ones((2, 3, 6, 7)), "double")) == BAD_PARAM
    assert status(y=dnn.tensor(np.ones((2, 3, 4, 6)))) == BAD_PARAM
    assert dnn.call("SpatialTfGridGeneratorForward", made, None, grid.address) == NULL_POINTER


def test_places_that_are_no_numbers_are_outside_of_the_image(dnn: Dnn) -> None:
    made, x, y = transformer(dnn), dnn.tensor(np.ones((2, 3, 6, 7))), dnn.tensor(np.ones(SHAPE))
    grid = dnn.tensor(np.resize([np.nan, 0, np.inf, 0, -np.inf, 1e30], (2, 4, 5, 2)))
    one, zero = dnn.scalar(1), dnn.scalar(0)
    assert dnn.call("SpatialTfSamplerForward", made, one, *of(x), grid.address, zero, *of(y)) == SUCCESS
    assert not dnn.values(y).any()


def sample_beside_a_write(dnn: Dnn, *, waits: bool) -> None:
    """Write the grid in another stream, and sample."""
    made, x, y = transformer(dnn), dnn.tensor(np.ones((2, 3, 6, 7))), dnn.tensor(np.ones(SHAPE))
    grid, one, zero = dnn.tensor(np.zeros((2, 4, 5, 2))), dnn.scalar(1), dnn.scalar(0)
    with second_stream() as other:
        write(grid.address, other)
        if waits:
            order(other, dnn.stream)
        assert dnn.call("SpatialTfSamplerForward", made, one, *of(x), grid.address, zero, *of(y)) == SUCCESS


@pytest.mark.cuarray_sim(expect="data-race")
def test_grid_that_another_stream_writes_without_a_wait_is_a_race(dnn: Dnn, findings_of: Any) -> None:
    sample_beside_a_write(dnn, waits=False)
    assert {side["detail"] for side in sides_of(findings_of(), "SpatialTfSamplerForward")} == {"argument grid"}


def test_grid_that_another_stream_writes_with_a_wait_has_no_findings(dnn: Dnn) -> None:
    sample_beside_a_write(dnn, waits=True)
