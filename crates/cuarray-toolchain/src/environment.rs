//! Where NVIDIA's own files are. The Python package `cuarray_sim` names some in a variable; see `cuarray_sim/stand_ins.py`.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// NVIDIA's files that stand-ins call, separated by colons.
const REAL: &str = "CUARRAY_NVIDIA_LIBRARIES";
/// The loader's cache. Its text has absolute paths that end in a nul.
const CACHE: &str = "/etc/ld.so.cache";

/// Returns NVIDIA's file of this name: one that the Python package found, or one of the places where the loader searches.
pub fn real_file(name: &str) -> Option<PathBuf> {
    let split = |variable: &str| env::split_paths(&env::var_os(variable).unwrap_or_default()).collect::<Vec<_>>();
    let given = split(REAL).into_iter().find(|path| path.file_name() == Some(OsStr::new(name)) && path.is_file());
    let roots = ["CONDA_PREFIX", "CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(env::var_os);
    let roots = roots.flat_map(|root| ["lib", "lib64"].map(|folder| Path::new(&root).join(folder)));
    let folders = split("LD_LIBRARY_PATH").into_iter().chain(roots).chain([PathBuf::from("/usr/local/cuda/lib64")]);
    given.or_else(|| folders.map(|folder| folder.join(name)).find(|path| is_real(path))).or_else(|| {
        let cache = fs::read(CACHE).unwrap_or_default();
        let mut texts = cache.split(|byte| *byte == 0).filter_map(|text| std::str::from_utf8(text).ok());
        texts.find(|text| text.starts_with('/') && text.ends_with(&format!("/{name}"))).map(PathBuf::from)
    })
}

/// Whether a file is there, and is not one of the package's stand-ins.
fn is_real(path: &Path) -> bool {
    !path.as_os_str().is_empty()
        && path.is_file()
        && !path.components().any(|part| part.as_os_str() == OsStr::new("cuarray_sim"))
}
