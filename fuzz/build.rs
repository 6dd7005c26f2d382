//! Adds the folder of libpython to the search path of the loader, which often lacks it.

fn main() {
    #[cfg(feature = "python")]
    pyo3_build_config::add_libpython_rpath_link_args();
}
