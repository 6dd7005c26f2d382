"""Weaken each barrier, fence, scope and atomic operation of right kernels in turn: the simulated driver must report it."""
