//! The pages of pinned and managed memory.
//!
//! The program and the driver map them at different addresses, so that the driver can access them regardless of the
//! program's protection (see [`crate::host_access`]).

use crate::pages::arena::{FILLED_UP_TO, FRESH};
use crate::pages::page_size;
use crate::pages::shared_file::SharedFile;
use std::io;

/// Whole pages, mapped at one address or at two.
pub(crate) struct HostPages {
    address: u64,
    /// The driver's address of the byte at `address`; equal to `address` if the pages are never guarded.
    shadow: u64,
    length: usize,
    /// The offset in the file that other processes may open.
    offset: Option<u64>,
}

impl HostPages {
    /// Allocates zeroed, readable and writable pages for `size` bytes; `None` if the system has too little memory. With
    /// `twofold` they are mapped at two addresses, and only then can they be guarded.
    pub(crate) fn new(size: u64, twofold: bool) -> Option<HostPages> {
        let length = usize::try_from(size.checked_next_multiple_of(page_size())?).ok()?;
        if twofold && let Ok(pages) = HostPages::twofold(length) {
            return Some(pages);
        }
        let address = map(length + apart(), ANONYMOUS, (-1, 0)).ok()?;
        Some(HostPages { address, shadow: address, length, offset: None })
    }

    /// Like [`HostPages::new`], for pages of a file that other processes may open. [`HostPages::give_back`] frees them.
    pub(crate) fn shared(file: &mut SharedFile, size: u64, twofold: bool) -> Option<HostPages> {
        let size = size.checked_next_multiple_of(page_size())?;
        let length = usize::try_from(size).ok()?;
        let offset = file.take(size)?;
        let Ok(address) = map_apart(length, (file.descriptor(), offset)) else {
            file.release(offset, size);
            return None;
        };
        // As in `new`, pages with one address are never guarded.
        let second = || map(length, libc::MAP_SHARED, (file.descriptor(), offset)).ok();
        let shadow = twofold.then(second).flatten().unwrap_or(address);
        Some(HostPages { address, shadow, length, offset: Some(offset) })
    }

    /// Frees pages of [`HostPages::shared`].
    pub(crate) fn give_back(self, file: &mut SharedFile) {
        let part = self.offset.map(|offset| (offset, self.length as u64));
        // Unmapped first: the file may hand out the range again.
        drop(self);
        if let Some((offset, size)) = part {
            file.release(offset, size);
        }
    }

    /// The offset in the file that other processes may open; `None` for other pages.
    pub(crate) fn offset(&self) -> Option<u64> {
        self.offset
    }

    /// Maps the same pages at two addresses.
    fn twofold(length: usize) -> io::Result<HostPages> {
        // SAFETY: the name is a nul-terminated literal.
        let file = unsafe { libc::memfd_create(c"cuarray-sim host".as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        let mapped = || {
            // SAFETY: this function owns the file descriptor.
            if unsafe { libc::ftruncate(file, length as libc::off_t) } != 0 {
                return Err(io::Error::last_os_error());
            }
            let shadow = map(length, libc::MAP_SHARED, (file, 0))?;
            match map_apart(length, (file, 0)) {
                Ok(address) => Ok(HostPages { address, shadow, length, offset: None }),
                Err(error) => {
                    unmap(shadow, length);
                    Err(error)
                }
            }
        };
        let pages = mapped();
        // SAFETY: this function owns the file descriptor; the mappings keep the contents.
        unsafe { libc::close(file) };
        pages
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// The addresses that can be guarded, from first to end; `None` without a second mapping.
    pub(crate) fn guardable(&self) -> Option<(u64, u64)> {
        (self.shadow != self.address).then(|| (self.address, self.address + self.length as u64))
    }

    /// Overwrites newly allocated memory, if it is small, so that it does not read as zero. `size` is that of the
    /// allocation.
    pub(crate) fn soil(&self, size: u64) {
        if size <= FILLED_UP_TO {
            // SAFETY: the pages hold `size` bytes and are writable at the driver's address.
            unsafe { std::ptr::write_bytes(self.shadow as *mut u8, FRESH, size as usize) };
        }
    }

    /// The driver's address of a byte of the pages.
    pub(crate) fn shadow_of(&self, address: u64) -> u64 {
        self.shadow + (address - self.address)
    }
}

impl Drop for HostPages {
    fn drop(&mut self) {
        // Freeing synchronizes first, so no pending work uses the pages.
        unmap(self.address, self.length + apart());
        if self.shadow != self.address {
            unmap(self.shadow, self.length);
        }
    }
}

const ANONYMOUS: libc::c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;

/// The bytes behind the pages that belong to no allocation: the end of one is not the address of another.
fn apart() -> usize {
    page_size() as usize
}

/// Maps pages of a file like [`map`], with [`apart`] bytes behind them.
fn map_apart(length: usize, (file, offset): (libc::c_int, u64)) -> io::Result<u64> {
    let address = map(length + apart(), ANONYMOUS, (-1, 0))?;
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
    // SAFETY: the mapping above holds the replaced pages, and nothing else knows of it.
    let placed =
        unsafe { libc::mmap(address as *mut libc::c_void, length, protection, flags, file, offset as libc::off_t) };
    if placed == libc::MAP_FAILED {
        let error = io::Error::last_os_error();
        unmap(address, length + apart());
        return Err(error);
    }
    Ok(address)
}

/// Maps readable and writable pages, of a file from an offset on.
fn map(length: usize, flags: libc::c_int, (file, offset): (libc::c_int, u64)) -> io::Result<u64> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address that the system chooses replaces nothing.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, file, offset as libc::off_t) };
    if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(address as u64) }
}

/// Unmaps pages of [`map`].
fn unmap(address: u64, length: usize) {
    // SAFETY: the caller owns the mapping, which has this length, and no code uses the mapping after this call.
    unsafe { libc::munmap(address as *mut libc::c_void, length) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_addresses_show_the_same_bytes() {
        for twofold in [false, true] {
            let pages = HostPages::new(5000, twofold).unwrap();
            let (address, shadow) = (pages.address() + 4999, pages.shadow_of(pages.address() + 4999));
            // SAFETY: both lie in the pages.
            unsafe {
                (shadow as *mut u8).write_volatile(7);
                assert_eq!((address as *const u8).read_volatile(), 7);
            }
            assert_eq!(pages.guardable().is_some(), twofold);
        }
    }

    #[test]
    fn end_of_pages_is_not_the_address_of_others() {
        let mut file = SharedFile::new(1 << 21).unwrap();
        for twofold in [false, true] {
            let own = (0..20).map(|_| HostPages::new(page_size(), twofold).unwrap());
            let mut pages = own.collect::<Vec<_>>();
            pages.extend((0..20).map(|_| HostPages::shared(&mut file, page_size(), twofold).unwrap()));
            let end = |pages: &HostPages| pages.address() + pages.length as u64;
            let touches = |one: &HostPages| pages.iter().any(|other| other.address() == end(one));
            assert_eq!(pages.iter().filter(|one| touches(one)).count(), 0);
            pages.into_iter().for_each(|pages| pages.give_back(&mut file));
        }
    }

    #[test]
    fn shared_pages_are_zeroed_pages_of_their_file() {
        let mut file = SharedFile::new(1 << 21).unwrap();
        for twofold in [false, true] {
            let sizes = [page_size() + 904, 1];
            let (one, two) = sizes.map(|size| HostPages::shared(&mut file, size, twofold).unwrap()).into();
            assert_eq!(one.offset().unwrap() % page_size(), 0);
            assert!(one.offset().unwrap() + 2 * page_size() <= two.offset().unwrap());
            assert_eq!(one.guardable().is_some(), twofold);
            let (address, shadow) = (one.address() + 4999, one.shadow_of(one.address() + 4999));
            // SAFETY: both lie in the pages.
            unsafe {
                assert_eq!((address as *const u8).read_volatile(), 0);
                (shadow as *mut u8).write_volatile(7);
                assert_eq!((address as *const u8).read_volatile(), 7);
            }
            one.give_back(&mut file);
            two.give_back(&mut file);
        }
        // All ranges are free again, so one allocation has room for the whole.
        assert_eq!(HostPages::shared(&mut file, 1 << 21, false).unwrap().offset(), Some(0));
        assert!(HostPages::shared(&mut file, 1, false).is_none());
    }
}
