//! The shared library `libnvJitLink.so.13`: the functions of [`cuarray_toolchain::nvjitlink`] under their C names.

cuarray_toolchain::nvjitlink_exports!(13 "libnvJitLink.so.13" [0 1 2 3 4 5 6 7 8 9]);
