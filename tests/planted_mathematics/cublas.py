"""Planted races across calls of cuBLAS."""

from __future__ import annotations

import ctypes

from .place import ONE, ZERO, N, Place, case, check, fill, library, read


def handle(at: Place) -> ctypes.c_void_p:
    return at.handle("cuBLAS", "cublas", suffix="_v2")


def gemm(at: Place, h: ctypes.c_void_p, beta: ctypes.c_double = ZERO) -> tuple[object, ...]:
    return (h, 0, 0, N, N, N, ctypes.byref(ONE), at.a, N, at.b, N, ctypes.byref(beta), at.c, N)


@case("cublasDgemm", "A")
def product_reads_its_first_factor(at: Place) -> None:
    """A factor is written in another stream before the product."""
    blas, arguments, write = library("cuBLAS"), gemm(at, handle(at)), fill(at, at.a)
    check(write())  # first
    at.wait()
    check(blas.cublasDgemm_v2(*arguments))  # second


@case("cublasDgemm", "B")
def product_reads_its_second_factor(at: Place) -> None:
    """The other factor is written in another stream before the product."""
    blas, arguments, write = library("cuBLAS"), gemm(at, handle(at)), fill(at, at.b)
    check(write())  # first
    at.wait()
    check(blas.cublasDgemm_v2(*arguments))  # second


@case("cublasDgemm", "C")
def product_is_read_in_another_stream(at: Place) -> None:
    """The result is copied in another stream after the product."""
    blas, arguments, copy = library("cuBLAS"), gemm(at, handle(at)), read(at, at.c)
    check(blas.cublasDgemm_v2(*arguments))  # first
    at.wait(of="side")
    check(copy())  # second


@case("cublasDgemm", "C")
def product_adds_to_a_matrix(at: Place) -> None:
    """The matrix that a product is added to is written in another stream."""
    blas, arguments, write = library("cuBLAS"), gemm(at, handle(at), ONE), fill(at, at.c)
    check(write())  # first
    at.wait()
    check(blas.cublasDgemm_v2(*arguments))  # second


@case("cublasDgemm", "A")
def factor_is_written_again_too_early(at: Place) -> None:
    """A factor is written in another stream after the product."""
    blas, arguments, write = library("cuBLAS"), gemm(at, handle(at)), fill(at, at.a)
    check(blas.cublasDgemm_v2(*arguments))  # first
    at.wait(of="side")
    check(write())  # second


@case("cublasDgemm", "alpha")
def factor_in_device_memory(at: Place) -> None:
    """The scalar of a product in device memory is written in another stream."""
    blas, h, write = library("cuBLAS"), handle(at), fill(at, at.x)
    check(blas.cublasSetPointerMode_v2(h, 1))
    check(write())  # first
    at.wait()
    check(blas.cublasDgemm_v2(h, 0, 0, N, N, N, at.x, at.a, N, at.b, N, at.y, at.c, N))  # second


@case("cublasDaxpy", "x")
def sum_reads_a_vector(at: Place) -> None:
    """A vector is written in another stream before a sum."""
    blas, h, write = library("cuBLAS"), handle(at), fill(at, at.x)
    check(write())  # first
    at.wait()
    check(blas.cublasDaxpy_v2(h, N, ctypes.byref(ONE), at.x, 1, at.y, 1))  # second


@case("cublasDaxpy", "y")
def sum_is_read_in_another_stream(at: Place) -> None:
    """The result of a sum is copied in another stream."""
    blas, h, copy = library("cuBLAS"), handle(at), read(at, at.y)
    check(blas.cublasDaxpy_v2(h, N, ctypes.byref(ONE), at.x, 1, at.y, 1))  # first
    at.wait(of="side")
    check(copy())  # second


@case("cublasDdot", "result")
def dot_product_in_device_memory(at: Place) -> None:
    """A dot product in device memory is read in another stream."""
    blas, h, copy = library("cuBLAS"), handle(at), read(at, at.c)
    check(blas.cublasSetPointerMode_v2(h, 1))
    check(blas.cublasDdot_v2(h, N, at.x, 1, at.y, 1, at.c))  # first
    at.wait(of="side")
    check(copy())  # second


@case("cublasDscal", "x")
def scaled_vector(at: Place) -> None:
    """A vector is written in another stream before it is scaled."""
    blas, h, write = library("cuBLAS"), handle(at), fill(at, at.x)
    check(write())  # first
    at.wait()
    check(blas.cublasDscal_v2(h, N, ctypes.byref(ctypes.c_double(2)), at.x, 1))  # second


@case("cublasDgemv", "A")
def matrix_of_a_product_with_a_vector(at: Place) -> None:
    """A matrix is written in another stream before its product with a vector."""
    blas, h, write = library("cuBLAS"), handle(at), fill(at, at.a)
    check(write())  # first
    at.wait()
    check(
        blas.cublasDgemv_v2(h, 0, N, N, ctypes.byref(ONE), at.a, N, at.x, 1, ctypes.byref(ZERO), at.y, 1)  # second
    )


@case("cublasDtrsm", "B")
def triangular_equations(at: Place) -> None:
    """Right sides are written in another stream before triangular equations."""
    blas, h, write = library("cuBLAS"), handle(at), fill(at, at.b)
    check(write())  # first
    at.wait()
    check(blas.cublasDtrsm_v2(h, 0, 0, 0, 0, N, N, ctypes.byref(ONE), at.a, N, at.b, N))  # second


@case("cublasDgemmBatched", "A")
def matrix_behind_a_pointer(at: Place) -> None:
    """A matrix behind an array of pointers is written in another stream."""
    blas, h, write = library("cuBLAS"), handle(at), fill(at, at.a)
    pointers = [at.x, at.y, at.numbers]
    for array, matrix in zip(pointers, (at.a, at.b, at.c), strict=True):
        at.put(array, [matrix.value or 0], ctypes.c_uint64)
    sizes = (h, 0, 0, N, N, N, ctypes.byref(ONE), at.x, N, at.y, N, ctypes.byref(ZERO), at.numbers, N, 1)
    check(write())  # first
    at.wait()
    check(blas.cublasDgemmBatched(*sizes))  # second


@case("cublasDgetrfBatched", "infoArray")
def results_of_factors_of_a_batch(at: Place) -> None:
    """The results of factorizations are read in another stream."""
    blas, h, copy = library("cuBLAS"), handle(at), read(at, at.info)
    at.put(at.x, [at.a.value or 0], ctypes.c_uint64)
    check(blas.cublasDgetrfBatched(h, N, at.x, N, at.numbers, at.info, 1))  # first
    at.wait(of="side")
    check(copy())  # second


@case("cublasDgeam", "C")
def sum_of_matrices(at: Place) -> None:
    """A sum of matrices is copied in another stream."""
    blas, h, copy = library("cuBLAS"), handle(at), read(at, at.c)
    one = ctypes.byref(ONE)
    check(blas.cublasDgeam(h, 0, 0, N, N, one, at.a, N, one, at.b, N, at.c, N))  # first
    at.wait(of="side")
    check(copy())  # second
