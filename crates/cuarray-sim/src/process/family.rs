//! Which child processes reported on their work: a program without driver calls may leave them to its children.
//!
//! The Python package gives its process and all later children one file. A process that reports on driver calls appends a word for each
//! of its ancestors. Errors are ignored, as the words only change a line of the summary.

use crate::process_status::ProcessStatus;
use std::collections::BTreeSet;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

/// The path of the file; see `cuarray_sim/stand_ins.py`.
const FILE: &str = "CUARRAY_USED_STAND_INS";
/// The start of the target of the link to that file, which has no place in a file system.
const TARGET: &[u8] = b"/memfd:cuarray-sim-used";

/// Tells the ancestors of this process that it reported on its driver calls.
pub(super) fn tell_ancestors() {
    let Some(mut file) = file().and_then(|path| OpenOptions::new().append(true).open(path).ok()) else { return };
    let words: String = ancestors().into_iter().map(word).collect();
    let _ = file.write_all(words.as_bytes());
}

/// Whether a descendant of this process reported on its driver calls.
pub(super) fn descendant_reported() -> bool {
    let words = file().and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
    words.contains(&word(std::process::id()))
}

fn word(ancestor: u32) -> String {
    format!("driver-below-{ancestor}\n")
}

fn file() -> Option<PathBuf> {
    let path = PathBuf::from(env::var_os(FILE)?);
    // The variable may be older than the file: then it names an unrelated file of another process.
    let target = fs::read_link(&path).ok()?;
    target.as_os_str().as_encoded_bytes().starts_with(TARGET).then_some(path)
}

fn ancestors() -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut next = Some(std::os::unix::process::parent_id());
    while let Some(process) = next.filter(|process| *process > 0 && found.insert(*process)) {
        next = ProcessStatus::of(process).map(|status| status.parent);
    }
    found
}
