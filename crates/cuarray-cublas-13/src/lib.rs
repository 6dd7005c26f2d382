//! The shared library `libcublas.so.13`: every function of [`cuarray_cublas::api`] under its C name.
#![recursion_limit = "256"]

cuarray_cublas::exports!(13 "libcublas.so.13");
