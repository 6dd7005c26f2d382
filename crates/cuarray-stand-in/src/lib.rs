//! Each stand-in for a library of NVIDIA tells the Python package that it is used; see `cuarray_sim/stand_ins.py`.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write;

/// A file that receives the names of used stand-ins.
const USED: &str = "CUARRAY_USED_STAND_INS";
/// The start of the target of the link to that file, which has no place in a file system.
const USED_TARGET: &[u8] = b"/memfd:cuarray-sim-used";

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
