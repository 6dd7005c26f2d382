"""Frees: memory is freed after the pending work on it."""

from __future__ import annotations

import cuarray

from ..peer import SIZE, Peer
from .table import in_a_thread, pinned, scenario


# A release waits for the legacy default stream too, for work that a failed call left there. That wait has the effect of the record
# and the wait for a blocking stream, such as the package's own streams.
@scenario("free while work in the home stream is pending", covered=2)
def free_with_home(peer: Peer) -> None:
    stream = cuarray.stream()
    array = cuarray.device_array(SIZE, "u1", stream=stream)
    peer.write(array, stream)
    del array
    cuarray.reclaim()
    peer.keep(stream)


@scenario("free while recorded work is pending")
def free_recorded(peer: Peer) -> None:
    array = cuarray.device_array(SIZE, "u1")
    for stream in (peer.stream(), peer.stream()):
        peer.read(array[:1], stream)
        array.record_stream(stream)
    del array
    cuarray.reclaim()


@scenario("free in a thread without a current context", covered=2)
def free_in_a_thread(peer: Peer) -> None:
    arrays = [cuarray.device_array(SIZE, "u1", stream=cuarray.stream())]
    peer.write(arrays[0], arrays[0].stream)
    in_a_thread(arrays.clear)
    cuarray.reclaim()


@scenario("free of an array whose foreign stream is already destroyed")
def free_after_the_stream(peer: Peer) -> None:
    stream, host = peer.stream(), pinned()
    array = cuarray.to_device(host, stream=stream)
    peer.destroy(stream)
    del array
    cuarray.reclaim()
    peer.keep(host)
