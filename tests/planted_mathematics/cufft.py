"""Planted races across calls of cuFFT."""

from __future__ import annotations

import ctypes

from .place import N, Place, case, check, fill, library, read

C2C, R2C, Z2Z = 0x29, 0x2A, 0x69


def plan(at: Place, kind: int) -> ctypes.c_int:
    """A plan for a line of N numbers."""
    fft, made = library("cuFFT"), ctypes.c_int()
    check(fft.cufftPlan1d(ctypes.byref(made), N, kind, 1))
    check(fft.cufftSetStream(made, at.main))
    at.ends.append(lambda: fft.cufftDestroy(made))
    return made


@case("cufftExecC2C", "idata")
def transform_reads_its_input(at: Place) -> None:
    """Numbers are written in another stream before their transform."""
    fft, of, write = library("cuFFT"), plan(at, C2C), fill(at, at.a)
    check(write())  # first
    at.wait()
    check(fft.cufftExecC2C(of, at.a, at.b, -1))  # second


@case("cufftExecC2C", "odata")
def transform_is_read_in_another_stream(at: Place) -> None:
    """A transform is copied in another stream."""
    fft, of, copy = library("cuFFT"), plan(at, C2C), read(at, at.b)
    check(fft.cufftExecC2C(of, at.a, at.b, -1))  # first
    at.wait(of="side")
    check(copy())  # second


@case("cufftExecZ2Z", "idata")
def transform_in_place(at: Place) -> None:
    """Numbers are written in another stream before their transform in place."""
    fft, of, write = library("cuFFT"), plan(at, Z2Z), fill(at, at.a)
    check(write())  # first
    at.wait()
    check(fft.cufftExecZ2Z(of, at.a, at.a, -1))  # second


@case("cufftExecR2C", "idata")
def real_numbers_are_written_again_too_early(at: Place) -> None:
    """The input of a real transform is written in another stream after it."""
    fft, of, write = library("cuFFT"), plan(at, R2C), fill(at, at.a)
    check(fft.cufftExecR2C(of, at.a, at.b))  # first
    at.wait(of="side")
    check(write())  # second


@case("cufftExecR2C", "odata")
def real_transform_overwrites_what_is_read(at: Place) -> None:
    """The memory of a result is still copied in another stream."""
    fft, of, copy = library("cuFFT"), plan(at, R2C), read(at, at.b)
    check(copy())  # first
    at.wait()
    check(fft.cufftExecR2C(of, at.a, at.b))  # second
