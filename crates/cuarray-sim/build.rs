//! Sets the SONAME of the shared library to the name under which programs look for a CUDA driver.
//!
//! A loader asked for `libcuda.so.1` reuses a loaded library with that SONAME, under any file name. So the packaging
//! only has to copy the file.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
}
