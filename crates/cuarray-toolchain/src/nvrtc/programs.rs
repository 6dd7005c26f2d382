//! The programs of NVRTC that live: their sources, which follow their PTX as comments, and those that were compiled to PTX.
//!
//! CuPy deletes the file that it has compiled, and keeps the PTX in its cache. So the simulated driver finds the lines of the source in the
//! PTX.

use cuarray_ptx::appended_source;
use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// The longest source that is kept, in bytes.
const LONGEST: usize = 1 << 20;

/// A program.
#[derive(Default)]
struct Program {
    /// The name and the text, if they were kept.
    source: Option<(String, String)>,
    /// The text that follows the PTX, once the program was compiled to PTX in place of machine code.
    appended: Option<Arc<str>>,
}

static PROGRAMS: LazyLock<Mutex<HashMap<usize, Program>>> = LazyLock::new(Mutex::default);

fn programs() -> MutexGuard<'static, HashMap<usize, Program>> {
    PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the source of a program.
pub(super) fn keep(program: usize, name: &CStr, text: &CStr) {
    if text.count_bytes() <= LONGEST {
        let [name, text] = [name, text].map(|text| text.to_string_lossy().into_owned());
        programs().entry(program).or_default().source = Some((name, text));
    }
}

/// Forgets a program.
pub(super) fn forget(program: usize) {
    programs().remove(&program);
}

/// Forgets an earlier compilation of a program.
pub(super) fn begin_compilation(program: usize) {
    if let Some(known) = programs().get_mut(&program) {
        known.appended = None;
    }
}

/// Remembers that a program was compiled to PTX. If `wants_lines`, its source follows the PTX.
pub(super) fn compiled_to_ptx(program: usize, wants_lines: bool) {
    let mut programs = programs();
    let known = programs.entry(program).or_default();
    let source = known.source.as_ref().filter(|_| wants_lines);
    known.appended = Some(source.map(|(name, text)| appended_source(name, text)).unwrap_or_default().into());
}

/// The text that follows the PTX of a program; `None` if it was not compiled to PTX.
pub(super) fn appended(program: usize) -> Option<Arc<str>> {
    programs().get(&program)?.appended.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_is_kept_until_its_program_is_destroyed() {
        let program = 8;
        keep(program, c"k.cu", c"one\ntwo");
        assert_eq!(appended(program), None);
        compiled_to_ptx(program, true);
        assert_eq!(appended(program).as_deref(), Some("\n// source of k.cu\n//| one\n//| two\n"));
        compiled_to_ptx(program, false);
        assert_eq!(appended(program).as_deref(), Some(""));
        begin_compilation(program);
        assert_eq!(appended(program), None);
        forget(program);
        let long = std::ffi::CString::new(vec![b'x'; LONGEST + 1]).unwrap();
        keep(program, c"k.cu", &long);
        compiled_to_ptx(program, true);
        assert_eq!(appended(program).as_deref(), Some(""));
    }
}
