//! Events that processes share: a page of an anonymous file, which lists the latest records and whether they are done.
//!
//! Each record has a generation. Its slot names the process that made it, and that process alone runs the work before
//! it. A waiter marks the slot as *wanted*; a thread of the recording process sees the mark and runs the work (see
//! `execution::service`). If that process has ended, its records count as done, so that no waiter hangs.

use crate::pages::ipc;
use cuarray_abi::CUipcEventHandle;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The name of the file, which the system shows in `/proc`.
const FILE_NAME: &std::ffi::CStr = c"cuarray simulated event";
const MAGIC: u64 = u64::from_ne_bytes(*b"cuarrevt");
const SLOTS: u64 = 63;
/// The interval at which a waiter checks that the other process is alive.
const PATIENCE: Duration = Duration::from_millis(20);

/// One record.
#[repr(C)]
struct Slot {
    generation: AtomicU64,
    process: AtomicU64,
    started: AtomicU64,
    wanted: AtomicU64,
    done: AtomicU64,
    unused: [u64; 3],
}

/// The contents of the file.
#[repr(C)]
struct Page {
    magic: u64,
    /// The number of the event in the process that created it.
    id: u64,
    /// The generation given out last, and the latest record.
    next: AtomicU64,
    latest: AtomicU64,
    /// Changes when a record is done.
    changes: AtomicU32,
    unused: [u32; 7],
    slots: [Slot; SLOTS as usize],
}

const _: () = assert!(size_of::<Page>() == 4096);

/// An event that other processes may open, or have opened here.
pub(crate) struct SharedEvent {
    page: *const Page,
    // The file keeps the descriptor that the handle names.
    _file: File,
    handle: [u64; 5],
}

// SAFETY: the page has only atomic fields and constants, and stays mapped while the value lives.
unsafe impl Send for SharedEvent {}
// SAFETY: as above.
unsafe impl Sync for SharedEvent {}

impl SharedEvent {
    /// Creates an event without records.
    pub(crate) fn new(id: u64) -> io::Result<SharedEvent> {
        // SAFETY: the name is a nul-terminated literal.
        let file = unsafe { libc::memfd_create(FILE_NAME.as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the file was just created and has no other owner.
        let file = unsafe { File::from_raw_fd(file) };
        file.set_len(size_of::<Page>() as u64)?;
        let page = map(&file)?;
        let (process, started) = ipc::this_process();
        let handle = [MAGIC, process, started, file.as_raw_fd() as u64, id];
        // SAFETY: the page was just mapped, and no other process has it.
        unsafe {
            (&raw mut (*page.cast_mut()).magic).write(MAGIC);
            (&raw mut (*page.cast_mut()).id).write(id);
        }
        Ok(SharedEvent { page, _file: file, handle })
    }

    /// Opens an event of another process; `None` if the handle is none, or its event or process is gone.
    pub(crate) fn open(handle: &CUipcEventHandle) -> Option<SharedEvent> {
        let handle = words(handle)?;
        let [_, process, started, descriptor, id] = handle;
        if !is_alive(process, started) {
            return None;
        }
        let path = format!("/proc/{process}/fd/{descriptor}");
        let expected = format!("/memfd:{}", FILE_NAME.to_string_lossy());
        let name = std::fs::read_link(&path).ok()?;
        if !name.as_os_str().to_string_lossy().starts_with(&expected) {
            return None;
        }
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_CLOEXEC).open(&path).ok()?;
        if file.metadata().ok()?.len() != size_of::<Page>() as u64 {
            return None;
        }
        let shared = SharedEvent { page: map(&file).ok()?, _file: file, handle };
        let page = shared.page();
        (page.magic == MAGIC && page.id == id && is_alive(process, started)).then_some(shared)
    }

    /// The handle for other processes.
    pub(crate) fn handle(&self) -> CUipcEventHandle {
        let mut bytes = [0; 64];
        let sum = sum(self.handle);
        for (place, word) in bytes.chunks_exact_mut(8).zip(self.handle.into_iter().chain([sum])) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        CUipcEventHandle { reserved: bytes.map(|byte: u8| byte as libc::c_char) }
    }

    /// Whether two values are one event.
    pub(crate) fn same(&self, other: &SharedEvent) -> bool {
        self.handle == other.handle
    }

    fn page(&self) -> &Page {
        // SAFETY: the page is mapped while this value lives.
        unsafe { &*self.page }
    }

    fn slot(&self, generation: u64) -> &Slot {
        &self.page().slots[(generation % SLOTS) as usize]
    }

    /// Adds a record of this process, as the latest one; returns its generation.
    pub(crate) fn record(&self) -> u64 {
        let page = self.page();
        let generation = page.next.fetch_add(1, Ordering::AcqRel) + 1;
        let (slot, (process, started)) = (self.slot(generation), ipc::this_process());
        slot.process.store(process, Ordering::Relaxed);
        slot.started.store(started, Ordering::Relaxed);
        slot.wanted.store(0, Ordering::Relaxed);
        slot.done.store(0, Ordering::Relaxed);
        slot.generation.store(generation, Ordering::Release);
        page.latest.fetch_max(generation, Ordering::AcqRel);
        generation
    }

    /// The generation of the latest record; 0 before the first.
    pub(crate) fn latest(&self) -> u64 {
        self.page().latest.load(Ordering::Acquire)
    }

    /// Marks a record as done, and wakes its waiters.
    pub(crate) fn finish(&self, generation: u64) {
        let (page, slot) = (self.page(), self.slot(generation));
        if slot.generation.load(Ordering::Acquire) == generation {
            slot.done.store(1, Ordering::Release);
        }
        page.changes.fetch_add(1, Ordering::AcqRel);
        // SAFETY: the word lies in a page that is mapped while this value lives.
        unsafe { libc::syscall(libc::SYS_futex, page.changes.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    }

    /// Whether a waiter wants the work of a record to run.
    pub(crate) fn is_wanted(&self, generation: u64) -> bool {
        self.slot(generation).wanted.load(Ordering::Acquire) != 0
    }

    /// Requests the work of a record, unless it is done; returns whether it is. A record that many later ones have
    /// followed counts as done.
    pub(crate) fn want(&self, generation: u64) -> bool {
        let slot = self.slot(generation);
        if slot.generation.load(Ordering::Acquire) != generation || slot.done.load(Ordering::Acquire) != 0 {
            return true;
        }
        slot.wanted.store(1, Ordering::Release);
        let (process, started) = (slot.process.load(Ordering::Relaxed), slot.started.load(Ordering::Relaxed));
        // A finished record may have been replaced meanwhile, so its owner is read before the state.
        !is_alive(process, started)
    }

    /// Whether a record is done.
    pub(crate) fn is_done(&self, generation: u64) -> bool {
        let slot = self.slot(generation);
        slot.generation.load(Ordering::Acquire) != generation || slot.done.load(Ordering::Acquire) != 0
    }

    /// Requests the work of a record, and waits until it is done or its process has ended.
    pub(crate) fn wait(&self, generation: u64) {
        let changes = &self.page().changes;
        loop {
            let seen = changes.load(Ordering::Acquire);
            if self.want(generation) {
                return;
            }
            let timeout = libc::timespec { tv_sec: 0, tv_nsec: PATIENCE.as_nanos() as libc::c_long };
            // SAFETY: the word lies in a page that is mapped while this value lives; the timeout is a local variable.
            unsafe { libc::syscall(libc::SYS_futex, changes.as_ptr(), libc::FUTEX_WAIT, seen, &raw const timeout) };
        }
    }
}

impl Drop for SharedEvent {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and no reference to the page outlives it.
        unsafe { libc::munmap(self.page.cast_mut().cast(), size_of::<Page>()) };
    }
}

fn map(file: &File) -> io::Result<*const Page> {
    let open = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address that the system chooses replaces nothing.
    let page =
        unsafe { libc::mmap(std::ptr::null_mut(), size_of::<Page>(), open, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if page == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(page.cast_const().cast()) }
}

/// A checksum that detects changed bytes of a handle.
fn sum(words: [u64; 5]) -> u64 {
    words.into_iter().fold(1, |sum: u64, word| (sum.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95))
}

/// The words of a handle; `None` if no simulated driver created it.
fn words(handle: &CUipcEventHandle) -> Option<[u64; 5]> {
    let bytes = handle.reserved.map(|byte| byte as u8);
    let mut all = [0; 6];
    for (word, bytes) in all.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_ne_bytes(*bytes);
    }
    let [words @ .., checked] = all;
    (words[0] == MAGIC && checked == sum(words)).then_some(words)
}

/// Whether a process runs that started then.
fn is_alive(process: u64, started: u64) -> bool {
    u32::try_from(process).is_ok_and(|process| ipc::is_running(process, started))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_done_one_by_one() {
        let event = SharedEvent::new(1).unwrap();
        assert_eq!(event.latest(), 0);
        let [first, second] = [event.record(), event.record()];
        assert_eq!((event.latest(), event.is_done(first)), (second, false));
        assert!(!event.want(second) && event.is_wanted(second) && !event.is_wanted(first));
        event.finish(second);
        assert!(event.is_done(second) && !event.is_done(first));
        event.wait(second);
        event.finish(first);
        assert!(event.is_done(first));
    }

    #[test]
    fn record_of_an_ended_process_is_done() {
        let event = SharedEvent::new(1).unwrap();
        let record = event.record();
        event.slot(record).started.store(1, Ordering::Relaxed);
        event.wait(record);
    }

    #[test]
    fn handle_opens_the_same_event_and_changed_bytes_do_not() {
        let event = SharedEvent::new(7).unwrap();
        let opened = SharedEvent::open(&event.handle()).unwrap();
        assert!(opened.same(&event));
        let record = event.record();
        assert_eq!(opened.latest(), record);
        opened.finish(record);
        assert!(event.is_done(record));
        for index in 0..48 {
            let mut bytes = event.handle();
            bytes.reserved[index] ^= 1;
            assert!(SharedEvent::open(&bytes).is_none(), "byte {index}");
        }
        let gone = event.handle();
        drop((event, opened));
        assert!(SharedEvent::open(&gone).is_none());
    }
}
