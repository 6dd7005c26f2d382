"""Planted races across calls of cuRAND."""

from __future__ import annotations

import ctypes

from .place import N, Place, case, check, library, read

XORWOW = 101


def generator(at: Place) -> ctypes.c_void_p:
    """A generator in the main stream."""
    made = at.made("cuRAND", "curandCreateGenerator", "curandDestroyGenerator", XORWOW)
    check(library("cuRAND").curandSetStream(made, at.main))
    return made


@case("curandGenerate", "outputPtr")
def random_integers_are_read_in_another_stream(at: Place) -> None:
    """Random integers are copied in another stream."""
    rand, of, copy, count = library("cuRAND"), generator(at), read(at, at.a), ctypes.c_size_t(2 * N)
    check(rand.curandGenerate(of, at.a, count))  # first
    at.wait(of="side")
    check(copy())  # second


@case("curandGenerateUniform", "outputPtr")
def random_floats_are_read_in_another_stream(at: Place) -> None:
    """Uniform random numbers are copied in another stream."""
    rand, of, copy, count = library("cuRAND"), generator(at), read(at, at.a), ctypes.c_size_t(2 * N)
    check(rand.curandGenerateUniform(of, at.a, count))  # first
    at.wait(of="side")
    check(copy())  # second


@case("curandGenerateUniformDouble", "outputPtr")
def random_doubles_overwrite_what_is_read(at: Place) -> None:
    """The memory of random numbers is still copied in another stream."""
    rand, of, copy, count = library("cuRAND"), generator(at), read(at, at.a), ctypes.c_size_t(N)
    check(copy())  # first
    at.wait()
    check(rand.curandGenerateUniformDouble(of, at.a, count))  # second


@case("curandGenerateNormal", "outputPtr")
def normal_numbers_are_read_in_another_stream(at: Place) -> None:
    """Normal random numbers are copied in another stream."""
    rand, of, copy, count = library("cuRAND"), generator(at), read(at, at.a), ctypes.c_size_t(2 * N)
    check(rand.curandGenerateNormal(of, at.a, count, ctypes.c_float(0), ctypes.c_float(1)))  # first
    at.wait(of="side")
    check(copy())  # second
