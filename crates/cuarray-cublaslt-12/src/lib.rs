//! The shared library `libcublasLt.so.12`: the functions of [`cuarray_cublas::lt`] under their C names, and refusals of all others.

cuarray_cublas::exports_lt!(12 "libcublasLt.so.12");
