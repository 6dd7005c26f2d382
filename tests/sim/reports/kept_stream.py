"""A healthy test, whose stream numba-cuda keeps for its next launch, and a test that keeps a stream."""

from numba import cuda

STREAMS = []


@cuda.jit
def clear(values):
    values[cuda.grid(1)] = 0


def clear_in(stream):
    clear[2, 128, stream](cuda.device_array(256, stream=stream))
    stream.synchronize()


def test_stream_is_released():
    clear_in(cuda.stream())


def test_stream_is_kept():
    STREAMS.append(cuda.stream())
    clear_in(STREAMS[0])
