//! The block of glibc's `malloc` that begins at an address, by the words before it.
//!
//! The words are those of another library, so they are compared with each other. Other memory may pass for a block. Its watch makes no
//! finding by itself, because a kernel must access the same bytes.

use crate::pages::{page_size, probe};
use std::ops::Range;

/// The flags in the lowest bits of the word of a block's size.
const PREVIOUS_IN_USE: u64 = 1;
const MAPPED: u64 = 2;
const FLAGS: u64 = 7;

/// The bytes of the block that begins at an address, if it has at least a page.
pub(super) fn starting_at(address: u64) -> Option<Range<u64>> {
    if !address.is_multiple_of(16) {
        return None;
    }
    let start = address.checked_sub(16)?;
    let [before, word] = words_at(start)?;
    let (page, size) = (page_size(), word & !FLAGS);
    let end = start.checked_add(size).filter(|_| size >= page && size.is_multiple_of(16))?;
    let is_block = if word & MAPPED != 0 {
        // A separate mapping, of whole pages, with an offset for alignment. Since glibc 2.43, the size leaves out its last two words.
        let first = start.checked_sub(before)?;
        first.is_multiple_of(page) && [0, page - 16].contains(&(end % page)) && before < size
    } else {
        let [_, next] = words_at(end)?;
        next & PREVIOUS_IN_USE != 0 && next & !FLAGS >= 16
    };
    is_block.then_some(address..end)
}

/// Two words of this process's memory; `None` if they cannot be read.
fn words_at(address: u64) -> Option<[u64; 2]> {
    let readable = address.is_multiple_of(8) && probe::is_range_readable(address, 16);
    // SAFETY: the words were readable just now, and the address is aligned.
    readable.then(|| unsafe { std::ptr::with_exposed_provenance::<[u64; 2]>(address as usize).read_volatile() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_env = "gnu")]
    #[test]
    fn block_of_malloc_has_its_bytes() {
        let part = page_size() as usize * 5 / 2;
        for (size, alignment) in [(1 << 17, 16), (1 << 20, 16), (1 << 20, 4096), (part, 256)] {
            // SAFETY: the alignment is a power of two, and the memory is freed once.
            unsafe {
                let memory = libc::memalign(alignment, size);
                let start = memory.expose_provenance() as u64;
                let found = starting_at(start);
                let room = libc::malloc_usable_size(memory) as u64;
                let block = found.unwrap_or_else(|| panic!("{size} bytes, aligned to {alignment}"));
                assert!(block.start == start && block.end - start <= room && block.end - start + 16 > room);
                assert_eq!(starting_at(start + 16), None);
                assert_eq!(starting_at(start + 8), None);
                libc::free(memory);
            }
        }
    }

    #[test]
    fn separate_mapping_is_a_block_with_and_without_its_last_two_words() {
        let page = page_size() as usize;
        let layout = std::alloc::Layout::from_size_align(3 * page, page).unwrap();
        // SAFETY: the size is not zero, the words lie in the memory at its alignment, and it is freed once with its layout.
        unsafe {
            let memory = std::alloc::alloc_zeroed(layout);
            let start = memory.expose_provenance() as u64;
            let found = |size: u64| {
                memory.cast::<[u64; 2]>().write([0, size | MAPPED]);
                starting_at(start + 16)
            };
            let whole = 3 * page as u64;
            assert_eq!(found(whole), Some(start + 16..start + whole));
            assert_eq!(found(whole - 16), Some(start + 16..start + whole - 16));
            assert_eq!(found(whole - 32), None);
            std::alloc::dealloc(memory, layout);
        }
    }

    #[test]
    fn wild_address_begins_no_block() {
        for address in [0, 16, 4096, 0xdead_bee0, 1 << 63, u64::MAX - 15] {
            assert_eq!(starting_at(address), None, "{address:#x}");
        }
    }
}
