//! Variables that the Python package `cuarray_sim` sets for stand-ins; see `cuarray_sim/stand_ins.py`.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file that receives the names of used stand-ins.
const USED: &str = "CUARRAY_USED_STAND_INS";
/// The start of the target of the link to that file, which has no place in a file system.
const USED_TARGET: &[u8] = b"/memfd:cuarray-sim-used";
/// NVIDIA's files that stand-ins call, separated by colons.
const REAL: &str = "CUARRAY_NVIDIA_LIBRARIES";
/// The loader's cache. Its text has absolute paths that end in a nul.
const CACHE: &str = "/etc/ld.so.cache";

/// Reports that the stand-in with this file name is used. The launcher names it at the end of the program. Errors are ignored.
///
/// A stand-in calls this function once in a process.
pub fn report_use(file: &str) {
    let Some(path) = env::var_os(USED) else { return };
    // The variable may be older than the file: then it names an unrelated file of another process.
    let is_ours =
        fs::read_link(&path).is_ok_and(|target| target.as_os_str().as_encoded_bytes().starts_with(USED_TARGET));
    if is_ours && let Ok(mut used) = OpenOptions::new().append(true).open(path) {
        let _ = used.write_all(format!("{file}\n").as_bytes());
    }
}

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
