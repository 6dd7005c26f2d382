//! Gives the shared library the name under which programs look for a CUDA driver.
//!
//! A loader that meets a request for `libcuda.so.1` takes a library of that SONAME which is already in the process,
//! whatever its file is called; the packaging then only has to copy the file.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
}
