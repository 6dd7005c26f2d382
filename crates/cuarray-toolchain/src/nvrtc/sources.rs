//! The sources of programs, which follow their PTX as comments.
//!
//! CuPy deletes the file that it has compiled, and keeps the PTX in its cache. So the simulated driver finds the lines of the source in the
//! PTX.

use cuarray_ptx::appended_source;
use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// The longest source that is kept, in bytes.
const LONGEST: usize = 1 << 20;

/// The names and texts of programs.
static SOURCES: LazyLock<Mutex<HashMap<usize, (String, String)>>> = LazyLock::new(Mutex::default);

fn sources() -> MutexGuard<'static, HashMap<usize, (String, String)>> {
    SOURCES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the source of a program.
pub(super) fn keep(program: usize, name: &CStr, text: &CStr) {
    if text.count_bytes() <= LONGEST {
        let [name, text] = [name, text].map(|text| text.to_string_lossy().into_owned());
        sources().insert(program, (name, text));
    }
}

/// Forgets the source of a program.
pub(super) fn forget(program: usize) {
    sources().remove(&program);
}

/// The source of a program as comments; an empty text if none was kept.
pub(super) fn comments(program: usize) -> String {
    sources().get(&program).map(|(name, text)| appended_source(name, text)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_is_kept_until_its_program_is_destroyed() {
        let program = 8;
        keep(program, c"k.cu", c"one\ntwo");
        assert_eq!(comments(program), "\n// source of k.cu\n//| one\n//| two\n");
        forget(program);
        assert_eq!(comments(program), "");
        let long = std::ffi::CString::new(vec![b'x'; LONGEST + 1]).unwrap();
        keep(program, c"k.cu", &long);
        assert_eq!(comments(program), "");
    }
}
