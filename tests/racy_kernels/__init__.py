"""Small kernels in CUDA C++ with planted races, and their right siblings."""
