"""Copies and assignments, ordered after pending work in the array's home stream and before its later work."""

from __future__ import annotations

import numpy as np

import cuarray

from ..peer import SIZE, Peer
from .table import for_each_kind, in_a_thread, pinned, scenario


def copy_to_host_in(peer: Peer, kind: str) -> None:
    home, given, target = peer.stream(), peer.stream(kind), pinned()
    array = cuarray.as_cuda_array(peer.array(home), sync=False)
    array.copy_to_host(target, stream=given)
    peer.write(array, home)
    peer.synchronize(given)
    peer.keep(array, target)


for_each_kind("copy to the host, in a given stream", copy_to_host_in)


def copy_to_device_in(peer: Peer, kind: str) -> None:
    home, given, source = peer.stream(kind), peer.stream(), pinned()
    array = cuarray.as_cuda_array(peer.array(home), sync=False)
    array.copy_to_device(source, stream=given)
    peer.write(array, home)
    peer.keep(array, source)


for_each_kind("copy from the host, array's stream", copy_to_device_in, ("legacy", "blocking", "non-blocking"))


@scenario("copy from the host, array's stream: per-thread, then use in another thread")
def copy_to_device_in_a_thread(peer: Peer) -> None:
    # The handle means another stream in the other thread, so the work in this thread's stream must be recorded.
    home, given, source = peer.stream("per-thread"), peer.stream(), pinned()
    array = cuarray.as_cuda_array(peer.array(None), sync=False).bind(home)
    peer.write(array, home)
    array.copy_to_device(source, stream=given)

    def use() -> None:
        target = pinned()
        array.copy_to_host(target, stream=home)
        peer.keep(target)

    in_a_thread(use)
    peer.consume(array)
    peer.keep(array, source)


@scenario("copy from the host, imported array's stream: per-thread, then use in another thread")
def copy_to_imported_in_a_thread(peer: Peer) -> None:
    # The stream is that of this thread. The other thread cannot name it, so it waits on the host, before its work and after.
    home, given, source = peer.stream("per-thread"), peer.stream(), pinned()
    array = cuarray.as_cuda_array(peer.array(home), sync=False)
    array.copy_to_device(source, stream=given)
    peer.write(array, home)

    def use() -> None:
        target = pinned()
        array.copy_to_host(target, stream=peer.stream())
        peer.keep(target)

    in_a_thread(use)
    peer.write(array, home)
    peer.keep(array, source)


@scenario("copies in an imported array and in one that is bound to another stream")
def copies_beside_bound_array(peer: Peer) -> None:
    home, other, source, target = peer.stream(), peer.stream(), pinned(), pinned()
    array = cuarray.as_cuda_array(peer.array(home), sync=False)
    bound = array.bind(other)
    bound.copy_to_device(source, stream=other)
    array.copy_to_host(target, stream=home)
    bound.copy_to_device(source)
    peer.write(array, home)
    peer.keep(array, bound, source, target)


@scenario("copy to the host without a stream argument")
def copy_to_host(peer: Peer) -> None:
    array, target = cuarray.as_cuda_array(peer.array(peer.stream()), sync=False), pinned()
    array.copy_to_host(target)
    peer.write(array, peer.stream())
    peer.keep(array, target)


@scenario("copy from the host without a stream argument")
def copy_to_device(peer: Peer) -> None:
    array, source = cuarray.as_cuda_array(peer.array(peer.stream()), sync=False), pinned()
    array.copy_to_device(source)
    peer.write(array, peer.stream())
    peer.keep(array, source)


@scenario("copy between two arrays, in a third stream")
def copy_between(peer: Peer) -> None:
    homes, given = (peer.stream(), peer.stream()), peer.stream()
    target, source = (cuarray.as_cuda_array(peer.array(home), sync=False) for home in homes)
    target.copy_to_device(source, stream=given)
    peer.read(target, homes[0])
    peer.write(source, homes[1])
    peer.keep(target, source)


@scenario("copy between two arrays without a stream argument")
def copy_between_waiting(peer: Peer) -> None:
    homes = (peer.stream(), peer.stream())
    target, source = (cuarray.as_cuda_array(peer.array(home), sync=False) for home in homes)
    target.copy_to_device(source)
    user = peer.stream()
    peer.read(target, user)
    peer.write(source, user)
    peer.keep(target, source)


@scenario("copy from an array of another library")
def copy_from_foreign(peer: Peer) -> None:
    home, producer, given = peer.stream(), peer.stream(), peer.stream()
    target, source = cuarray.as_cuda_array(peer.array(home), sync=False), peer.array(producer)
    target.copy_to_device(source, stream=given)
    peer.read(target, home)
    peer.write(source, producer)
    peer.keep(target, source)


@scenario("new array from an array of another library")
def to_device_from_foreign(peer: Peer) -> None:
    producer, stream = peer.stream(), peer.stream()
    source = peer.array(producer)
    array = cuarray.to_device(source, stream=stream)
    peer.write(array, stream)
    peer.write(source, producer)
    peer.keep(array, source)


@scenario("new array from the host, used in a second stream")
def to_device_then_elsewhere(peer: Peer) -> None:
    home, given = cuarray.stream(), peer.stream()
    host, target = pinned(), pinned()
    array = cuarray.to_device(host, stream=home)
    array.copy_to_host(target, stream=given)
    peer.write(array, home)
    peer.keep(array, home, host, target)


@scenario("copy of one column, in a given stream")
def copy_of_a_column(peer: Peer) -> None:
    home, given, target = peer.stream(), peer.stream(), pinned(size=SIZE // 32)
    array = cuarray.as_cuda_array(peer.array(home), sync=False)
    array.reshape(SIZE // 32, 32)[:, 7].copy_to_host(target, stream=given)
    peer.write(array, home)
    peer.keep(array, target)


@scenario("fill, in a given stream")
def fill_in(peer: Peer) -> None:
    home, given = peer.stream(), peer.stream()
    array = cuarray.as_cuda_array(peer.array(home), sync=False)
    array.setitem(slice(None), 3, stream=given)
    peer.read(array, home)
    peer.keep(array)


@scenario("fill of every third element, in a given stream")
def fill_strided(peer: Peer) -> None:
    home, given = peer.stream(), peer.stream()
    array = cuarray.as_cuda_array(peer.array(home), sync=False)
    array.setitem(slice(None, None, 3), 3, stream=given)
    peer.read(array, home)
    peer.keep(array)


@scenario("assignment of an array, in the home stream")
def assignment_of_an_array(peer: Peer) -> None:
    home, producer = peer.stream(), peer.stream()
    array = cuarray.as_cuda_array(peer.array(home), sync=False)
    value = cuarray.as_cuda_array(peer.array(producer), sync=False)
    array[: SIZE // 2] = value[: SIZE // 2]
    peer.read(array, home)
    peer.write(value, producer)
    peer.keep(array, value)


@scenario("assignment of an array to itself, shifted")
def assignment_to_itself(peer: Peer) -> None:
    home, given = peer.stream(), peer.stream()
    array = cuarray.as_cuda_array(peer.array(home), sync=False)
    array.setitem(slice(0, 100), array[200:300], stream=given)
    peer.write(array, home)
    peer.keep(array)


@scenario("masked array to the host")
def masked_to_host(peer: Peer) -> None:
    mask = peer.array(peer.stream())
    array = cuarray.as_cuda_array(peer.array(peer.stream(), mask=mask), sync=False, mask="keep")
    array.copy_to_host()
    user = peer.stream()
    peer.write(array, user)
    peer.write(mask, user)
    peer.keep(array)


@scenario("masked array filled, in a given stream")
def masked_filled(peer: Peer) -> None:
    mask, stream = peer.array(peer.stream()), cuarray.stream()
    array = cuarray.as_cuda_array(peer.array(peer.stream(), mask=mask), sync=False, mask="keep")
    filled = array.filled(7, stream=stream)
    user = peer.stream()
    peer.write(array, user)
    peer.write(mask, user)
    peer.write(filled, stream)
    peer.keep(array, filled, stream)


@scenario("copy from one device to another, in the target's stream")
def copy_between_devices(peer: Peer) -> None:
    homes = peer.stream(device=0), peer.stream(device=1)
    source, target = (cuarray.as_cuda_array(peer.array(home), sync=False) for home in homes)
    target.copy_to_device(source, stream=homes[1])
    peer.write(source, homes[0])
    peer.read(target, homes[1])
    peer.keep(source, target)


@scenario("pending work on two devices")
def pending_on_two_devices(peer: Peer) -> None:
    arrays = [cuarray.to_device(np.zeros(SIZE, "u1"), device=device) for device in (0, 1)]
    streams = [peer.stream(device=device) for device in (0, 1)]
    source = pinned()
    for array, stream in zip(arrays, streams, strict=True):
        array.copy_to_device(source, stream=stream)
    for array, device in zip(arrays, (0, 1), strict=True):
        target = pinned()
        array.copy_to_host(target, stream=peer.stream(device=device))
        peer.consume(array, device)
        peer.keep(array, target)
    peer.keep(source)
