//! The memory that a launch can access, as a snapshot of the allocations.

/// The kind of an access to a range of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A read whose bytes were written afterwards: the kernel depends on their earlier contents.
    Update,
}

/// The strength of an access: the threads for which it is a synchronizing access or an atomic operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Strength {
    /// A plain access, or an access whose scope is a block or a cluster: other launches are outside of it.
    #[default]
    Weak,
    /// A strong access for all threads of the device (`.gpu`).
    Device,
    /// A strong access for all threads of all devices, and for the host (`.sys`, `volatile`).
    System,
}

/// A range of device memory that a launch can access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// The first device address.
    pub start: u64,
    /// The device address behind the last byte.
    pub end: u64,
    /// The host address of the first byte.
    pub host: u64,
    /// Whether kernels may write it.
    pub writable: bool,
    /// The number of bytes behind `end` that are accessible, although they do not belong to the region. An access there
    /// is recorded in [`Outcome::misuses`](crate::Outcome::misuses).
    pub slack: u64,
    /// Regions with one number, other than 0, are parts of one allocation: a pointer into one of them may address all.
    pub group: u64,
}

/// A range of addresses whose bytes are also those of another range: two mappings of one physical allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alias {
    /// The first device address.
    pub start: u64,
    /// The device address behind the last byte.
    pub end: u64,
    /// The first address of the range that stands for both.
    pub stands_for: u64,
}

/// Returns the address by which the search for races knows a byte: one of all its addresses.
pub(crate) fn without_alias(aliases: &[Alias], address: u64) -> u64 {
    let behind = aliases.partition_point(|alias| alias.start <= address);
    let alias = behind.checked_sub(1).map(|index| aliases[index]).filter(|alias| address < alias.end);
    alias.map_or(address, |alias| alias.stands_for + (address - alias.start))
}

/// Returns the region that holds all of `start..end`; regions are in ascending order.
pub(crate) fn find(regions: &[Region], start: u64, end: u64) -> Option<usize> {
    let index = regions.partition_point(|region| region.start <= start).checked_sub(1)?;
    (end <= regions[index].end && start < end).then_some(index)
}

/// Returns the region in whose slack `start..end` lies; the range may begin in the region.
pub(crate) fn find_slack(regions: &[Region], start: u64, end: u64) -> Option<usize> {
    let index = regions.partition_point(|region| region.start <= start).checked_sub(1)?;
    (end <= regions[index].end + regions[index].slack && start < end).then_some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alias_stands_for_the_bytes_of_another_range() {
        let aliases = [Alias { start: 100, end: 200, stands_for: 1000 }];
        assert_eq!([99, 100, 199, 200].map(|address| without_alias(&aliases, address)), [99, 1000, 1099, 200]);
    }

    #[test]
    fn partial_accesses_are_outside_of_a_region() {
        let region = |start, end| Region { start, end, host: 0, writable: true, slack: 0, group: 0 };
        let regions = [region(16, 32), region(64, 128)];
        assert_eq!(find(&regions, 16, 20), Some(0));
        assert_eq!(find(&regions, 30, 34), None);
        assert_eq!(find(&regions, 15, 17), None);
        assert_eq!(find(&regions, 127, 128), Some(1));
        assert_eq!(find(&regions, 128, 129), None);
        assert_eq!(find(&[], 1, 2), None);
    }
}
