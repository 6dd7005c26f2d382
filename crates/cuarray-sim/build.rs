//! Sets the SONAME of the shared library to the name under which programs look for a CUDA driver, and `cfg`s of the build.
//!
//! A loader asked for `libcuda.so.1` reuses a loaded library with that SONAME, under any file name. So the packaging
//! only has to copy the file.
//!
//! `varying_frames` is set for AddressSanitizer: the size of a function's stack frame differs from call to call.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    println!("cargo:rustc-check-cfg=cfg(varying_frames)");
    // Cargo sets it on toolchains that accept `-Zsanitizer`.
    let sanitizers = std::env::var("CARGO_CFG_SANITIZE").unwrap_or_default();
    if sanitizers.split(',').any(|sanitizer| matches!(sanitizer, "address" | "hwaddress")) {
        println!("cargo:rustc-cfg=varying_frames");
    }
}
