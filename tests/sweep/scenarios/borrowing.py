"""Borrows: the borrower's stream waits for the array's stream, which then waits for the borrower's work."""

from __future__ import annotations

import contextlib

import numpy as np

import cuarray

from ..peer import SIZE, Peer, Stream
from .table import for_each_kind, in_a_thread, scenario


def borrow_in(peer: Peer, kind: str) -> None:
    home, stream = peer.stream(), peer.stream(kind)
    produced = peer.array(home)
    with cuarray.borrow(produced, stream=stream) as array:
        peer.write(array, stream)
    peer.write(produced, home)


for_each_kind("borrow, borrower's stream", borrow_in)


def borrow_from(peer: Peer, kind: str) -> None:
    home, stream = peer.stream(kind), peer.stream()
    produced = peer.array(home)
    with cuarray.borrow(produced, stream=stream) as array:
        peer.write(array, stream)
    peer.write(produced, home)


for_each_kind("borrow, owner's stream", borrow_from)


@scenario("borrow of a DeviceArray with a per-thread stream, then use in another thread")
def borrow_across_threads(peer: Peer) -> None:
    # The handle means another stream in the other thread, so an export there waits on the host for the work in this thread's stream.
    home, stream = peer.stream("per-thread"), peer.stream()
    array = cuarray.as_cuda_array(peer.array(home), sync=False)
    with cuarray.borrow(array, stream=stream) as borrowed:
        peer.write(borrowed, stream)
    peer.write(array, home)

    def use() -> None:
        # This consumer waits on the host for the exported stream, which has no work in this thread.
        peer.synchronize(Stream(array.__cuda_array_interface__["stream"]))
        peer.write(array, peer.stream())

    in_a_thread(use)
    peer.keep(array)


@scenario("borrow in the owner's stream, which needs no ordering")
def borrow_in_place(peer: Peer) -> None:
    home = peer.stream()
    produced = peer.array(home)
    with cuarray.borrow(produced, stream=home) as array:
        peer.write(array, home)
    peer.write(produced, home)


@scenario("borrow of an array without a stream, twice, then export of the recorded work")
def borrow_without_home(peer: Peer) -> None:
    array = cuarray.to_device(np.zeros(SIZE, "u1"))
    for stream in (peer.stream(), peer.stream()):
        with cuarray.borrow(array, stream=stream) as borrowed:
            peer.write(borrowed, stream)
    peer.consume(array)
    peer.keep(array)


@scenario("read-only borrow in two streams, then work in the owner's stream")
def borrow_to_read(peer: Peer) -> None:
    home = peer.stream()
    produced = peer.array(home)
    for stream in (peer.stream(), peer.stream()):
        peer.write(produced, home)
        with cuarray.borrow(produced, stream=stream, readonly=True) as array:
            peer.read(array, stream)
    peer.write(produced, home)


@scenario("read-only borrow of an array without a stream, in two streams, then export")
def borrow_to_read_without_home(peer: Peer) -> None:
    array = cuarray.to_device(np.zeros(SIZE, "u1"))
    for stream in (peer.stream(), peer.stream()):
        with cuarray.borrow(array, stream=stream, readonly=True) as borrowed:
            peer.read(borrowed, stream)
    peer.consume(array)
    peer.keep(array)


@scenario("borrow that ends with an exception")
def borrow_failing(peer: Peer) -> None:
    home, stream = peer.stream(), peer.stream()
    produced = peer.array(home)
    with contextlib.suppress(ZeroDivisionError), cuarray.borrow(produced, stream=stream) as array:
        peer.write(array, stream)
        raise ZeroDivisionError
    peer.write(produced, home)


@scenario("borrow of two arrays of different streams at once")
def borrow_two(peer: Peer) -> None:
    homes, stream = (peer.stream(), peer.stream()), peer.stream()
    first, second = (peer.array(home) for home in homes)
    with cuarray.borrow(first, stream=stream) as one:
        with cuarray.borrow(second, stream=stream) as two:
            peer.write(two, stream)
        peer.write(one, stream)
    peer.write(first, homes[0])
    peer.write(second, homes[1])


@scenario("borrow twice, one after the other")
def borrow_twice(peer: Peer) -> None:
    home = peer.stream()
    produced = peer.array(home)
    for stream in (peer.stream(), peer.stream()):
        peer.write(produced, home)
        with cuarray.borrow(produced, stream=stream) as array:
            peer.write(array, stream)
    peer.write(produced, home)


@scenario("borrow of an array with an exported event")
def borrow_event(peer: Peer) -> None:
    home, stream, done = peer.stream(), peer.stream(), cuarray.event()
    produced = peer.array(home)
    done.record(home)
    with cuarray.borrow(produced, stream=stream, event=done) as array:
        peer.write(array, stream)
    peer.write(produced, home)
    peer.keep(done)


@scenario("borrow of a masked array whose mask has another stream")
def borrow_masked(peer: Peer) -> None:
    homes, stream = (peer.stream(), peer.stream()), peer.stream()
    mask = peer.array(homes[1])
    produced = peer.array(homes[0], mask=mask)
    with cuarray.borrow(produced, stream=stream, mask="keep") as array:
        peer.write(array, stream)
        peer.read(array.mask, stream)
    peer.write(produced, homes[0])
    peer.write(mask, homes[1])


@scenario("borrow in another thread, in its per-thread default stream")
def borrow_in_a_thread(peer: Peer) -> None:
    home = peer.stream()
    produced = peer.array(home)

    def work() -> None:
        stream = peer.stream("per-thread")
        with cuarray.borrow(produced, stream=stream) as array:
            peer.write(array, stream)

    in_a_thread(work)
    peer.write(produced, home)


@scenario("borrow on a second device")
def borrow_on_another_device(peer: Peer) -> None:
    home, stream = peer.stream(device=1), peer.stream(device=1)
    produced = peer.array(home)
    with cuarray.borrow(produced, stream=stream) as array:
        peer.write(array, stream)
    peer.write(produced, home)
