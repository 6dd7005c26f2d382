//! The shared library `libcufft.so.11`: every function of [`cuarray_cufft::api`] under its C name.

cuarray_cufft::exports!(11 "libcufft.so.11");
