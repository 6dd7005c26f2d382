//! Checks of host memory that the driver did not allocate: whether an address can be read or written.
//!
//! A program may pass any number as a host address, and a GPU's driver refuses unmapped ones. Dereferencing such an
//! address would end the process. System calls report it as `EFAULT` instead.

use super::page_size;

/// The number of pages up to which each page is probed by itself.
const PROBED: u64 = 4;

/// The number of pages that one call of `mincore` checks.
const CHECKED: usize = 4096;

/// Whether the byte at `address` can be read.
fn is_readable(address: u64) -> bool {
    let place = address & !7;
    // The kernel reads no set at null.
    if place == 0 {
        return false;
    }
    // The kernel reads the set of signals before it refuses the invalid operation, so the mask never changes.
    // SAFETY: the kernel checks the address itself, and the call has no effect.
    let result = unsafe {
        libc::syscall(libc::SYS_rt_sigprocmask, libc::c_int::MAX, place, std::ptr::null_mut::<libc::c_void>(), 8_usize)
    };
    // SAFETY: the call has no preconditions.
    result == 0 || unsafe { *libc::__errno_location() } != libc::EFAULT
}

/// Whether the byte at `address` can be written. Its contents do not change.
fn is_writable(address: u64) -> bool {
    // The kernel adds 0 atomically to the word, and wakes its waiters only if it equals -2048. Waiters of futexes
    // accept spurious wakes.
    const ADD_ZERO: libc::c_int = 1 << 28 | 0x800;
    let (own, place) = (0_u32, address & !3);
    // SAFETY: the kernel checks the address itself, and the word keeps its value.
    let result = unsafe {
        let operation = libc::FUTEX_WAKE_OP | libc::FUTEX_PRIVATE_FLAG;
        libc::syscall(libc::SYS_futex, &raw const own, operation, 0, 0_usize, place, ADD_ZERO)
    };
    // SAFETY: the call has no preconditions.
    place != 0 && (result >= 0 || unsafe { *libc::__errno_location() } != libc::EFAULT)
}

/// Whether all pages of a range are mapped. Guard pages are mapped, although they cannot be read.
fn is_mapped(first_page: u64, pages: u64, page_size: u64) -> bool {
    let mut residence = [0_u8; CHECKED];
    let mut page = 0;
    while page < pages {
        let count = (pages - page).min(CHECKED as u64);
        let start = (first_page + page * page_size) as *mut libc::c_void;
        // SAFETY: the kernel checks the range, and the array has an element for each page.
        let result = unsafe { libc::mincore(start, (count * page_size) as usize, residence.as_mut_ptr()) };
        // SAFETY: the call has no preconditions.
        if result != 0 && unsafe { *libc::__errno_location() } == libc::ENOMEM {
            return false;
        }
        page += count;
    }
    true
}

/// Whether `length` bytes at `address` are mapped, and the first and the last of them readable. Keeps `errno`.
pub(crate) fn is_range_readable(address: u64, length: u64) -> bool {
    is_range_accessible(address, length, is_readable)
}

/// Whether `length` bytes at `address` are mapped, and the first and the last of them writable. Keeps `errno`.
pub(crate) fn is_range_writable(address: u64, length: u64) -> bool {
    is_range_accessible(address, length, is_writable)
}

/// Whether each page of `length` bytes at `address` can be read: exact also where guard pages are between them. Keeps `errno`.
///
/// The program may have given a wrong length. This check takes a system call for each page.
pub(crate) fn is_each_page_readable(address: u64, length: u64) -> bool {
    is_accessible_probing(u64::MAX, address, length, is_readable)
}

fn is_range_accessible(address: u64, length: u64, is_accessible: impl Fn(u64) -> bool) -> bool {
    is_accessible_probing(PROBED, address, length, is_accessible)
}

/// Whether a range is accessible. Each page is probed if there are at most `probed`.
fn is_accessible_probing(probed: u64, address: u64, length: u64, is_accessible: impl Fn(u64) -> bool) -> bool {
    let Some(last) = length.checked_sub(1).and_then(|more| address.checked_add(more)) else { return length == 0 };
    // SAFETY: the thread's own error number.
    let saved = unsafe { *libc::__errno_location() };
    let page_size = page_size();
    let first_page = address & !(page_size - 1);
    let pages = (last - first_page) / page_size + 1;
    let accessible = if pages <= probed {
        (0..pages).all(|page| is_accessible(address.max(first_page + page * page_size)))
    } else {
        is_accessible(address) && is_accessible(last) && is_mapped(first_page, pages, page_size)
    };
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = saved };
    accessible
}

/// The string at `address`, up to `limit` bytes; `None` if it cannot be read.
pub(crate) fn text_at(address: u64, limit: usize) -> Option<String> {
    let mut bytes = Vec::new();
    let mut place = address;
    while bytes.len() < limit {
        if (bytes.is_empty() || place.is_multiple_of(page_size())) && !is_range_readable(place, 1) {
            return None;
        }
        // SAFETY: the page of this byte was found readable.
        let byte = unsafe { (place as *const u8).read() };
        if byte == 0 {
            break;
        }
        bytes.push(byte);
        place += 1;
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 1 << 16;

    /// A mapping without its middle page.
    struct Hole(u64);

    impl Hole {
        fn new(pages: u64) -> Hole {
            // SAFETY: a new mapping; the unmapped page lies in it.
            unsafe {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
                let access = libc::PROT_READ | libc::PROT_WRITE;
                let start = libc::mmap(std::ptr::null_mut(), (pages * PAGE) as usize, access, flags, -1, 0);
                assert_ne!(start, libc::MAP_FAILED);
                assert_eq!(libc::munmap(start.byte_add((pages / 2 * PAGE) as usize), PAGE as usize), 0);
                Hole(start as u64)
            }
        }
    }

    #[test]
    fn mapped_memory_is_readable() {
        let bytes = vec![1_u8; 1 << 20];
        assert!(is_range_readable(bytes.as_ptr() as u64, bytes.len() as u64));
        assert!(is_range_readable(bytes.as_ptr() as u64 + 3, 1));
        assert!(is_range_readable(bytes.as_ptr() as u64, 0));
    }

    #[test]
    fn wild_addresses_are_not_accessible() {
        for address in [0, 8, 0xdead_beef, 0x7fff_ffff_f000, 1 << 63, u64::MAX - 8] {
            assert!(!is_range_readable(address, 4), "{address:#x}");
            assert!(!is_range_writable(address, 4), "{address:#x}");
        }
        assert!(!is_range_readable(u64::MAX, 2));
        assert!(!is_range_writable(u64::MAX, 2));
    }

    #[test]
    fn constants_are_readable_and_not_writable() {
        static CONSTANT: [u64; 4] = [1, 2, 3, 4];
        let address = CONSTANT.as_ptr() as u64;
        assert!(is_range_readable(address, 32) && !is_range_writable(address, 32));
        assert!(!is_range_writable(address + 5, 1));
    }

    #[test]
    fn check_of_writable_memory_keeps_its_contents() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1 << 20).collect();
        let start = bytes.as_ptr() as u64;
        for (offset, length) in [(0, 1 << 20), (3, 1), (4095, 2), (17, 9000)] {
            assert!(is_range_writable(start + offset, length));
        }
        assert!(bytes.iter().enumerate().all(|(index, byte)| *byte == index as u8));
    }

    #[test]
    fn hole_within_a_range_is_found() {
        for pages in [3, 41, 9001] {
            let Hole(start) = Hole::new(pages);
            assert!(is_range_readable(start, pages / 2 * PAGE));
            assert!(!is_range_readable(start, pages * PAGE), "{pages}");
            assert!(!is_range_writable(start, pages * PAGE), "{pages}");
            assert!(is_range_readable(start + (pages / 2 + 1) * PAGE, pages / 2 * PAGE));
        }
    }

    #[test]
    fn guard_page_within_a_large_range_is_found_by_probing_each_page() {
        const PAGES: u64 = 41;
        // SAFETY: a new mapping; the protected page lies in it.
        let start = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let start = libc::mmap(std::ptr::null_mut(), (PAGES * PAGE) as usize, libc::PROT_READ, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            let middle = start.byte_add((PAGES / 2 * PAGE) as usize);
            assert_eq!(libc::mprotect(middle, PAGE as usize, libc::PROT_NONE), 0);
            start as u64
        };
        assert!(is_each_page_readable(start, PAGES / 2 * PAGE));
        assert!(!is_each_page_readable(start, PAGES * PAGE));
        assert!(!is_each_page_readable(start, u64::MAX - start));
    }

    #[test]
    fn text_ends_at_its_nul_and_a_wild_address_has_none() {
        assert_eq!(text_at(c"cuMemAlloc".as_ptr() as u64, 200).as_deref(), Some("cuMemAlloc"));
        assert_eq!(text_at(c"cuMemAlloc".as_ptr() as u64, 5).as_deref(), Some("cuMem"));
        assert_eq!(text_at(8, 200), None);
    }
}
