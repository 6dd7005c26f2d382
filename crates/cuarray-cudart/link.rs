//! The build script of `cuarray-cudart-12`, `cuarray-cudart-13`, `cuarray-cudnn`, `cuarray-cublas-12`, `-13`, `cuarray-cublaslt-12`, `-13`, `cuarray-curand`, `cuarray-cufft-11`, `-12`, `cuarray-cusolver-11`, `-12`, `cuarray-cusparse`, and the libraries of `cuarray-toolchain`: SONAME, version node, and a linker that accepts both.
//!
//! A program asks for `cudaMalloc@libcudart.so.13`. The directive `.symver` in `exports!` gives each function that node,
//! and a version script defines the node. rustc passes its own version script, without a node. lld accepts the two
//! together, and GNU ld refuses them. So this script selects the lld that comes with the toolchain, or one in the search path.
//! Without any lld, the functions have no node: programs still run, and the loader prints "no version information available".
//!
//! `CUARRAY_CUDART_VERSIONED=0` leaves the node out, and `=1` requires it with the linker as configured.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=../cuarray-cudart/link.rs");
    println!("cargo:rerun-if-env-changed=CUARRAY_CUDART_VERSIONED");
    println!("cargo:rustc-check-cfg=cfg(versioned)");
    let package = env::var("CARGO_PKG_NAME").unwrap_or_default();
    let soname = match package.rsplit_once('-') {
        Some(("cuarray", "cudnn")) => "libcudnn.so.9".to_owned(),
        Some(("cuarray", "curand")) => "libcurand.so.10".to_owned(),
        Some(("cuarray", "cusparse")) => "libcusparse.so.12".to_owned(),
        Some(("cuarray-cublas", major)) => format!("libcublas.so.{major}"),
        Some(("cuarray-cublaslt", major)) => format!("libcublasLt.so.{major}"),
        Some(("cuarray-cufft", major)) => format!("libcufft.so.{major}"),
        Some(("cuarray-cusolver", major)) => format!("libcusolver.so.{major}"),
        Some(("cuarray-nvjitlink", major)) => format!("libnvJitLink.so.{major}"),
        Some(("cuarray-nvrtc", major)) => format!("libnvrtc.so.{major}"),
        Some((_, major)) => format!("libcudart.so.{major}"),
        None => return,
    };
    link_arg(&format!("-Wl,-soname,{soname}"));

    match env::var("CUARRAY_CUDART_VERSIONED").as_deref() {
        Ok("0") => return,
        Ok("1") => {}
        _ => match linker() {
            Linker::Configured => {}
            Linker::Folder(folder) => {
                link_arg(&format!("-B{}", folder.display()));
                link_arg("-fuse-ld=lld");
            }
            Linker::Path => link_arg("-fuse-ld=lld"),
            Linker::None => {
                println!(
                    "cargo:warning={soname} gets no version node, because this toolchain has no lld; install lld for it"
                );
                return;
            }
        },
    }
    let script = Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join("version.map");
    let text = format!("{soname} {{ local: *; }};\n");
    if let Err(error) = fs::write(&script, text) {
        println!("cargo:warning={}: {error}", script.display());
        return;
    }
    println!("cargo:rustc-cfg=versioned");
    link_arg(&format!("-Wl,--version-script={}", script.display()));
}

fn link_arg(argument: &str) {
    println!("cargo:rustc-cdylib-link-arg={argument}");
}

/// The lld that can link the library.
enum Linker {
    /// A linker of the user's choice, which may be no compiler driver: it gets no further argument.
    Configured,
    /// The folder of the toolchain's `ld.lld`.
    Folder(PathBuf),
    /// `ld.lld` in the search path.
    Path,
    None,
}

fn linker() -> Linker {
    // Set by `linker = ...` in Cargo's configuration, which `cargo zigbuild` uses too; its linker is an lld.
    if env::var_os("RUSTC_LINKER").is_some() {
        return Linker::Configured;
    }
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let target = env::var("TARGET").unwrap_or_default();
    let printed =
        Command::new(rustc).args(["--print", "sysroot"]).output().map(|output| output.stdout).unwrap_or_default();
    let folder =
        Path::new(String::from_utf8_lossy(&printed).trim()).join("lib/rustlib").join(target).join("bin/gcc-ld");
    if folder.join("ld.lld").exists() {
        return Linker::Folder(folder);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    if env::split_paths(&path).any(|folder| folder.join("ld.lld").exists()) { Linker::Path } else { Linker::None }
}
