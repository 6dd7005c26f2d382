//! The build script: gives the library its SONAME.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuarray-mpi.so");
}
