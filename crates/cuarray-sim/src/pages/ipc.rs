//! Memory shared between processes: the contents of a handle, and the mapping of another process's memory.
//!
//! The memory of a device, and that of a shared pool of host memory, is an anonymous file
//! ([`SharedFile`](crate::pages::shared_file::SharedFile)), and a process can open such files of other processes of its user
//! under `/proc`. So a handle names a process, a file and an allocation, and an importer maps
//! those pages. It verifies the handle. The start time of the process must be that in the handle, and the file must be one
//! of these. A table after the memory lists the number of each exported allocation ([`Entry`]). If the allocation was freed, the
//! table has another number or none at its place, and the handle is refused. So a handle never opens another allocation.
//!
//! The manual does not define what happens if the exporter frees memory that another process has open. The simulator
//! removes its entry at once, so that new uses are refused. The pages stay unchanged until the last importer closes
//! them, so that work enqueued earlier reads the old bytes. An importer holds a lock on those bytes of the file,
//! which the operating system drops with the process.
//!
//! The work of different processes is unordered. Each process runs only its own pending work.

use crate::pages::allocator::ALIGNMENT;
use crate::process_status::ProcessStatus;
use cuarray_abi::{CU_DEVICE_CPU, CUipcMemHandle, CUmemoryPool, CUresult};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The name of a file of memory, which the system shows in `/proc`.
pub(crate) const FILE_NAME: &std::ffi::CStr = c"cuarray simulated pages";
/// A file of memory is divided into [`PARTS`] equal parts. This many are memory; the last one is the table of exports.
const MEMORY_PARTS: u64 = ALIGNMENT / Entry::SIZE;
const PARTS: u64 = MEMORY_PARTS + 1;
const MAGIC: [u8; 8] = *b"cuarrsim";

/// The length of the file of a device with `memory` bytes of addresses.
pub(crate) fn file_length(memory: u64) -> Option<u64> {
    (memory / MEMORY_PARTS).checked_mul(PARTS)
}

/// The table entry of an exported allocation, at a position that follows from its offset.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    /// The allocation's number, unique in its process; 0 for an empty entry.
    id: u64,
    size: u64,
    /// Whether work of the exporting process that may write the memory was pending at the export, and has not run.
    unwaited: bool,
}

impl Entry {
    const SIZE: u64 = 32;
    const NONE: Entry = Entry { id: 0, size: 0, unwaited: false };

    fn place(memory: u64, offset: u64) -> u64 {
        memory + offset / ALIGNMENT * Entry::SIZE
    }

    fn read(file: &File, memory: u64, offset: u64) -> io::Result<Entry> {
        let mut words = [[0; 8]; 3];
        file.read_exact_at(words.as_flattened_mut(), Entry::place(memory, offset))?;
        let [id, size, unwaited] = words.map(u64::from_ne_bytes);
        Ok(Entry { id, size, unwaited: unwaited != 0 })
    }

    fn write(self, file: &File, memory: u64, offset: u64) -> io::Result<()> {
        let words = [self.id, self.size, u64::from(self.unwaited)].map(u64::to_ne_bytes);
        file.write_all_at(words.as_flattened(), Entry::place(memory, offset))
    }
}

/// Exports the allocation `id` at `offset` of a file, whose first `memory` bytes are memory.
pub(crate) fn export(file: &File, memory: u64, offset: u64, id: u64, size: u64) -> io::Result<()> {
    Entry { id, size, unwaited: false }.write(file, memory, offset)
}

/// Notes for importers whether the exporting process has not waited for its work on an exported allocation.
pub(crate) fn set_unwaited(file: &File, memory: u64, offset: u64, unwaited: bool) {
    // An entry that cannot be read or written only loses a hint.
    if let Ok(entry) = Entry::read(file, memory, offset)
        && entry.id != 0
    {
        let _ = Entry { unwaited, ..entry }.write(file, memory, offset);
    }
}

/// Ends the export of an allocation. Returns whether another process has the memory open; [`is_open`] tells this
/// later.
pub(crate) fn withdraw(file: &File, memory: u64, offset: u64, size: u64) -> bool {
    // An entry that cannot be removed counts as open forever: the memory is not reused.
    Entry::NONE.write(file, memory, offset).is_err() || is_open(file, offset, size)
}

/// Whether another process has these bytes of a file open.
pub(crate) fn is_open(file: &File, offset: u64, size: u64) -> bool {
    let mut lock = lock(libc::F_WRLCK, offset, size);
    // SAFETY: the command reads the description of a lock and overwrites it.
    let status = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &mut lock) };
    status != 0 || libc::c_int::from(lock.l_type) != libc::F_UNLCK
}

fn lock(kind: libc::c_int, offset: u64, size: u64) -> libc::flock {
    // SAFETY: all fields are numbers, for which zero is valid; the process id must be 0.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = offset as libc::off_t;
    lock.l_len = size as libc::off_t;
    lock
}

/// The contents of a [`CUipcMemHandle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    pub exporter: Exporter,
    /// The device's number in the machine; [`CU_DEVICE_CPU`] for host memory.
    pub device: i32,
    /// The offset of the allocation in the file.
    pub offset: u64,
    /// The allocation's number in the exporting process.
    pub id: u64,
    /// The lower half of the number of the memory's pool; 0 for memory of no pool.
    pub pool: u32,
}

/// A file of memory in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exporter {
    process: u32,
    /// The start time of the process, which distinguishes it from a later one with the same id.
    started: u64,
    /// The file descriptor in that process.
    file: i32,
}

impl Exporter {
    /// A file of this process.
    pub(crate) fn here(file: i32) -> Result<Exporter, CUresult> {
        let process = std::process::id();
        let started = started(process).ok_or(CUresult::CUDA_ERROR_NOT_SUPPORTED)?;
        Ok(Exporter { process, started, file })
    }

    /// Whether the file belongs to a process that started then.
    pub(crate) fn is_process(&self, process: u64, started: u64) -> bool {
        (u64::from(self.process), self.started) == (process, started)
    }
}

impl Handle {
    pub(crate) fn to_bytes(self) -> CUipcMemHandle {
        let Exporter { process, started, file } = self.exporter;
        let file = u64::from(self.pool) << 32 | u64::from(file.cast_unsigned());
        let (process, device) = (u64::from(process), u64::from(self.device.cast_unsigned()));
        let words = [u64::from_ne_bytes(MAGIC), process, started, file, device, self.offset, self.id];
        let mut bytes = [0; 64];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words.into_iter().chain([sum(words)])) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        CUipcMemHandle { reserved: bytes.map(|byte: u8| byte as libc::c_char) }
    }

    /// Decodes a handle; `None` if no simulated driver created it.
    pub(crate) fn from_bytes(handle: &CUipcMemHandle) -> Option<Handle> {
        let bytes = handle.reserved.map(|byte| byte as u8);
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_ne_bytes(*bytes);
        }
        let [magic, process, started, file, device, offset, id, checked] = words;
        if magic != u64::from_ne_bytes(MAGIC) || checked != sum([magic, process, started, file, device, offset, id]) {
            return None;
        }
        let (pool, file) = ((file >> 32) as u32, i32::try_from(file as u32).ok()?);
        let (process, device) = (u32::try_from(process).ok()?, u32::try_from(device).ok()?.cast_signed());
        Some(Handle { exporter: Exporter { process, started, file }, device, offset, id, pool })
    }
}

/// A checksum that detects changed bytes of a handle.
fn sum(words: [u64; 7]) -> u64 {
    // The multiplier of FxHash.
    words.into_iter().fold(0, |sum, word| (sum.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95))
}

/// The start time of a process in the system's ticks; `None` if there is no such process.
fn started(process: u32) -> Option<u64> {
    static OWN: OnceLock<Option<(u32, u64)>> = OnceLock::new();
    let read = || Some(ProcessStatus::of(process)?.started);
    if process != std::process::id() {
        return read();
    }
    // A child of `fork` has another id, and reads again.
    match OWN.get_or_init(|| Some((process, read()?))) {
        Some((own, started)) if *own == process => Some(*started),
        _ => read(),
    }
}

/// Whether a process with this id and start time runs. A process that has ended and was not waited for does not.
pub(crate) fn is_running(process: u32, expected: u64) -> bool {
    if process == std::process::id() {
        return started(process).unwrap_or_default() == expected;
    }
    ProcessStatus::of(process).is_some_and(|status| !status.ended && status.started == expected)
}

/// The id of this process, and its start time.
pub(crate) fn this_process() -> (u64, u64) {
    let process = std::process::id();
    (u64::from(process), started(process).unwrap_or_default())
}

/// Memory of another process that is open in this one.
pub(crate) struct Imported {
    pub handle: Handle,
    /// The number of opens minus closes.
    pub opened: u64,
    /// The imported pool to which the memory belongs.
    pub pool: Option<CUmemoryPool>,
    /// The device address of the allocation, and the address at which the driver reaches it.
    address: u64,
    shadow: u64,
    pub size: u64,
    /// The two mappings, of whole pages; 0 before they exist.
    mappings: [u64; 2],
    mapped: usize,
    file: File,
    memory: u64,
    /// Whether a line has said that the exporter has not waited.
    hinted: AtomicBool,
}

impl Imported {
    /// Opens a handle.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_HANDLE` if the allocation or its process is gone; `CUDA_ERROR_MAP_FAILED` if this process
    /// may not open the other's files, or lacks address space.
    pub(crate) fn open(handle: Handle, devices_readable: bool) -> Result<Imported, CUresult> {
        const GONE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;
        const FAILED: CUresult = CUresult::CUDA_ERROR_MAP_FAILED;
        let Exporter { process, started: expected, file } = handle.exporter;
        let alive = || started(process) == Some(expected);
        if !alive() {
            return Err(GONE);
        }
        let path = format!("/proc/{process}/fd/{file}");
        let name = std::fs::read_link(&path).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => FAILED,
            _ => GONE,
        })?;
        let expected = format!("/memfd:{}", FILE_NAME.to_string_lossy());
        if !name.as_os_str().to_string_lossy().starts_with(&expected) {
            return Err(GONE);
        }
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).custom_flags(libc::O_CLOEXEC);
        let file = options.open(&path).map_err(|_| FAILED)?;
        let length = file.metadata().map_err(|_| FAILED)?.len();
        let memory = length / PARTS * MEMORY_PARTS;
        if file_length(memory) != Some(length) || handle.offset >= memory || !handle.offset.is_multiple_of(ALIGNMENT) {
            return Err(GONE);
        }
        let entry = Entry::read(&file, memory, handle.offset).map_err(|_| FAILED)?;
        let end = handle.offset.checked_add(entry.size).filter(|end| *end <= memory);
        let Some(end) = end.filter(|_| entry.id != 0 && entry.id == handle.id) else { return Err(GONE) };
        // Lock first and check again, so that either this process or a concurrent free sees the other.
        let lock = lock(libc::F_RDLCK, handle.offset, entry.size);
        // SAFETY: the command reads the description of a lock.
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &lock) } != 0 {
            return Err(FAILED);
        }
        let page = crate::pages::page_size();
        let first = handle.offset - handle.offset % page;
        let mapped = usize::try_from(end.next_multiple_of(page) - first).map_err(|_| FAILED)?;
        // From here on, dropping `imported` cleans up.
        let mut imported = Imported {
            handle,
            opened: 1,
            pool: None,
            address: 0,
            shadow: 0,
            size: entry.size,
            mappings: [0; 2],
            mapped,
            file,
            memory,
            hinted: AtomicBool::new(false),
        };
        if !alive() || !imported.is_live() {
            return Err(GONE);
        }
        let open = libc::PROT_READ | libc::PROT_WRITE;
        let host_readable = devices_readable || imported.on_host();
        for (index, protection) in [open, if host_readable { open } else { libc::PROT_NONE }].into_iter().enumerate() {
            // SAFETY: a new mapping at an address that the system chooses replaces nothing; the pages lie in the file.
            let address = unsafe {
                let file = imported.file.as_raw_fd();
                libc::mmap(std::ptr::null_mut(), mapped, protection, libc::MAP_SHARED, file, first as libc::off_t)
            };
            if address == libc::MAP_FAILED {
                return Err(FAILED);
            }
            imported.mappings[index] = address as u64;
        }
        let within = handle.offset - first;
        imported.shadow = imported.mappings[0] + within;
        imported.address = imported.mappings[1] + within;
        Ok(imported)
    }

    /// Whether the memory is host memory.
    pub(crate) fn on_host(&self) -> bool {
        self.handle.device == CU_DEVICE_CPU
    }

    /// The addresses of host memory that can be guarded, from first to end.
    pub(crate) fn guardable(&self) -> Option<(u64, u64)> {
        let [_, start] = self.mappings;
        self.on_host().then(|| (start, start + self.mapped as u64))
    }

    /// The device address of the first byte.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// The driver's address of the byte at a device address within the memory.
    pub(crate) fn shadow_of(&self, address: u64) -> u64 {
        self.shadow + (address - self.address)
    }

    /// Whether the exporter has not freed the memory.
    pub(crate) fn is_live(&self) -> bool {
        self.entry().is_some()
    }

    /// The entry of the memory, while the exporter has not freed it.
    fn entry(&self) -> Option<Entry> {
        let entry = Entry::read(&self.file, self.memory, self.handle.offset).ok()?;
        (entry.id == self.handle.id && entry.size == self.size).then_some(entry)
    }

    /// The exporting process, if it has not waited for its work on the memory; once.
    pub(crate) fn newly_unwaited(&self) -> Option<u32> {
        let unwaited = !self.hinted.load(Ordering::Relaxed) && self.entry().is_some_and(|entry| entry.unwaited);
        unwaited.then(|| {
            self.hinted.store(true, Ordering::Relaxed);
            self.handle.exporter.process
        })
    }
}

impl Drop for Imported {
    fn drop(&mut self) {
        for address in self.mappings {
            if address != 0 {
                // SAFETY: this value owns the mapping, which has this length; the work that uses it has run before the
                // close.
                unsafe { libc::munmap(address as *mut libc::c_void, self.mapped) };
            }
        }
        // Closing the file, which has no other descriptor, drops its lock.
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handle() -> Handle {
        let exporter = Exporter { process: 7, started: 1 << 40, file: 9 };
        Handle { exporter, device: 1, offset: 1 << 33, id: u64::MAX, pool: u32::MAX }
    }

    #[test]
    fn handle_round_trips_through_bytes() {
        let of_host = Handle { device: CU_DEVICE_CPU, ..handle() };
        for handle in [handle(), of_host] {
            assert_eq!(Handle::from_bytes(&handle.to_bytes()), Some(handle));
        }
    }

    #[test]
    fn changed_bytes_are_not_a_handle() {
        assert_eq!(Handle::from_bytes(&CUipcMemHandle { reserved: [0; 64] }), None);
        for index in 0..64 {
            let mut bytes = handle().to_bytes();
            bytes.reserved[index] ^= 1;
            assert_eq!(Handle::from_bytes(&bytes), None, "byte {index}");
        }
    }

    #[test]
    fn start_time_is_known_for_this_process_only() {
        assert_eq!(started(std::process::id()), started(std::process::id()));
        assert!(started(std::process::id()).is_some());
        assert_eq!(started(u32::MAX), None);
    }
}
