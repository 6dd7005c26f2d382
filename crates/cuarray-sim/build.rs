//! Sets the SONAME of the shared library to the name under which programs look for a CUDA driver, and `cfg`s of the build.
//!
//! A loader asked for `libcuda.so.1` reuses a loaded library with that SONAME, under any file name. So the packaging
//! only has to copy the file.
//!
//! `sanitized` is set if the crate is compiled for a sanitizer.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    println!("cargo:rustc-check-cfg=cfg(sanitized)");
    // Cargo sets the variable for `-Zsanitizer`, on toolchains that accept it.
    if std::env::var_os("CARGO_CFG_SANITIZE").is_some() {
        println!("cargo:rustc-cfg=sanitized");
    }
}
