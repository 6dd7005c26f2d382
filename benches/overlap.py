"""Chains of exchanges between two streams: what it costs to order them on the device, and by waits of the host.

A producer fills an array in its stream. A consumer takes it for another stream and copies it there. With cuarray the consumer's stream
waits, so the host is ahead of the device. A consumer that waits on the host stops it once for each exchange."""

from measure import Call

import cuarray

EXCHANGES = 100
SIZES = {"64 KiB": 1 << 16, "16 MiB": 1 << 24}
ROUNDS = 11
OWN, HOST = "borrow: the stream waits", "the host waits"


def calls(size):
    """Return the two chains, whose statements end with a wait for all work."""
    producer, consumer = cuarray.stream(), cuarray.stream()
    array = cuarray.device_array(SIZES[size], "uint8", stream=producer)
    target = cuarray.device_array(SIZES[size], "uint8", stream=consumer)

    def ordered_by_streams():
        for value in range(EXCHANGES):
            array.setitem(..., value & 0xFF, stream=producer)
            with cuarray.borrow(array, stream=consumer) as taken:
                target.copy_to_device(taken, stream=consumer)
        consumer.synchronize()

    def ordered_by_the_host():
        for value in range(EXCHANGES):
            array.setitem(..., value & 0xFF, stream=producer)
            producer.synchronize()
            target.copy_to_device(array, stream=consumer)
            consumer.synchronize()

    chains = {OWN: ordered_by_streams, HOST: ordered_by_the_host}
    return {name: Call("chain()", {"chain": chain}, calls=EXCHANGES, once=True) for name, chain in chains.items()}
