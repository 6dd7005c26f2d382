"""Waits that the user requests with streams and events of cuarray."""

from __future__ import annotations

import cuarray

from ..peer import Peer
from .table import scenario


@scenario("Stream.synchronize")
def stream_synchronize(peer: Peer) -> None:
    produced = peer.array(peer.stream())
    cuarray.external_stream(produced.__cuda_array_interface__["stream"]).synchronize()
    peer.write(produced, peer.stream())


@scenario("Stream.auto_synchronize")
def stream_auto_synchronize(peer: Peer) -> None:
    with cuarray.stream().auto_synchronize() as stream:
        produced = peer.array(None)
        peer.write(produced, stream)
    peer.write(produced, peer.stream())


@scenario("Event.record and Event.wait")
def event_wait(peer: Peer) -> None:
    first, then, done = peer.stream(), peer.stream(), cuarray.event()
    produced = peer.array(first)
    done.record(first)
    done.wait(then)
    peer.write(produced, then)
    peer.keep(done)


@scenario("Event.synchronize")
def event_synchronize(peer: Peer) -> None:
    stream, done = peer.stream(), cuarray.event()
    produced = peer.array(stream)
    done.record(stream)
    done.synchronize()
    peer.write(produced, peer.stream())
    peer.keep(done)


@scenario("Stream.wait")
def stream_wait(peer: Peer) -> None:
    first, then, done = peer.stream(), cuarray.stream(), cuarray.event()
    produced = peer.array(first)
    done.record(first)
    then.wait(done)
    peer.write(produced, then)
    peer.keep(done, then)
