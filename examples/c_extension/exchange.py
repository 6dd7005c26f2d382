"""Exchange arrays between cuarray and a library in C. Run on a GPU, or with `python -m cuarray_sim exchange.py`."""

import buffers

import cuarray


class OnlyADictionary:
    """An array of a library that does not export the structure."""

    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__


buffer = buffers.Buffer(8)
array = cuarray.as_cuda_array(buffer)  # the structure
print(array.typestr, array.shape, array.copy_to_host().tolist())
same = cuarray.as_cuda_array(buffer, protocol="dict")
assert (same.ptr, same.stream) == (array.ptr, array.stream)

device_array = cuarray.to_device([1, 2, 3], stream=cuarray.stream())
for any_array in (device_array, OnlyADictionary(device_array), buffer):
    buffers.fill(any_array, 255)
print(device_array.copy_to_host().tolist(), array.copy_to_host().tolist())

cuarray.config.export_event = True
buffers.fill(device_array, 0)
print(device_array.copy_to_host().tolist())

for refused in (
    device_array[::2],
    cuarray.as_cuda_array(OnlyADictionary(device_array[::2])),
    OnlyADictionary(device_array[::2]),
):
    try:
        buffers.fill(refused, 1)
    except BufferError as error:
        print(error)
try:
    buffers.fill([1, 2], 1)
except AttributeError as error:
    print(error)
