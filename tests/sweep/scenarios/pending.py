"""Arrays without a home stream: work on them is recorded, and joined into one stream for the export."""

from __future__ import annotations

import numpy as np

import cuarray

from ..peer import SIZE, Peer
from .table import for_each_kind, pinned, scenario


@scenario("pending work, then a copy in another stream")
def pending_then_given(peer: Peer) -> None:
    array, source, target = cuarray.to_device(np.zeros(SIZE, "u1")), pinned(), pinned()
    array.copy_to_device(source, stream=peer.stream())
    array.copy_to_host(target, stream=peer.stream())
    array.copy_to_device(source, stream=peer.stream())
    peer.consume(array)
    peer.keep(array, source, target)


@scenario("pending work, then a copy without a stream argument")
def pending_then_waiting(peer: Peer) -> None:
    array, source, target = cuarray.to_device(np.zeros(SIZE, "u1")), pinned(), pinned()
    array.copy_to_device(source, stream=peer.stream())
    array.copy_to_host(target)
    peer.keep(array, source, target)


@scenario("pending work in a view, then a copy of the whole array")
def pending_in_a_view(peer: Peer) -> None:
    array, source, target = cuarray.to_device(np.zeros(SIZE, "u1")), pinned(size=100), pinned()
    array[100:200].copy_to_device(source, stream=peer.stream())
    array.copy_to_host(target, stream=peer.stream())
    peer.consume(array)
    peer.keep(array, source, target)


@scenario("pending work, then bound to a stream")
def pending_then_bound(peer: Peer) -> None:
    array, source, home = cuarray.to_device(np.zeros(SIZE, "u1")), pinned(), peer.stream()
    array.copy_to_device(source, stream=peer.stream())
    bound = array.bind(home)
    peer.write(bound, home)
    peer.keep(array, bound, source)


@scenario("pending read of a copy's source, then export of source and target")
def pending_read(peer: Peer) -> None:
    source, target = (cuarray.to_device(np.zeros(SIZE, "u1")) for _ in range(2))
    target.copy_to_device(source, stream=peer.stream())
    peer.consume(source)
    peer.consume(target)
    peer.keep(source, target)


@scenario("export of pending work in three streams, joined into one")
def export_joined(peer: Peer) -> None:
    array = cuarray.to_device(np.zeros(SIZE, "u1"))
    for start in (0, 300, 700):
        stream = peer.stream()
        peer.write(array[start : start + 300], stream)
        array.record_stream(stream)
    peer.consume(array)
    peer.keep(array)


def record_stream(peer: Peer, kind: str) -> None:
    array, stream = cuarray.to_device(np.zeros(SIZE, "u1")), peer.stream(kind)
    peer.write(array, stream)
    array.record_stream(stream)
    peer.consume(array)
    peer.keep(array)


for_each_kind("record_stream", record_stream)


@scenario("record_stream of an array that has a stream")
def record_stream_with_home(peer: Peer) -> None:
    home, stream = cuarray.stream(), peer.stream()
    array = cuarray.as_cuda_array(peer.array(None)).bind(home)
    peer.write(array, stream)
    array.record_stream(stream)
    peer.consume(array)
    peer.keep(array, home)


@scenario("export twice, with work between")
def export_twice(peer: Peer) -> None:
    array, source = cuarray.to_device(np.zeros(SIZE, "u1")), pinned()
    array.copy_to_device(source, stream=peer.stream())
    peer.consume(array)
    array.copy_to_device(source, stream=peer.stream())
    peer.consume(array)
    peer.keep(array, source)


@scenario("export of a view of an array with pending work")
def export_of_a_view(peer: Peer) -> None:
    array, source = cuarray.to_device(np.zeros(SIZE, "u1")), pinned()
    array.copy_to_device(source, stream=peer.stream())
    peer.consume(array[100:200])
    peer.keep(array, source)


@scenario("export of an array in another library's stream")
def export_of_a_home(peer: Peer) -> None:
    home, given, source = peer.stream(), peer.stream(), pinned()
    array = cuarray.as_cuda_array(peer.array(home), sync=False)
    array.copy_to_device(source, stream=given)
    peer.consume(array)
    peer.keep(array, source)


def dlpack_export(peer: Peer, kind: str) -> None:
    home, given = peer.stream(), peer.stream(kind)
    array = cuarray.as_cuda_array(peer.array(home), sync=False)
    capsule = array.__dlpack__(stream=given.handle)
    peer.read(array, given)
    peer.keep(array, capsule)


for_each_kind("DLPack export to a stream", dlpack_export)
