"""PyTorch does not wait for the stream that an array names, and reads while the producer still writes."""

import numpy as np
import torch

import cuarray

producer, consumer = cuarray.stream(), torch.cuda.Stream()
a = cuarray.to_device(np.zeros(1000), stream=producer)  # pending in `producer`
with torch.cuda.stream(consumer):
    b = torch.as_tensor(a, device="cuda")
    b.cpu()
