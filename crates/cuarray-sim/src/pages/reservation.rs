//! Reserved addresses, to which programs map physical memory (`cuMemAddressReserve`).
//!
//! As for a device's [arena](crate::pages::arena), the driver reaches the bytes through a second range of addresses.
//! Both ranges have one layout, so memory that is mapped side by side is contiguous in both.

use crate::pages::backing::Backing;
use crate::pages::page_size;
use std::io;

/// The alignment of a reservation for which the program names none: the granularity of physical memory.
pub(crate) const GRANULARITY: u64 = 2 << 20;

/// The access of the host to mapped memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HostAccess {
    None,
    Read,
    ReadWrite,
}

/// A range of reserved addresses.
pub(crate) struct Reservation {
    pub address: u64,
    pub size: u64,
    /// Whether the program chose the address.
    pub placed: bool,
    shadow: u64,
}

impl Reservation {
    /// Reserves addresses, at `hint` if they are free.
    pub(crate) fn new(size: u64, alignment: u64, hint: u64) -> io::Result<Reservation> {
        let alignment = alignment.max(page_size());
        let shadow = reserve(size, page_size(), 0)?;
        match reserve(size, alignment, hint) {
            Ok(address) => Ok(Reservation { address, size, placed: address == hint, shadow }),
            Err(error) => {
                unmap(shadow, size);
                Err(error)
            }
        }
    }

    /// Whether an address lies in the range.
    pub(crate) fn holds(&self, address: u64) -> bool {
        address.wrapping_sub(self.address) < self.size
    }

    /// The driver's address of a byte.
    pub(crate) fn shadow_of(&self, address: u64) -> u64 {
        self.shadow + (address - self.address)
    }

    /// Maps the first `size` bytes of physical memory.
    pub(crate) fn map(&self, address: u64, size: u64, backing: &Backing) -> io::Result<()> {
        let open = libc::PROT_READ | libc::PROT_WRITE;
        place(self.shadow_of(address), size, open, libc::MAP_SHARED, backing.file())
    }

    /// Sets the access of the host to mapped memory.
    pub(crate) fn open(&self, address: u64, size: u64, backing: &Backing, access: HostAccess) -> io::Result<()> {
        let protection = match access {
            HostAccess::None => return place(address, size, libc::PROT_NONE, EMPTY, -1),
            HostAccess::Read => libc::PROT_READ,
            HostAccess::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
        };
        place(address, size, protection, libc::MAP_SHARED, backing.file())
    }

    /// Removes a mapping; the addresses stay reserved.
    pub(crate) fn unmap(&self, address: u64, size: u64) {
        for address in [address, self.shadow_of(address)] {
            // A failure leaves the old pages, which the table of allocations no longer names.
            let _ = place(address, size, libc::PROT_NONE, EMPTY, -1);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        unmap(self.address, self.size);
        unmap(self.shadow, self.size);
    }
}

/// The flags of pages without memory.
const EMPTY: libc::c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

/// Reserves addresses that are a multiple of `alignment`.
fn reserve(size: u64, alignment: u64, hint: u64) -> io::Result<u64> {
    let too_large = || io::Error::other("the range exceeds the address space");
    let whole = size.checked_add(alignment).ok_or_else(too_large)?;
    let map = |hint: u64, length: u64| {
        let length = usize::try_from(length).map_err(io::Error::other)?;
        // SAFETY: a new mapping at an address that the system chooses replaces nothing; without MAP_FIXED, the address
        // is only a wish.
        let address = unsafe { libc::mmap(hint as *mut libc::c_void, length, libc::PROT_NONE, EMPTY, -1, 0) };
        if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(address as u64) }
    };
    if hint != 0 {
        let address = map(hint, size)?;
        if address.is_multiple_of(alignment) {
            return Ok(address);
        }
        unmap(address, size);
    }
    let first = map(0, whole)?;
    let address = first.next_multiple_of(alignment);
    if first < address {
        unmap(first, address - first);
    }
    if address + size < first + whole {
        unmap(address + size, first + whole - (address + size));
    }
    Ok(address)
}

/// Replaces pages of a reservation.
fn place(address: u64, size: u64, protection: libc::c_int, flags: libc::c_int, file: libc::c_int) -> io::Result<()> {
    let size = usize::try_from(size).map_err(io::Error::other)?;
    // SAFETY: the callers pass pages of a range that they have reserved, and that no other part of the process uses.
    let placed = unsafe {
        libc::mmap(
            address as *mut libc::c_void,
            size,
            protection,
            flags | libc::MAP_FIXED | libc::MAP_NORESERVE,
            file,
            0,
        )
    };
    if placed == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Returns addresses to the system.
fn unmap(address: u64, size: u64) {
    // SAFETY: the caller has reserved these pages, and no code uses them after this call.
    unsafe { libc::munmap(address as *mut libc::c_void, size as usize) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::backing::{Label, origin};

    #[test]
    fn mapped_memory_is_reached_through_both_ranges() {
        let label =
            Label { size: GRANULARITY, origin: origin(1), location: (2, 0), handle_types: 0, rdma: false, pool: false };
        let memory = Backing::new(label).unwrap();
        let range = Reservation::new(2 * GRANULARITY, GRANULARITY, 0).unwrap();
        assert!(range.address.is_multiple_of(GRANULARITY));
        let at = range.address + GRANULARITY;
        range.map(at, GRANULARITY, &memory).unwrap();
        range.open(at, GRANULARITY, &memory, HostAccess::ReadWrite).unwrap();
        // SAFETY: both pages were just mapped readable and writable.
        unsafe {
            (range.shadow_of(at) as *mut u8).write_volatile(3);
            assert_eq!((at as *const u8).read_volatile(), 3);
        }
        range.unmap(at, GRANULARITY);
        assert!(!crate::pages::probe::is_range_readable(at, 1));
    }

    #[test]
    fn impossible_size_is_refused() {
        assert!(Reservation::new(1 << 60, GRANULARITY, 0).is_err());
        assert!(Reservation::new(u64::MAX - 4095, GRANULARITY, 0).is_err());
    }

    #[test]
    fn free_hint_is_taken_and_taken_hint_is_not() {
        let hint = {
            let range = Reservation::new(GRANULARITY, GRANULARITY, 0).unwrap();
            range.address
        };
        let first = Reservation::new(GRANULARITY, GRANULARITY, hint).unwrap();
        let second = Reservation::new(GRANULARITY, GRANULARITY, first.address).unwrap();
        assert_ne!(first.address, second.address);
        assert!(second.address.is_multiple_of(GRANULARITY));
    }
}
