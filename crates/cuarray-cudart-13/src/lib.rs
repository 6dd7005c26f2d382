//! The shared library `libcudart.so.13`: every function of [`cuarray_cudart::v13`] under its C name.

cuarray_cudart::exports!(v13 "libcudart.so.13");
