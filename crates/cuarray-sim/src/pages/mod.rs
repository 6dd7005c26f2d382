//! Host memory that represents device memory: address ranges, free ranges in them, pages with two addresses, physical
//! memory without addresses, and files that other processes open. This folder does not depend on the driver.

pub(crate) mod allocator;
pub(crate) mod arena;
pub(crate) mod backing;
pub(crate) mod host_pages;
pub(crate) mod ipc;
pub(crate) mod probe;
pub(crate) mod process_map;
pub(crate) mod reservation;
pub(crate) mod shared_event;
pub(crate) mod shared_file;

/// The size of a memory page.
pub(crate) fn page_size() -> u64 {
    // SAFETY: sysconf has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    // Whole pages of the largest size are whole pages of each size.
    u64::try_from(size).ok().filter(|size| size.is_power_of_two()).unwrap_or(1 << 16)
}
