//! The shared library `libnvrtc.so.13`: the functions of [`cuarray_toolchain::nvrtc`] under their C names.

cuarray_toolchain::nvrtc_exports!(13 "libnvrtc.so.13");
