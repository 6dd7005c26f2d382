//! Data that strong accesses pass on behind a flag, without the fences.
//!
//! Strong accesses of one location do not race. But without a fence, nothing orders the write of the data before that of the flag.
//! So a thread that has read the flag may read old data. It is found where the thread reads the
//! data for the first time: a thread that reads it again and again waits for the data itself.

use super::mark::Mark;
use crate::races::cell::Kind;
use rustc_hash::FxHashMap;

/// The last strong write of a location.
#[derive(Clone, Copy)]
pub(super) struct Written {
    pub thread: u64,
    pub mark: Mark,
    /// Its number among all strong writes of the grid.
    serial: u64,
}

/// The flags that threads have read.
#[derive(Default)]
pub(super) struct Flags {
    serial: u64,
    /// For each thread, the thread that wrote the last flag, and the number of that write: of a store, and of an atomic operation, which
    /// is never data.
    seen: FxHashMap<u64, [(u64, u64); 2]>,
}

impl Flags {
    /// Records a strong write.
    pub(super) fn write(&mut self, thread: u64, mark: Mark) -> Written {
        self.serial += 1;
        Written { thread, mark, serial: self.serial }
    }

    /// Whether the last flag that a thread has read was written after this write, by the thread that wrote both.
    pub(super) fn is_behind(&self, thread: u64, write: &Written) -> bool {
        let behind = |(writer, serial): &(u64, u64)| *writer == write.thread && write.serial < *serial;
        self.seen.get(&thread).is_some_and(|seen| seen.iter().any(behind))
    }

    /// Records that a thread has read a write.
    pub(super) fn read(&mut self, thread: u64, write: &Written) {
        let seen = &mut self.seen.entry(thread).or_default()[usize::from(write.mark.kind == Kind::Atomic)];
        if seen.0 != write.thread || seen.1 < write.serial {
            *seen = (write.thread, write.serial);
        }
    }
}
