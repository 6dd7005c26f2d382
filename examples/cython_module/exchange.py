"""Exchange rows of arrays with a Cython module. Run on a GPU, or with `python -m cuarray_sim exchange.py`."""

import gc
import weakref

import rows

import cuarray

array = cuarray.to_device([[1, 2, 3], [4, 5, 6]], stream=cuarray.stream())
print(rows.describe(array))

row = cuarray.as_cuda_array(rows.Row(array, 1))
assert row.stream == array.stream or row.__cuda_array_interface__["stream"] == array.stream.handle
print(row.copy_to_host().tolist())
print(cuarray.as_cuda_array(rows.Row(array.T, 2)).copy_to_host().tolist())
print(cuarray.as_cuda_array(rows.Row(rows.Row(array, 1), 2)).copy_to_host().tolist())

memory = weakref.ref(array.owner)
del array
gc.collect()
print(row.copy_to_host().tolist())  # the row keeps the array
del row
gc.collect()
assert memory() is None

for refused in ([1, 2], object()):
    try:
        rows.describe(refused)
    except TypeError as error:
        print(error)
try:
    cuarray.as_cuda_array(rows.Row(cuarray.device_array((2, 2)), 2))
except TypeError as error:
    print(error.__cause__)  # the cause: the exception of the attribute
