//! A device's memory: one range of addresses, mapped twice.
//!
//! The host may not access the device addresses, so a program that reads a device pointer faults at once, as on a
//! machine with a GPU. Only the driver reaches the bytes, through a second mapping of the same anonymous file.
//! `Config::host_readable` opens the first mapping too, for programs that pass device pointers to code for host memory,
//! such as MPI libraries.

use crate::pages::allocator::{ALIGNMENT, APART};
use crate::pages::shared_file::SharedFile;
use std::io;

/// The factor by which the address range exceeds the memory. It delays the reuse of freed addresses, and keeps
/// fragmentation from failing an allocation that fits the memory.
const ADDRESSES_PER_BYTE: u64 = 4;
/// The largest allocation that is overwritten with [`FRESH`].
pub(crate) const FILLED_UP_TO: u64 = 1 << 20;
/// The bytes of fresh memory: a NaN in every floating-point type, -1 in every signed integer.
pub(crate) const FRESH: u8 = 0xff;

/// The memory of one device.
pub(crate) struct Arena {
    base: u64,
    length: u64,
    /// The address at which the driver reaches the byte at `base`.
    shadow: u64,
    file: SharedFile,
    /// The memory that the device claims to have, and how much of it is allocated.
    pub capacity: u64,
    pub used: u64,
}

impl Arena {
    pub(crate) fn new(capacity: u64, host_readable: bool) -> io::Result<Arena> {
        let length = capacity.saturating_mul(ADDRESSES_PER_BYTE).next_multiple_of(1 << 21);
        let size = usize::try_from(length).map_err(io::Error::other)?;
        let file = SharedFile::new(length)?;
        // From here on, dropping the arena cleans up.
        let mut arena = Arena { base: 0, length, shadow: 0, file, capacity, used: 0 };
        let file = arena.file.descriptor();
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

    /// The first device address, and the length of the range of device addresses.
    pub(crate) fn addresses(&self) -> (u64, u64) {
        (self.base, self.length)
    }

    /// Whether `address` lies in the device's range, allocated or not.
    pub(crate) fn holds(&self, address: u64) -> bool {
        address.wrapping_sub(self.base) < self.length
    }

    /// The address at which the driver reaches the byte at a device address of this arena.
    pub(crate) fn shadow_of(&self, address: u64) -> u64 {
        self.shadow + (address - self.base)
    }

    /// Allocates memory; returns its address and its real size, or `None` if the device has too little.
    pub(crate) fn take(&mut self, size: u64) -> Option<(u64, u64)> {
        let real = size.checked_next_multiple_of(ALIGNMENT)?;
        if self.used.checked_add(real)? > self.capacity {
            return None;
        }
        let offset = self.file.take(real.checked_add(APART)?)?;
        self.used += real;
        Some((self.base + offset, real))
    }

    /// Counts memory that has no addresses here; returns whether the device has enough.
    pub(crate) fn charge(&mut self, size: u64) -> bool {
        let fits = self.used.checked_add(size).is_some_and(|used| used <= self.capacity);
        if fits {
            self.used += size;
        }
        fits
    }

    /// Reverses [`Arena::charge`].
    pub(crate) fn discharge(&mut self, size: u64) {
        self.used -= size;
    }

    /// Overwrites newly allocated memory, if it is small, so that it does not read as zero.
    pub(crate) fn soil(&self, address: u64, size: u64) {
        if size <= FILLED_UP_TO {
            // SAFETY: `take` returned this range, so it lies in the mapping at `shadow`, which is writable.
            unsafe { std::ptr::write_bytes(self.shadow_of(address) as *mut u8, FRESH, size as usize) };
        }
    }

    /// Frees memory of [`Arena::take`], given its real size. Memory that another process has open is reused only after
    /// that process closes it.
    pub(crate) fn release(&mut self, address: u64, size: u64) {
        self.used -= size;
        self.file.release(address - self.base, size + APART);
    }

    /// Exports the allocation `id` at `address` to other processes; returns its offset in the file.
    pub(crate) fn export(&mut self, address: u64, id: u64, size: u64) -> io::Result<u64> {
        let offset = address - self.base;
        self.file.export(offset, id, size)?;
        Ok(offset)
    }

    /// Notes for importers whether this process has not waited for its work on an exported allocation.
    pub(crate) fn set_unwaited(&mut self, address: u64, unwaited: bool) {
        self.file.set_unwaited(address - self.base, unwaited);
    }

    /// This process's descriptor of the file.
    pub(crate) fn file(&self) -> i32 {
        self.file.descriptor()
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for address in [self.base, self.shadow] {
            if address != 0 {
                // SAFETY: the arena owns the mapping, which has this length; the driver that could use it is gone.
                unsafe { libc::munmap(address as *mut libc::c_void, self.length as usize) };
            }
        }
    }
}
