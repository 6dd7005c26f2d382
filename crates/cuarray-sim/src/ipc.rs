//! Device memory that another process has open: what a handle carries, and how one process reaches another's bytes.
//!
//! A device's memory is an anonymous file ([`arena`](crate::arena)), and a process reaches the files of another of the same user
//! under `/proc`. So a handle says which process, which of its files and which allocation, and whoever opens it maps those
//! pages. It trusts none of what it was handed: the process must still be the one that started then, the file must be a
//! device's, and the file itself says which allocations are exported, in a table behind the memory ([`Entry`]). A handle
//! whose allocation is gone finds another number there, or none, and is refused; it never opens somebody else's bytes.
//!
//! The manual leaves undefined what happens if the exporter frees memory that another process has open. Here its entry goes
//! at once, so that whoever has it open is refused from then on, and its pages stay untouched until the last of them
//! has closed it, so that work which was enqueued before finds what it was to find. That somebody has it open is
//! known by a lock on those bytes of the file, which the system drops with the process, however that ends.
//!
//! Nothing orders the processes' work. What one has enqueued runs in that one alone, when it forces it.

use crate::allocator::ALIGNMENT;
use cuarray_abi::{CUipcMemHandle, CUresult};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::OnceLock;

/// What a device's file is called; the system shows it in `/proc`.
pub(crate) const FILE_NAME: &std::ffi::CStr = c"cuarray simulated device";
/// Of a file, this part of [`PARTS`] is memory; the rest is the table of what is exported.
const MEMORY_PARTS: u64 = ALIGNMENT / Entry::SIZE;
const PARTS: u64 = MEMORY_PARTS + 1;
const MAGIC: [u8; 8] = *b"cuarrsim";

/// The whole length of the file of a device with `memory` bytes of addresses.
pub(crate) fn file_length(memory: u64) -> Option<u64> {
    (memory / MEMORY_PARTS).checked_mul(PARTS)
}

/// What the table says of an exported allocation, at the place that its offset gives it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    /// The allocation's number, never used twice in a process; 0 where nothing is exported.
    id: u64,
    size: u64,
}

impl Entry {
    const SIZE: u64 = 16;
    const NONE: Entry = Entry { id: 0, size: 0 };

    fn place(memory: u64, offset: u64) -> u64 {
        memory + offset / ALIGNMENT * Entry::SIZE
    }

    fn read(file: &File, memory: u64, offset: u64) -> io::Result<Entry> {
        let mut words = [[0; 8]; 2];
        file.read_exact_at(words.as_flattened_mut(), Entry::place(memory, offset))?;
        let [id, size] = words.map(u64::from_ne_bytes);
        Ok(Entry { id, size })
    }

    fn write(self, file: &File, memory: u64, offset: u64) -> io::Result<()> {
        let words = [self.id, self.size].map(u64::to_ne_bytes);
        file.write_all_at(words.as_flattened(), Entry::place(memory, offset))
    }
}

/// Lets other processes open the allocation `id` at `offset` of a device's file, whose first `memory` bytes are memory.
pub(crate) fn export(file: &File, memory: u64, offset: u64, id: u64, size: u64) -> io::Result<()> {
    Entry { id, size }.write(file, memory, offset)
}

/// Takes that back. Answers whether somebody has the memory open; [`is_open`] says when that has ended.
pub(crate) fn withdraw(file: &File, memory: u64, offset: u64, size: u64) -> bool {
    // An entry that cannot be removed is as good as one that is open for ever: the memory is not used again.
    Entry::NONE.write(file, memory, offset).is_err() || is_open(file, offset, size)
}

/// Whether another process has those bytes of a device's file open.
pub(crate) fn is_open(file: &File, offset: u64, size: u64) -> bool {
    let mut lock = lock(libc::F_WRLCK, offset, size);
    // SAFETY: the command takes a lock's description and overwrites it.
    let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &mut lock) };
    asked != 0 || libc::c_int::from(lock.l_type) != libc::F_UNLCK
}

fn lock(kind: libc::c_int, offset: u64, size: u64) -> libc::flock {
    // SAFETY: all fields are numbers, for which zero is a value; the process id has to be 0.
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
    /// The device, as the machine numbers it.
    pub device: i32,
    /// Where the allocation starts in the file.
    pub offset: u64,
    /// The allocation's number there.
    pub id: u64,
}

/// A device's file in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exporter {
    process: u32,
    /// When the process started, so that a later one of the same number is not taken for it.
    started: u64,
    /// The file, as that process numbers it.
    file: i32,
}

impl Exporter {
    /// A file of this process.
    pub(crate) fn here(file: i32) -> Result<Exporter, CUresult> {
        let process = std::process::id();
        let started = started(process).ok_or(CUresult::CUDA_ERROR_NOT_SUPPORTED)?;
        Ok(Exporter { process, started, file })
    }
}

impl Handle {
    pub(crate) fn to_bytes(self) -> CUipcMemHandle {
        let Exporter { process, started, file } = self.exporter;
        let (process, file, device) = (u64::from(process), file as u64, self.device as u64);
        let words = [u64::from_ne_bytes(MAGIC), process, started, file, device, self.offset, self.id];
        let mut bytes = [0; 64];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words.into_iter().chain([sum(words)])) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        CUipcMemHandle { reserved: bytes.map(|byte: u8| byte as libc::c_char) }
    }

    /// `None` for what no simulated driver made.
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
        let (process, file) = (u32::try_from(process).ok()?, i32::try_from(file).ok()?);
        Some(Handle { exporter: Exporter { process, started, file }, device: i32::try_from(device).ok()?, offset, id })
    }
}

/// Tells a handle from what has lost or changed some of its bytes.
fn sum(words: [u64; 7]) -> u64 {
    // The multiplier of a common hash of this kind.
    words.into_iter().fold(0, |sum, word| (sum.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95))
}

/// When a process started, in the system's ticks; `None` where there is no such process.
fn started(process: u32) -> Option<u64> {
    static OWN: OnceLock<Option<(u32, u64)>> = OnceLock::new();
    let read = || {
        let line = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The second field is a name in parentheses, which may hold anything; the start time is the 22nd.
        line.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
    };
    if process != std::process::id() {
        return read();
    }
    // A child of `fork` has another number, and asks anew.
    match OWN.get_or_init(|| Some((process, read()?))) {
        Some((own, started)) if *own == process => Some(*started),
        _ => read(),
    }
}

/// Memory of another process, open in this one.
pub(crate) struct Imported {
    pub handle: Handle,
    /// How often it was opened and not closed.
    pub opened: u64,
    /// Where the allocation starts at device addresses, and where the driver reaches it.
    address: u64,
    shadow: u64,
    pub size: u64,
    /// The two mappings, of whole pages; 0 for one that was not made.
    mappings: [u64; 2],
    mapped: usize,
    file: File,
    memory: u64,
}

impl Imported {
    /// Opens a handle.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_HANDLE` if the allocation, or its process, is gone; `CUDA_ERROR_MAP_FAILED` if this process may not
    /// reach that one's files, or has no room.
    pub(crate) fn open(handle: Handle, host_readable: bool) -> Result<Imported, CUresult> {
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
        // Locked first and looked at again, so that of this and a free on the other side one sees the other.
        let lock = lock(libc::F_RDLCK, handle.offset, entry.size);
        // SAFETY: the command reads a lock's description.
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &lock) } != 0 {
            return Err(FAILED);
        }
        let page = crate::arena::page_size();
        let first = handle.offset - handle.offset % page;
        let mapped = usize::try_from(end.next_multiple_of(page) - first).map_err(|_| FAILED)?;
        // From here on, dropping it undoes what has been done.
        let mut imported = Imported {
            handle,
            opened: 1,
            address: 0,
            shadow: 0,
            size: entry.size,
            mappings: [0; 2],
            mapped,
            file,
            memory,
        };
        if !alive() || !imported.is_live() {
            return Err(GONE);
        }
        let open = libc::PROT_READ | libc::PROT_WRITE;
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

    /// The device address of its first byte.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Where the driver reaches the byte at a device address within it.
    pub(crate) fn shadow_of(&self, address: u64) -> u64 {
        self.shadow + (address - self.address)
    }

    /// Whether the exporter has not freed it.
    pub(crate) fn is_live(&self) -> bool {
        let expected = Entry { id: self.handle.id, size: self.size };
        Entry::read(&self.file, self.memory, self.handle.offset).is_ok_and(|entry| entry == expected)
    }
}

impl Drop for Imported {
    fn drop(&mut self) {
        for address in self.mappings {
            if address != 0 {
                // SAFETY: the mapping is ours and of this length; whoever closes it has run the work that needs it.
                unsafe { libc::munmap(address as *mut libc::c_void, self.mapped) };
            }
        }
        // Closing the file, which nobody else has, gives up its lock.
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handle() -> Handle {
        let exporter = Exporter { process: 7, started: 1 << 40, file: 9 };
        Handle { exporter, device: 1, offset: 1 << 33, id: u64::MAX }
    }

    #[test]
    fn a_handle_survives_its_bytes() {
        assert_eq!(Handle::from_bytes(&handle().to_bytes()), Some(handle()));
    }

    #[test]
    fn what_no_simulated_driver_made_is_no_handle() {
        assert_eq!(Handle::from_bytes(&CUipcMemHandle { reserved: [0; 64] }), None);
        for index in 0..64 {
            let mut bytes = handle().to_bytes();
            bytes.reserved[index] ^= 1;
            assert_eq!(Handle::from_bytes(&bytes), None, "byte {index}");
        }
    }

    #[test]
    fn this_process_has_started_and_no_process_has_not() {
        assert_eq!(started(std::process::id()), started(std::process::id()));
        assert!(started(std::process::id()).is_some());
        assert_eq!(started(u32::MAX), None);
    }
}
