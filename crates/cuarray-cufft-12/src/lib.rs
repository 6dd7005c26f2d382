//! The shared library `libcufft.so.12`: every function of [`cuarray_cufft::api`] under its C name.

cuarray_cufft::exports!(12 "libcufft.so.12");
