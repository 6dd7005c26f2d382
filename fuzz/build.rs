//! Tells the loader where the libpython is that was linked: an interpreter's own is often nowhere that it looks.

fn main() {
    #[cfg(feature = "python")]
    pyo3_build_config::add_libpython_rpath_link_args();
}
