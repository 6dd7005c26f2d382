//! The pages to close to the host, given the bytes that devices may still read and write.
//!
//! A page of a large allocation is closed only if all its bytes are in use. If a closed page also held other bytes of
//! the program, system calls on those bytes would fail in a correct program. Files and sockets are read into large
//! buffers, so the only page of a small allocation is closed for any of its bytes: it holds flags, counters and results.
//! The bytes between the end of an allocation and the end of its page are unused, and do not matter.
//!
//! Pages have 4, 16 or 64 KiB, by the system. An allocation is small by its own size, whatever that of a page is.

/// The size from which on an allocation may be a buffer that system calls fill in parts.
const LARGE: u64 = 4096;

/// The accesses that the host may still make to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Reads only: devices read the page.
    Read,
    /// None: a device writes the page.
    Nothing,
}

/// A range of pages: first byte, end, and access.
pub(super) type Closed = (u64, u64, Access);

/// The ranges of pages to close, given the bytes that devices read and write. `area` is a range of whole pages, which
/// contains the bytes `first..behind` of the allocation. The result is sorted, and neighbours differ.
pub(super) fn closed(
    area: (u64, u64),
    (first, behind): (u64, u64),
    page: u64,
    reads: &[(u64, u64)],
    writes: &[(u64, u64)],
) -> Vec<Closed> {
    let small = behind - first < LARGE;
    let whole = |ranges: Vec<(u64, u64)>| {
        let pages = ranges.into_iter().filter_map(|(start, end)| {
            let start = if small || start <= first { area.0 } else { start.next_multiple_of(page) };
            let end = if small || end >= behind { area.1 } else { end - end % page };
            let (start, end) = (start.max(area.0), end.min(area.1));
            (start < end).then_some((start, end))
        });
        pages.collect::<Vec<_>>()
    };
    let written = whole(united(writes.to_vec()));
    let touched = whole(united([reads, writes].concat()));
    let mut closed: Vec<Closed> = written.iter().map(|(start, end)| (*start, *end, Access::Nothing)).collect();
    for (start, end) in touched {
        let mut reached = start;
        for (first, behind) in written.iter().filter(|range| range.1 > start && range.0 < end) {
            if reached < *first {
                closed.push((reached, *first, Access::Read));
            }
            reached = *behind;
        }
        if reached < end {
            closed.push((reached, end, Access::Read));
        }
    }
    closed.sort_unstable_by_key(|range| range.0);
    closed
}

/// Joins ranges that overlap or touch, and sorts them.
fn united(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    let mut united: Vec<(u64, u64)> = Vec::new();
    for (start, end) in ranges {
        match united.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => united.push((start, end)),
        }
    }
    united
}

#[cfg(test)]
mod tests {
    use super::Access::{Nothing, Read};
    use super::*;

    const PAGE: u64 = 0x1000;

    fn of(size: u64, reads: &[(u64, u64)], writes: &[(u64, u64)]) -> Vec<Closed> {
        of_pages(PAGE, size, reads, writes)
    }

    /// The ranges to close of an allocation at the start of a page.
    fn of_pages(page: u64, size: u64, reads: &[(u64, u64)], writes: &[(u64, u64)]) -> Vec<Closed> {
        let area = (0x10000, 0x10000 + size.next_multiple_of(page));
        let shift = |ranges: &[(u64, u64)]| {
            ranges.iter().map(|(start, end)| (0x10000 + start, 0x10000 + end)).collect::<Vec<_>>()
        };
        let closed = closed(area, (0x10000, 0x10000 + size), page, &shift(reads), &shift(writes));
        closed.into_iter().map(|(start, end, access)| (start - 0x10000, end - 0x10000, access)).collect()
    }

    #[test]
    fn small_allocation_closes_its_page() {
        assert_eq!(of(100, &[(0, 100)], &[]), [(0, PAGE, Read)]);
        assert_eq!(of(100, &[], &[(0, 100)]), [(0, PAGE, Nothing)]);
        assert_eq!(of(100, &[(96, 100)], &[]), [(0, PAGE, Read)], "any byte closes it");
        assert_eq!(of(100, &[(0, 50)], &[(96, 100)]), [(0, PAGE, Nothing)], "a write closes it to reads");
    }

    #[test]
    fn pages_in_partial_use_stay_open() {
        assert_eq!(of(PAGE, &[(0, PAGE - 1)], &[]), []);
        assert_eq!(
            of(PAGE, &[(0, 0x800)], &[(0x800, PAGE)]),
            [(0, PAGE, Read)],
            "a page that is only partly written stays readable"
        );
        assert_eq!(of(0x4000, &[(0x800, 0x2800)], &[]), [(0x1000, 0x2000, Read)]);
        assert_eq!(of(0x4000, &[], &[(0x800, 0x1800)]), []);
        assert_eq!(of(0x3800, &[], &[(0x1000, 0x3800)]), [(0x1000, 0x4000, Nothing)]);
    }

    #[test]
    fn buffer_in_a_part_of_a_page_closes_only_in_full_use() {
        for page in [0x4000, 0x10000] {
            let size = page - 0x800;
            assert_eq!(of_pages(page, size, &[], &[(0, 100)]), [], "system calls may fill the rest");
            assert_eq!(of_pages(page, size, &[], &[(100, size)]), []);
            assert_eq!(of_pages(page, size, &[(0, size)], &[]), [(0, page, Read)]);
            assert_eq!(of_pages(page, 100, &[], &[(0, 4)]), [(0, page, Nothing)], "it holds no such buffer");
            assert_eq!(of_pages(page, 3 * page, &[], &[(0x1000, 2 * page + 0x1000)]), [(page, 2 * page, Nothing)]);
            assert_eq!(of_pages(page, 2 * page, &[(0, 0x1000)], &[(0x1000, page)]), [(0, page, Read)]);
        }
    }

    #[test]
    fn several_operations_close_a_page_together() {
        assert_eq!(of(0x4000, &[(0, 0x800), (0x800, 0x1000)], &[]), [(0, 0x1000, Read)]);
        let closed = of(0x4000, &[(0, 0x4000)], &[(0x1000, 0x2000), (0x3000, 0x4000)]);
        assert_eq!(
            closed,
            [(0, 0x1000, Read), (0x1000, 0x2000, Nothing), (0x2000, 0x3000, Read), (0x3000, 0x4000, Nothing)]
        );
    }
}
