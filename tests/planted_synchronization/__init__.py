"""Small kernels in CUDA C++ with planted errors of synchronization, and their right siblings."""
