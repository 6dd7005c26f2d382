//! The error log: why calls of the driver failed.
//!
//! Each failed call adds a message, and so does each failed kernel. Programs read the messages or receive them in a function,
//! which runs in the thread that made the call, without the driver's lock. The log keeps as many bytes as the manual says, and
//! drops the oldest messages. An iterator is the number of a message.
//!
//! Driver API: [error log management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__LOGS.html).

use crate::fork;
use cuarray_abi::*;
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{CString, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{SystemTime, UNIX_EPOCH};

/// The most bytes that the log keeps.
pub(crate) const CAPACITY: usize = 25_600;

/// A function of the program, with its data.
#[derive(Clone, Copy)]
pub(crate) struct Receiver {
    pub function: unsafe extern "C" fn(*mut c_void, CUlogLevel, *mut std::ffi::c_char, usize),
    pub data: *mut c_void,
}

// SAFETY: the driver never follows the pointer. By registering the function the program allows calling it in any thread.
unsafe impl Send for Receiver {}

#[derive(Default)]
struct Inner {
    /// The messages as lines without their newline, the oldest first.
    lines: VecDeque<String>,
    /// The bytes of all lines, with their newlines.
    size: usize,
    /// The number of the next message.
    next: CUlogIterator,
    receivers: BTreeMap<CUlogsCallbackHandle, Receiver>,
    /// The messages that no receiver has got yet.
    waiting: Vec<(CUlogLevel, String)>,
}

/// The log of one driver.
pub(crate) struct ErrorLog {
    inner: Mutex<Inner>,
    has_waiting: AtomicBool,
    /// The generation of the process (see [`fork`]) that made the log.
    made_in: u64,
}

impl Default for ErrorLog {
    fn default() -> ErrorLog {
        ErrorLog { inner: Mutex::default(), has_waiting: AtomicBool::new(false), made_in: fork::generation() }
    }
}

/// The messages from an iterator on.
pub(crate) struct Dump {
    pub lines: Vec<String>,
    /// Whether older messages were asked for and are lost.
    pub lost: bool,
    /// The number of the next message.
    pub next: CUlogIterator,
}

thread_local! {
    /// Whether this thread is calling a receiver, whose own failed calls are only kept.
    static DELIVERS: Cell<bool> = const { Cell::new(false) };
}

impl ErrorLog {
    /// The messages. `None` in the child of a `fork` for which another thread of the parent holds the lock forever.
    fn lock(&self) -> Option<MutexGuard<'_, Inner>> {
        if self.made_in == fork::generation() {
            return Some(self.inner.lock().unwrap_or_else(PoisonError::into_inner));
        }
        match self.inner.try_lock() {
            Ok(inner) => Some(inner),
            Err(TryLockError::Poisoned(inner)) => Some(inner.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Adds a message in the form of the driver: time of day (UTC), thread, level and text.
    pub(crate) fn add(&self, level: CUlogLevel, thread: u64, text: &str) {
        let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (second, millisecond) = (passed.as_secs() % 86_400, passed.subsec_millis());
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let letter = if level == CU_LOG_LEVEL_ERROR { 'E' } else { 'W' };
        let text = text.replace('\n', "; ");
        let line = format!("[{hour:02}:{minute:02}:{second:02}.{millisecond:03}][{thread}][CUDA][{letter}] {text}");
        let Some(mut inner) = self.lock() else { return };
        inner.next = inner.next.wrapping_add(1);
        if !inner.receivers.is_empty() && inner.waiting.len() < CAPACITY {
            inner.waiting.push((level, line.clone()));
            self.has_waiting.store(true, Ordering::Relaxed);
        }
        inner.size += line.len() + 1;
        inner.lines.push_back(line);
        while inner.size > CAPACITY
            && let Some(oldest) = inner.lines.pop_front()
        {
            inner.size -= oldest.len() + 1;
        }
    }

    /// The number that the next message will have.
    pub(crate) fn position(&self) -> CUlogIterator {
        self.lock().map_or(0, |inner| inner.next)
    }

    /// The messages from a number on, or all.
    pub(crate) fn dump(&self, from: Option<CUlogIterator>) -> Dump {
        let Some(inner) = self.lock() else { return Dump { lines: Vec::new(), lost: true, next: from.unwrap_or(0) } };
        // Numbers wrap around, and no number lies in the future.
        let all = inner.lines.len();
        let wanted = from.map_or(inner.next as usize, |from| inner.next.wrapping_sub(from) as usize);
        let lines = inner.lines.iter().skip(all - wanted.min(all)).cloned().collect();
        Dump { lines, lost: wanted > all, next: inner.next }
    }

    pub(crate) fn register(&self, receiver: Receiver) -> CUlogsCallbackHandle {
        let handle = CUlogsCallbackHandle(crate::handle::fresh());
        if let Some(mut inner) = self.lock() {
            inner.receivers.insert(handle, receiver);
        }
        handle
    }

    /// Removes a receiver; returns whether there was one.
    pub(crate) fn unregister(&self, handle: CUlogsCallbackHandle) -> bool {
        self.lock().is_some_and(|mut inner| inner.receivers.remove(&handle).is_some())
    }

    /// Passes new messages to the receivers. The caller holds no lock.
    pub(crate) fn deliver(&self) {
        if !self.has_waiting.load(Ordering::Relaxed) || DELIVERS.try_with(Cell::get).unwrap_or(true) {
            return;
        }
        let (waiting, receivers) = {
            let Some(mut inner) = self.lock() else { return };
            self.has_waiting.store(false, Ordering::Relaxed);
            (std::mem::take(&mut inner.waiting), inner.receivers.values().copied().collect::<Vec<_>>())
        };
        let _ = DELIVERS.try_with(|delivers| delivers.set(true));
        for (level, line) in waiting {
            let length = line.len();
            let Ok(text) = CString::new(line) else { continue };
            for receiver in &receivers {
                // SAFETY: the program registered the function with its data. The text lives until the call returns.
                unsafe { (receiver.function)(receiver.data, level, text.as_ptr().cast_mut(), length) };
            }
        }
        let _ = DELIVERS.try_with(|delivers| delivers.set(false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_messages_are_dropped_and_reported_as_lost() {
        let log = ErrorLog::default();
        let start = log.position();
        for number in 0..1000 {
            log.add(CU_LOG_LEVEL_ERROR, 1, &format!("message {number} {}", "x".repeat(80)));
        }
        let dump = log.dump(Some(start));
        assert!(dump.lost);
        assert_eq!(dump.next, start + 1000);
        assert!(dump.lines.last().unwrap().contains("message 999 "));
        assert!(dump.lines.iter().map(|line| line.len() + 1).sum::<usize>() <= CAPACITY);
        let last = log.dump(Some(start + 999));
        assert!(!last.lost);
        assert_eq!(last.lines.len(), 1);
        assert_eq!(log.dump(Some(dump.next)).lines.len(), 0);
    }

    #[test]
    fn child_of_a_fork_does_not_wait_for_a_lock_of_its_parent() {
        fork::watch();
        let log = ErrorLog::default();
        let held = log.lock();
        // SAFETY: the child calls functions that wait for no lock, and ends at once.
        let child = unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::alarm(30); // a child that waits forever fails the test instead of stopping it
                log.add(CU_LOG_LEVEL_ERROR, 1, "lost");
                log.deliver();
                libc::_exit(i32::from(!log.dump(None).lost));
            }
            child
        };
        let mut status = 1;
        // SAFETY: the child is one of this process.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
        drop(held);
        log.add(CU_LOG_LEVEL_ERROR, 1, "kept");
        assert_eq!(log.dump(None).lines.len(), 1);
    }

    #[test]
    fn message_longer_than_the_log_is_lost() {
        let log = ErrorLog::default();
        log.add(CU_LOG_LEVEL_WARNING, 1, &"x".repeat(CAPACITY));
        let dump = log.dump(None);
        assert!(dump.lost && dump.lines.is_empty());
    }
}
