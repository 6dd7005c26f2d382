//! The shared library `libcublas.so.12`: every function of [`cuarray_cublas::api`] under its C name.
#![recursion_limit = "256"]

cuarray_cublas::exports!(12 "libcublas.so.12");
