"""Captures: ordering within one capture becomes edges of the graph."""

from __future__ import annotations

import cuarray

from ..peer import Peer
from .table import scenario


@scenario("borrow in a capture of both streams")
def borrow_captured(peer: Peer) -> None:
    home, stream = peer.stream(), peer.stream()
    produced = peer.array(None)
    produced.__cuda_array_interface__["stream"] = home.handle
    with peer.captured(home, stream):
        peer.write(produced, home)
        with cuarray.borrow(produced, stream=stream) as array:
            peer.write(array, stream)
        peer.write(produced, home)


@scenario("copy in a capture of both streams")
def copy_captured(peer: Peer) -> None:
    home, stream = peer.stream(), peer.stream()
    produced, other = peer.array(None), peer.array(None)
    produced.__cuda_array_interface__["stream"] = home.handle
    array, source = cuarray.as_cuda_array(produced, sync=False), cuarray.as_cuda_array(other)
    source = source.bind(stream)
    with peer.captured(home, stream):
        peer.write(produced, home)
        array.copy_to_device(source, stream=stream)
        peer.write(produced, home)
    peer.keep(array, source)
