"""Planted races across calls of cuSOLVER."""

from __future__ import annotations

import ctypes

from .place import N, Place, case, check, fill, library, read

LENGTH = 1 << 12


def handle(at: Place) -> ctypes.c_void_p:
    return at.handle("cuSOLVER", "cusolverDn")


@case("cusolverDnDpotrf", "A")
def matrix_of_a_cholesky_factor(at: Place) -> None:
    """A matrix is written in another stream before it is factored."""
    solver, h, write = library("cuSOLVER"), handle(at), fill(at, at.a)
    check(write())  # first
    at.wait()
    check(solver.cusolverDnDpotrf(h, 0, N, at.a, N, at.work, LENGTH, at.info))  # second


@case("cusolverDnDpotrf", "devInfo")
def result_of_a_factorization(at: Place) -> None:
    """The result of a factorization is copied in another stream."""
    solver, h, copy = library("cuSOLVER"), handle(at), read(at, at.info)
    check(solver.cusolverDnDpotrf(h, 0, N, at.a, N, at.work, LENGTH, at.info))  # first
    at.wait(of="side")
    check(copy())  # second


@case("cusolverDnDpotrf", "Workspace")
def workspace_of_two_streams(at: Place) -> None:
    """A workspace is used in another stream at the same time."""
    solver, h, write = library("cuSOLVER"), handle(at), fill(at, at.work)
    check(write())  # first
    at.wait()
    check(solver.cusolverDnDpotrf(h, 0, N, at.a, N, at.work, LENGTH, at.info))  # second


@case("cusolverDnDgetrf", "devIpiv")
def pivots_are_read_in_another_stream(at: Place) -> None:
    """The pivots of a factorization are copied in another stream."""
    solver, h, copy = library("cuSOLVER"), handle(at), read(at, at.numbers)
    check(solver.cusolverDnDgetrf(h, N, N, at.a, N, at.work, at.numbers, at.info))  # first
    at.wait(of="side")
    check(copy())  # second


@case("cusolverDnDgetrs", "B")
def right_sides_of_equations(at: Place) -> None:
    """Right sides are written in another stream before the equations are solved."""
    solver, h, write = library("cuSOLVER"), handle(at), fill(at, at.b)
    at.put(at.numbers, list(range(1, N + 1)))
    check(write())  # first
    at.wait()
    check(solver.cusolverDnDgetrs(h, 0, N, 1, at.a, N, at.numbers, at.b, N, at.info))  # second


@case("cusolverDnDgeqrf", "TAU")
def scalars_of_reflectors(at: Place) -> None:
    """The scalars of reflectors are copied in another stream."""
    solver, h, copy = library("cuSOLVER"), handle(at), read(at, at.x)
    check(solver.cusolverDnDgeqrf(h, N, N, at.a, N, at.x, at.work, LENGTH, at.info))  # first
    at.wait(of="side")
    check(copy())  # second


@case("cusolverDnDsyevd", "W")
def eigenvalues_are_read_in_another_stream(at: Place) -> None:
    """Eigenvalues are copied in another stream."""
    solver, h, copy = library("cuSOLVER"), handle(at), read(at, at.x)
    check(solver.cusolverDnDsyevd(h, 1, 0, N, at.a, N, at.x, at.work, LENGTH, at.info))  # first
    at.wait(of="side")
    check(copy())  # second


@case("cusolverDnDgesvd", "A")
def matrix_of_singular_values(at: Place) -> None:
    """A matrix is written in another stream before its singular values are computed."""
    solver, h, write = library("cuSOLVER"), handle(at), fill(at, at.a)
    job = ctypes.c_char(b"A")
    sizes = (h, job, job, N, N, at.a, N, at.x, at.b, N, at.c, N, at.work, LENGTH, None, at.info)
    check(write())  # first
    at.wait()
    check(solver.cusolverDnDgesvd(*sizes))  # second


@case("cusolverDnDsygvd", "B")
def second_matrix_of_eigenvalues(at: Place) -> None:
    """The second matrix of relative eigenvalues is written in another stream."""
    solver, h, write = library("cuSOLVER"), handle(at), fill(at, at.b)
    check(write())  # first
    at.wait()
    check(solver.cusolverDnDsygvd(h, 1, 1, 0, N, at.a, N, at.b, N, at.x, at.work, LENGTH, at.info))  # second


@case("cusolverDnDDgesv", "dB")
def call_that_waits_reads_right_sides(at: Place) -> None:
    """Right sides are written in another stream before a call that waits for its own stream only."""
    solver, h, write = library("cuSOLVER"), handle(at), fill(at, at.b)
    iterations = ctypes.byref(ctypes.c_int())
    sizes = (h, N, 1, at.a, N, at.numbers, at.b, N, at.x, N, at.work, at.bytes, iterations, at.info)
    check(write())  # first
    at.wait()
    check(solver.cusolverDnDDgesv(*sizes))  # second


@case("cusolverSpDcsrlsvqr", "csrVal")
def values_of_sparse_equations(at: Place) -> None:
    """The values of a sparse matrix are written in another stream before its equations are solved."""
    solver, h, write = library("cuSOLVER"), at.handle("cuSOLVER", "cusolverSp"), fill(at, at.c)
    matrix = at.made("cuSPARSE", "cusparseCreateMatDescr", "cusparseDestroyMatDescr")
    at.put(at.numbers, list(range(N + 1)))
    at.put(at.y, list(range(N)))
    arrays = (h, N, N, matrix, at.c, at.numbers, at.y, at.b, ctypes.c_double(), 0, at.x)
    check(write())  # first
    at.wait()
    check(solver.cusolverSpDcsrlsvqr(*arrays, ctypes.byref(ctypes.c_int())))  # second
