"""A matrix product, which PyTorch computes with cuBLAS."""

import torch

a = torch.ones(2, 2).cuda()
a @ a
