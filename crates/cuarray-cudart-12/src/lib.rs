//! The shared library `libcudart.so.12`: every function of [`cuarray_cudart::v12`] under its C name.

cuarray_cudart::exports!(v12 "libcudart.so.12");
