//! The shared library `libnvrtc.so.12`: the functions of [`cuarray_toolchain::nvrtc`] under their C names.

cuarray_toolchain::nvrtc_exports!(12 "libnvrtc.so.12");
