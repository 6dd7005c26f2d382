//! The shared library `libcublasLt.so.13`: the functions of [`cuarray_cublas::lt`] under their C names, and refusals of all others.

cuarray_cublas::exports_lt!(13 "libcublasLt.so.13");
