"""PyTorch exports no stream while a copy into the tensor is pending, and cuarray reads at once."""

import numpy as np
import torch

import cuarray

producer, consumer = torch.cuda.Stream(), cuarray.stream()
a, ones = torch.zeros(1000, device="cuda"), torch.ones(1000, pin_memory=True)
torch.cuda.synchronize()
with torch.cuda.stream(producer):
    a.copy_(ones, non_blocking=True)  # pending, and a.__cuda_array_interface__ has no "stream"
b = cuarray.as_cuda_array(a)
b.copy_to_host(np.empty(1000, "f4"), stream=consumer)
