//! Memory with generated code.
//!
//! The bytes are written first, and then the pages become executable and read-only. So no page is ever writable and executable at the
//! same time. They stay readable, because a signal handler of the embedding program may decode the instruction that was interrupted.

use std::ptr::NonNull;

/// Pages of code that nothing writes any more.
pub(super) struct Executable {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: nothing writes the pages, and only `drop`, which has the value alone, unmaps them.
unsafe impl Send for Executable {}
// SAFETY: nothing writes the pages, so any number of threads may read and execute them.
unsafe impl Sync for Executable {}

impl Executable {
    /// Maps pages with code. Returns `None` if the system refuses that, as hardened systems do.
    pub(super) fn new(code: &[u8]) -> Option<Executable> {
        // The system maps, protects and unmaps whole pages. It refuses a mapping without bytes.
        let bytes = code.len();
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new private mapping at an address that the system chooses changes no other memory.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        let executable = Executable { start: NonNull::new(start.cast())?, bytes };
        // SAFETY: the mapping is writable, has at least as many bytes, and is not executable yet, so nothing else uses it.
        unsafe { executable.start.as_ptr().copy_from_nonoverlapping(code.as_ptr(), code.len()) };
        // SAFETY: the pages are those of the mapping.
        let changed = unsafe { libc::mprotect(start, bytes, libc::PROT_READ | libc::PROT_EXEC) };
        (changed == 0).then_some(executable)
    }

    /// The address of a byte of the code.
    pub(super) fn at(&self, offset: usize) -> *const u8 {
        self.start.as_ptr().wrapping_add(offset)
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own. Code that runs there borrows the program, which owns this value.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copied_code_runs_and_its_pages_are_not_writable() {
        // mov eax, 42; ret
        let code = Executable::new(&[0xb8, 42, 0, 0, 0, 0xc3]).expect("the system maps executable memory");
        // SAFETY: the bytes are a function without arguments that returns a number.
        let function: extern "C" fn() -> u32 = unsafe { std::mem::transmute(code.at(0)) };
        assert_eq!(function(), 42);
        let maps = std::fs::read_to_string("/proc/self/maps").expect("the process can read its mappings");
        let start = format!("{:x}-", code.at(0) as usize);
        let line = maps.lines().find(|line| line.starts_with(&start)).expect("the mapping is listed");
        assert!(line.contains(" r-xp "), "{line}");
    }

    #[test]
    fn code_without_bytes_is_refused() {
        assert!(Executable::new(&[]).is_none());
    }
}
