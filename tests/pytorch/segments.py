"""Tensors in expandable segments: several mapped allocations side by side, work of a second stream, and memory that is given back."""

import torch

import cuarray
import cuarray_sim

SIZE = 50 << 20
values = torch.arange(251, dtype=torch.uint8).repeat(SIZE // 251 + 1)[:SIZE]
tensor = values.cuda()
view = cuarray.as_cuda_array(tensor)
print("same memory:", view.ptr == tensor.data_ptr(), "size:", view.nbytes)

stream, target = torch.cuda.Stream(), torch.empty(1000, dtype=torch.uint8, pin_memory=True)
stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream):
    target.copy_(tensor[-1000:], non_blocking=True)
tensor.record_stream(stream)
stream.synchronize()
print("right values:", torch.equal(target, values[-1000:]))

del tensor, view
torch.cuda.synchronize()
torch.cuda.empty_cache()
calls = cuarray_sim.statistics()["calls"]
balanced = calls["cuMemMap"] == calls["cuMemUnmap"]
print("unmapped what was mapped:", balanced, "plain allocations:", calls.get("cuMemAlloc_v2", 0))
