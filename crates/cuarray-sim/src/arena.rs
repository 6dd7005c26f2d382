//! A device's memory: one range of addresses, mapped twice.
//!
//! At its device addresses the host may not touch the memory, so a program that reads a device pointer faults at once, as
//! it would on a machine with a GPU. The bytes are reached by the driver alone, through a second mapping of the
//! same anonymous file. `Config::host_readable` opens the first mapping too, for programs that hand device pointers to code
//! that only knows host memory (MPI libraries).

use crate::allocator::FreeRanges;
use crate::ipc;
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};

/// How much wider the address range is than the memory: freed addresses come back late, and fragmentation never
/// makes an allocation fail that fits the memory.
const ADDRESSES_PER_BYTE: u64 = 4;
/// Up to this size, memory that is handed out is overwritten with [`FRESH`] first.
const FILLED_UP_TO: u64 = 1 << 20;
/// What fresh memory holds: a NaN in every floating-point type, -1 in every signed integer.
const FRESH: u8 = 0xff;

/// The memory of one device.
pub(crate) struct Arena {
    base: u64,
    length: u64,
    /// Where the driver reaches the byte at `base`.
    shadow: u64,
    file: File,
    page: u64,
    free: FreeRanges,
    /// The offsets of allocations that other processes may open.
    exported: HashSet<u64>,
    /// Offset and size of what was given back while another process had it open.
    held: Vec<(u64, u64)>,
    /// The memory that the device claims to have, and how much of it is handed out.
    pub capacity: u64,
    pub used: u64,
}

impl Arena {
    pub(crate) fn new(capacity: u64, host_readable: bool) -> io::Result<Arena> {
        let length = capacity.saturating_mul(ADDRESSES_PER_BYTE).next_multiple_of(1 << 21);
        let size = usize::try_from(length).map_err(io::Error::other)?;
        // SAFETY: the name is a nul-terminated literal.
        let file = unsafe { libc::memfd_create(ipc::FILE_NAME.as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the file was just made and is in no other hands.
        let file = unsafe { File::from_raw_fd(file) };
        file.set_len(
            ipc::file_length(length).ok_or_else(|| io::Error::other("the memory exceeds the address space"))?,
        )?;
        // From here on, dropping the arena undoes what has been done.
        let mut arena = Arena {
            base: 0,
            length,
            shadow: 0,
            file,
            page: page_size(),
            free: FreeRanges::new(length),
            exported: HashSet::new(),
            held: Vec::new(),
            capacity,
            used: 0,
        };
        let file = arena.file.as_raw_fd();
        let open = libc::PROT_READ | libc::PROT_WRITE;
        let map = |protection| {
            let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
            // SAFETY: a new mapping at an address that the system chooses replaces nothing.
            let address = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, file, 0) };
            if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(address as u64) }
        };
        arena.shadow = map(open)?;
        arena.base = map(if host_readable { open } else { libc::PROT_NONE })?;
        Ok(arena)
    }

    /// Whether `address` lies in the device's range, allocated or not.
    pub(crate) fn holds(&self, address: u64) -> bool {
        address.wrapping_sub(self.base) < self.length
    }

    /// Where the driver reaches the byte at a device address that this arena holds.
    pub(crate) fn shadow_of(&self, address: u64) -> u64 {
        self.shadow + (address - self.base)
    }

    /// Hands out memory; `None` where the device has not enough. Answers its address and its real size.
    pub(crate) fn take(&mut self, size: u64) -> Option<(u64, u64)> {
        if self.used.checked_add(size.checked_next_multiple_of(crate::allocator::ALIGNMENT)?)? > self.capacity {
            return None;
        }
        for (offset, size) in std::mem::take(&mut self.held) {
            self.free_unless_open(offset, size);
        }
        let (offset, size) = self.free.take(size)?;
        self.used += size;
        Some((self.base + offset, size))
    }

    /// Makes memory that was just handed out look used, if that is cheap.
    pub(crate) fn soil(&self, address: u64, size: u64) {
        if size <= FILLED_UP_TO {
            // SAFETY: the range was handed out by `take`, so it lies in the mapping at `shadow`, which is writable.
            unsafe { std::ptr::write_bytes(self.shadow_of(address) as *mut u8, FRESH, size as usize) };
        }
    }

    /// Takes back what [`Arena::take`] handed out (its real size). Where another process has it open, it is handed out again
    /// only when that has ended.
    pub(crate) fn give_back(&mut self, address: u64, size: u64) {
        self.used -= size;
        let offset = address - self.base;
        if self.exported.remove(&offset) && ipc::withdraw(&self.file, self.length, offset, size) {
            self.held.push((offset, size));
        } else {
            self.free(offset, size);
        }
    }

    /// Lets other processes open the allocation `id` that was handed out at `address`. Answers the place in the
    /// file.
    pub(crate) fn export(&mut self, address: u64, id: u64, size: u64) -> io::Result<u64> {
        let offset = address - self.base;
        ipc::export(&self.file, self.length, offset, id, size)?;
        self.exported.insert(offset);
        Ok(offset)
    }

    /// The file, as this process numbers it.
    pub(crate) fn file(&self) -> i32 {
        self.file.as_raw_fd()
    }

    fn free_unless_open(&mut self, offset: u64, size: u64) {
        if ipc::is_open(&self.file, offset, size) {
            self.held.push((offset, size));
        } else {
            self.free(offset, size);
        }
    }

    /// Makes a range of addresses free, and returns its pages to the system.
    fn free(&mut self, offset: u64, size: u64) {
        let (start, end) = self.free.give_back(offset, size);
        // Only pages that this range touched and that lie wholly in free memory.
        let first = (offset - offset % self.page).max(start.next_multiple_of(self.page));
        let last = (offset + size).next_multiple_of(self.page).min(end - end % self.page);
        if first < last {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            // SAFETY: `file` is ours, and nothing that is handed out lies in the hole. Where the system cannot make holes
            // the pages merely stay.
            unsafe {
                libc::fallocate(self.file.as_raw_fd(), mode, first as libc::off_t, (last - first) as libc::off_t)
            };
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for address in [self.base, self.shadow] {
            if address != 0 {
                // SAFETY: the mapping is ours and of this length; the driver that could still use it is gone.
                unsafe { libc::munmap(address as *mut libc::c_void, self.length as usize) };
            }
        }
    }
}

/// The size of a page of memory.
pub(crate) fn page_size() -> u64 {
    // SAFETY: sysconf has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).ok().filter(|size| size.is_power_of_two()).unwrap_or(4096)
}
