"""A compressed matrix, which PyTorch makes with cuSPARSELt."""

import torch

torch._cslt_compress(torch.zeros(32, 32, dtype=torch.half).cuda())
