//! The mapped memory of this process, as the system lists it.

use std::ops::Range;

/// The file of the list.
const FILE: &str = "/proc/self/maps";
/// The start of the name of each file of memory that a simulated driver makes.
const OF_DRIVER: &str = "/memfd:cuarray";

/// A range of mapped pages with one kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapped {
    pub start: u64,
    pub end: u64,
    pub readable: bool,
    pub writable: bool,
    pub owner: Owner,
}

/// The owner of mapped memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Program,
    /// The stack of the first thread.
    Stack,
    /// A simulated driver, or the kernel, whose own pages in the process can fault.
    System,
}

/// The mapped memory of this process at one moment, in ascending order.
pub(crate) struct ProcessMap(Vec<Mapped>);

impl ProcessMap {
    /// Reads the list of the system; without it, the map is empty.
    pub(crate) fn read() -> ProcessMap {
        // Names of files may be no text.
        let lines = std::fs::read(FILE).unwrap_or_default();
        ProcessMap(
            lines.split(|byte| *byte == b'\n').filter_map(|line| mapped(std::str::from_utf8(line).ok()?)).collect(),
        )
    }

    /// The mapped ranges in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Mapped> {
        self.0.iter()
    }

    /// Whether all bytes of a range are readable and writable.
    pub(crate) fn is_writable(&self, bytes: Range<u64>) -> bool {
        self.is_each(bytes, |mapped| mapped.readable && mapped.writable)
    }

    /// Whether all bytes of a range are readable and writable memory of the program, and none lies in a stack that is known.
    pub(crate) fn is_ordinary(&self, bytes: Range<u64>) -> bool {
        let here = std::ptr::from_ref(&bytes).expose_provenance() as u64;
        let holds = |mapped: &Mapped| mapped.start <= here && here < mapped.end;
        self.is_each(bytes, |mapped| {
            mapped.readable && mapped.writable && mapped.owner == Owner::Program && !holds(mapped)
        })
    }

    fn is_each(&self, bytes: Range<u64>, suits: impl Fn(&Mapped) -> bool) -> bool {
        let mut reached = bytes.start;
        let first = self.0.partition_point(|mapped| mapped.end <= reached);
        for mapped in &self.0[first..] {
            if reached >= bytes.end || mapped.start > reached || !suits(mapped) {
                break;
            }
            reached = mapped.end;
        }
        reached >= bytes.end
    }
}

/// A line of the list: `start-end access offset device inode name`.
fn mapped(line: &str) -> Option<Mapped> {
    let mut words = line.split_ascii_whitespace();
    let (range, access) = (words.next()?, words.next()?);
    let (start, end) = range.split_once('-')?;
    let address = |text| u64::from_str_radix(text, 16).ok();
    let name = words.nth(3).unwrap_or_default();
    let owner = match name {
        "[stack]" => Owner::Stack,
        _ if name.starts_with("[v") || line.contains(OF_DRIVER) => Owner::System,
        _ => Owner::Program,
    };
    let (readable, writable) = (access.starts_with('r'), access[1..].starts_with('w'));
    Some(Mapped { start: address(start)?, end: address(end)?, readable, writable, owner })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_of_the_list_has_range_access_and_kind() {
        let of = |line| mapped(line).map(|mapped| (mapped.start, mapped.end, mapped.readable, mapped.writable));
        let heap = "55d0c8a000-55d0c8b000 rw-p 00000000 00:00 0                          [heap]";
        assert_eq!(of(heap), Some((0x55_d0c8_a000, 0x55_d0c8_b000, true, true)));
        assert_eq!(of("1000-2000 ---p 00000000 00:00 0"), Some((0x1000, 0x2000, false, false)));
        assert_eq!(of("1000-2000"), None);
        let owner = |line: &str| mapped(line).map(|mapped| mapped.owner);
        for line in [heap, "1000-2000 r--p 00000000 08:01 7 /usr/lib/a b.so"] {
            assert_eq!(owner(line), Some(Owner::Program));
        }
        for name in ["/memfd:cuarray-sim host (deleted)", "/memfd:cuarray simulated pages (deleted)", "[vvar]"] {
            assert_eq!(owner(&format!("1000-2000 rw-s 00000000 00:01 7 {name}")), Some(Owner::System));
        }
        assert_eq!(owner("1000-2000 rw-p 00000000 00:00 0 [stack]"), Some(Owner::Stack));
    }

    #[test]
    fn range_is_compared_across_neighbours_and_holes() {
        let of = |start, end, writable| Mapped { start, end, readable: true, writable, owner: Owner::Program };
        let map = ProcessMap(vec![of(10, 20, true), of(20, 30, true), of(40, 50, true), of(50, 60, false)]);
        assert!(map.is_writable(10..30) && map.is_writable(15..16) && map.is_ordinary(12..28));
        assert!(!map.is_writable(9..12) && !map.is_writable(25..41) && !map.is_writable(45..51));
        assert!(!map.is_writable(60..61));
    }

    #[test]
    fn own_memory_is_in_the_map() {
        let bytes = vec![0_u8; 1 << 20];
        let map = ProcessMap::read();
        let start = bytes.as_ptr().expose_provenance() as u64;
        assert!(map.is_ordinary(start..start + (1 << 20)));
        let local = 0_u64;
        let place = std::ptr::from_ref(&local).expose_provenance() as u64;
        assert!(map.is_writable(place..place + 8) && !map.is_ordinary(place..place + 8));
    }
}
