"""Imports: the host waits for the producer's stream."""

from __future__ import annotations

import numpy as np

import cuarray

from ..peer import SIZE, Array, Peer
from .table import for_each_kind, in_a_thread, pinned, scenario


def import_waits(peer: Peer, kind: str) -> None:
    produced = peer.array(peer.stream(kind))
    array = cuarray.as_cuda_array(produced)
    peer.write(array, peer.stream())


for_each_kind("import, producer's stream", import_waits)


@scenario("import of a dictionary")
def import_of_a_dictionary(peer: Peer) -> None:
    produced = peer.array(peer.stream())
    array = cuarray.from_cuda_array_interface(produced.__cuda_array_interface__, owner=produced)
    peer.write(array, peer.stream())


@scenario("import of an array whose mask has another stream")
def import_of_a_mask(peer: Peer) -> None:
    mask = peer.array(peer.stream())
    produced = peer.array(peer.stream(), mask=mask)
    array = cuarray.as_cuda_array(produced, mask="keep")
    user = peer.stream()
    peer.read(array, user)
    peer.write(mask, user)


@scenario("import in another thread")
def import_in_a_thread(peer: Peer) -> None:
    produced = peer.array(peer.stream())

    def consume() -> None:
        peer.write(cuarray.as_cuda_array(produced), peer.stream("per-thread"))

    in_a_thread(consume)


@scenario("import from another device")
def import_from_another_device(peer: Peer) -> None:
    produced = peer.array(peer.stream(device=1))
    array = cuarray.as_cuda_array(produced)
    peer.write(array, peer.stream(device=1))


@scenario("import of an export of cuarray with pending work")
def import_of_an_export(peer: Peer) -> None:
    array, source = cuarray.to_device(np.zeros(SIZE, "u1")), pinned()
    array.copy_to_device(source, stream=peer.stream())
    imported = cuarray.as_cuda_array(Array(array.ptr, None, **array.__cuda_array_interface__))
    peer.write(imported, peer.stream())
    peer.keep(array, imported, source)


@scenario("import of a field of a structured array")
def import_of_a_view(peer: Peer) -> None:
    produced = peer.array(peer.stream(), shape=(SIZE // 4, 2), strides=(4, 2), typestr="<u2")
    array = cuarray.as_cuda_array(produced)
    peer.write(produced, peer.stream())
    peer.keep(array)
