"""Planted races across calls of cuSPARSE."""

from __future__ import annotations

import ctypes
from typing import Any

from .place import ONE, ZERO, N, Place, case, check, fill, library, read

INT32, DOUBLE = 2, 1
LONG = ctypes.c_int64(N)


def handle(at: Place) -> ctypes.c_void_p:
    return at.handle("cuSPARSE", "cusparse")


def matrix(at: Place) -> ctypes.c_void_p:
    """A diagonal matrix by rows: its offsets, columns and values are `numbers`, `info` and `a`."""
    at.put(at.numbers, list(range(N + 1)))
    at.put(at.info, list(range(N)))
    arrays = (LONG, LONG, LONG, at.numbers, at.info, at.a, INT32, INT32, 0, DOUBLE)
    return at.made("cuSPARSE", "cusparseCreateCsr", "cusparseDestroySpMat", *arrays)


def vector(at: Place, memory: ctypes.c_void_p) -> ctypes.c_void_p:
    return at.made("cuSPARSE", "cusparseCreateDnVec", "cusparseDestroyDnVec", LONG, memory, DOUBLE)


def dense(at: Place, memory: ctypes.c_void_p) -> ctypes.c_void_p:
    shape = (LONG, LONG, LONG, memory, DOUBLE, 1)
    return at.made("cuSPARSE", "cusparseCreateDnMat", "cusparseDestroyDnMat", *shape)


def product(at: Place) -> tuple[Any, ...]:
    """The arguments of a product with a vector."""
    factors = ctypes.byref(ONE), ctypes.byref(ZERO)
    x, y = vector(at, at.x), vector(at, at.y)
    return handle(at), 0, factors[0], matrix(at), x, factors[1], y, DOUBLE, 0, at.work


@case("cusparseSpMV", "vecX")
def vector_of_a_product(at: Place) -> None:
    """A vector is written in another stream before its product with a sparse matrix."""
    sparse, arguments, write = library("cuSPARSE"), product(at), fill(at, at.x)
    check(write())  # first
    at.wait()
    check(sparse.cusparseSpMV(*arguments))  # second


@case("cusparseSpMV", "csrValues")
def values_of_a_product(at: Place) -> None:
    """The values of a sparse matrix are written in another stream before its product."""
    sparse, arguments, write = library("cuSPARSE"), product(at), fill(at, at.a)
    check(write())  # first
    at.wait()
    check(sparse.cusparseSpMV(*arguments))  # second


@case("cusparseSpMV", "csrRowOffsets")
def offsets_of_a_product(at: Place) -> None:
    """The offsets of a sparse matrix are written in another stream after its product."""
    sparse, arguments, write = library("cuSPARSE"), product(at), fill(at, at.numbers)
    check(sparse.cusparseSpMV(*arguments))  # first
    at.wait(of="side")
    check(write())  # second


@case("cusparseSpMV", "vecY")
def sparse_product_is_read_in_another_stream(at: Place) -> None:
    """The result of a sparse product is copied in another stream."""
    sparse, arguments, copy = library("cuSPARSE"), product(at), read(at, at.y)
    check(sparse.cusparseSpMV(*arguments))  # first
    at.wait(of="side")
    check(copy())  # second


@case("cusparseSpMM", "matB")
def dense_matrix_of_a_product(at: Place) -> None:
    """A dense matrix is written in another stream before its product with a sparse one."""
    sparse, h, write = library("cuSPARSE"), handle(at), fill(at, at.b)
    one, zero = ctypes.byref(ONE), ctypes.byref(ZERO)
    arguments = (h, 0, 0, one, matrix(at), dense(at, at.b), zero, dense(at, at.c), DOUBLE, 0, at.work)
    check(write())  # first
    at.wait()
    check(sparse.cusparseSpMM(*arguments))  # second


@case("cusparseSpMM", "matC")
def product_with_a_dense_matrix_is_read(at: Place) -> None:
    """The product of a sparse and a dense matrix is copied in another stream."""
    sparse, h, copy = library("cuSPARSE"), handle(at), read(at, at.c)
    one, zero = ctypes.byref(ONE), ctypes.byref(ZERO)
    arguments = (h, 0, 0, one, matrix(at), dense(at, at.b), zero, dense(at, at.c), DOUBLE, 0, at.work)
    check(sparse.cusparseSpMM(*arguments))  # first
    at.wait(of="side")
    check(copy())  # second


@case("cusparseSparseToDense", "matB")
def dense_copy_is_read_in_another_stream(at: Place) -> None:
    """A sparse matrix that becomes a dense one is copied in another stream."""
    sparse, h, copy = library("cuSPARSE"), handle(at), read(at, at.c)
    arguments = (h, matrix(at), dense(at, at.c), 0, at.work)
    check(sparse.cusparseSparseToDense(*arguments))  # first
    at.wait(of="side")
    check(copy())  # second


def few(at: Place) -> ctypes.c_void_p:
    """A sparse vector: its indices and values are `info` and `a`."""
    at.put(at.info, list(range(N)))
    arrays = (LONG, LONG, at.info, at.a, INT32, 0, DOUBLE)
    return at.made("cuSPARSE", "cusparseCreateSpVec", "cusparseDestroySpVec", *arrays)


@case("cusparseGather", "vecY")
def gathered_vector(at: Place) -> None:
    """A vector is written in another stream before elements of it are gathered."""
    sparse, h, write = library("cuSPARSE"), handle(at), fill(at, at.y)
    y, x = vector(at, at.y), few(at)
    check(write())  # first
    at.wait()
    check(sparse.cusparseGather(h, y, x))  # second


@case("cusparseScatter", "values")
def values_of_a_scatter(at: Place) -> None:
    """The values of a sparse vector are written in another stream before it is scattered."""
    sparse, h, write = library("cuSPARSE"), handle(at), fill(at, at.a)
    x, y = few(at), vector(at, at.y)
    check(write())  # first
    at.wait()
    check(sparse.cusparseScatter(h, x, y))  # second
