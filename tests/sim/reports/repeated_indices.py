"""A histogram by load, addition and store: indices that repeat lose counts."""

import numpy as np
from numba import cuda


@cuda.jit(lineinfo=True)
def count(words, histogram):
    histogram[words[cuda.threadIdx.x]] += 1


words = cuda.to_device(np.arange(96) % 8)
histogram = cuda.to_device(np.zeros(8, np.int64))
count[1, 96](words, histogram)
print(histogram.copy_to_host().sum(), "of 96")
