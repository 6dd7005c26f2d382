//! States by `cfg(Py_GIL_DISABLED)` whether the interpreter has no global lock (feature `python`).

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "python")]
    pyo3_build_config::use_pyo3_cfgs();
}
