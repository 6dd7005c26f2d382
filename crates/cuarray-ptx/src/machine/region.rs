//! The memory that a launch can access, and the ranges that it accessed.
//!
//! A launch gets a snapshot of the allocations as regions. Reads, writes, and reads before writes are recorded as one
//! bit for each byte, in pages that exist once they are accessed. So the cost is bounded by the accessed memory, and
//! not by the number of accesses.
//!
//! Reads before writes are known among blocks that run in one host thread. Kernels whose blocks can observe each other
//! run in one; other blocks that read each other's writes have a race.

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
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Strength {
    /// A plain access, or an access whose scope is a block or a cluster: other launches are outside of it.
    #[default]
    Weak,
    /// A strong access for all threads of the device (`.gpu`).
    Device,
    /// A strong access for all threads of all devices, and for the host (`.sys`, `volatile`).
    System,
}

/// A range of device memory that a launch has accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TouchedRange {
    /// The first address.
    pub start: u64,
    /// The address behind the last byte.
    pub end: u64,
    /// The kind of the accesses.
    pub kind: AccessKind,
    /// The strength of the accesses; weak for updates.
    pub strength: Strength,
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

/// Bytes of a page.
const PAGE: u64 = 4096;
const WORDS: usize = PAGE as usize / 64;

/// A bit for each byte of a page.
type Plane = [u64; WORDS];

/// The accesses to a page: a plane for each kind of access.
#[derive(Clone)]
struct Page {
    /// Weak reads, weak writes, and reads before a write of any strength.
    weak: [Plane; 3],
    /// Reads and writes with the strength of the device, and with the strength of the system.
    strong: Option<Box<[Plane; 4]>>,
}

impl Page {
    fn planes(&self) -> impl Iterator<Item = &Plane> {
        self.weak.iter().chain(self.strong.iter().flat_map(|strong| strong.iter()))
    }

    /// The bytes of a word that any access has written.
    #[inline(always)]
    fn written(&self, word: usize) -> u64 {
        let strong = self.strong.as_ref().map_or(0, |strong| strong[1][word] | strong[3][word]);
        self.weak[1][word] | strong
    }
}

/// The accesses of a launch by region and page.
#[derive(Default)]
pub(crate) struct Recorder {
    pub enabled: bool,
    /// Whether the running instruction has read what it writes.
    pub updates: bool,
    /// The strength of the running instruction.
    pub strength: Strength,
    /// Whether the running threads have not waited for the prerequisite grids.
    pub before_wait: bool,
    regions: Vec<Pages>,
    /// The accesses before the wait for the prerequisite grids.
    early: Vec<Pages>,
}

/// The pages of a region that were accessed.
type Pages = Vec<Option<Box<Page>>>;

impl Recorder {
    pub(crate) fn new(enabled: bool, regions: usize) -> Recorder {
        let pages = if enabled { vec![Vec::new(); regions] } else { Vec::new() };
        Recorder {
            enabled,
            updates: false,
            strength: Strength::Weak,
            before_wait: false,
            regions: pages.clone(),
            early: pages,
        }
    }

    /// Records an access to a region.
    pub(crate) fn note(&mut self, region: usize, offset: u64, size: u64, written: bool) {
        let regions = if self.before_wait { &mut self.early } else { &mut self.regions };
        let Some(pages) = regions.get_mut(region) else { return };
        let (mut at, end) = (offset, offset + size);
        while at < end {
            let page = (at / PAGE) as usize;
            if pages.len() <= page {
                pages.resize(page + 1, None);
            }
            let new = || Box::new(Page { weak: [[0; WORDS]; 3], strong: None });
            let page = &mut **pages[page].get_or_insert_with(new);
            let stop = end.min(at - at % PAGE + PAGE);
            while at < stop {
                let bit = at % 64;
                let bits = (64 - bit).min(stop - at);
                let ones = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
                let (word, ones) = ((at % PAGE / 64) as usize, ones << bit);
                if !written || self.updates {
                    let before = page.written(word);
                    page.weak[2][word] |= ones & !before;
                }
                match self.strength {
                    Strength::Weak => page.weak[usize::from(written)][word] |= ones,
                    strong => {
                        let planes = page.strong.get_or_insert_with(|| Box::new([[0; WORDS]; 4]));
                        let system = usize::from(strong == Strength::System);
                        planes[system * 2 + usize::from(written)][word] |= ones;
                    }
                }
                at += bits;
            }
        }
    }

    /// Merges the accesses that another core has recorded.
    pub(crate) fn merge(&mut self, other: Recorder) {
        let own = self.regions.iter_mut().chain(&mut self.early);
        for (pages, others) in own.zip(other.regions.into_iter().chain(other.early)) {
            if pages.len() < others.len() {
                pages.resize(others.len(), None);
            }
            for (page, other) in pages.iter_mut().zip(others) {
                match (page.as_mut(), other) {
                    (Some(page), Some(other)) => {
                        if other.strong.is_some() {
                            page.strong.get_or_insert_with(|| Box::new([[0; WORDS]; 4]));
                        }
                        let strong = page.strong.iter_mut().flat_map(|strong| strong.iter_mut());
                        let planes = page.weak.iter_mut().chain(strong).zip(other.planes());
                        planes
                            .flat_map(|(plane, other)| plane.iter_mut().zip(other))
                            .for_each(|(word, other)| *word |= other);
                    }
                    (None, other) => *page = other,
                    (Some(_), None) => {}
                }
            }
        }
    }

    /// Returns the ranges accessed before the wait for the prerequisite grids, as [`Recorder::touched`] does.
    pub(crate) fn touched_before_wait(&self, regions: &[Region]) -> Vec<TouchedRange> {
        ranges(&self.early, regions)
    }

    /// Returns the accessed ranges, in ascending order for each kind.
    pub(crate) fn touched(&self, regions: &[Region]) -> Vec<TouchedRange> {
        ranges(&self.regions, regions)
    }
}

/// Returns the ranges that these pages record.
fn ranges(accessed: &[Pages], regions: &[Region]) -> Vec<TouchedRange> {
    let mut ranges = Vec::new();
    let strengths = [Strength::Weak, Strength::Device, Strength::System];
    let each = |kind| strengths.map(|strength| (kind, strength));
    let kinds = each(AccessKind::Read).into_iter().chain(each(AccessKind::Write));
    for (kind, strength) in kinds.chain([(AccessKind::Update, Strength::Weak)]) {
        let written = usize::from(kind == AccessKind::Write);
        let range_of = |(start, end)| TouchedRange { start, end, kind, strength };
        for (pages, region) in accessed.iter().zip(regions) {
            let mut open: Option<(u64, u64)> = None;
            for (number, page) in pages.iter().enumerate() {
                let Some(page) = page else { continue };
                let plane = match (kind, strength, &page.strong) {
                    (AccessKind::Update, ..) => &page.weak[2],
                    (_, Strength::Weak, _) => &page.weak[written],
                    (.., None) => continue,
                    (_, strength, Some(strong)) => &strong[2 * usize::from(strength == Strength::System) + written],
                };
                for (word_index, word) in plane.iter().enumerate() {
                    let base = region.start + number as u64 * PAGE + word_index as u64 * 64;
                    let kept = if kind == AccessKind::Update { page.written(word_index) } else { u64::MAX };
                    let (mut word, mut bit) = (word & kept, 0);
                    while word != 0 {
                        let skipped = word.trailing_zeros();
                        word >>= skipped;
                        bit += u64::from(skipped);
                        let ones = word.trailing_ones();
                        let (start, end) = (base + bit, base + bit + u64::from(ones));
                        bit += u64::from(ones);
                        word = word.checked_shr(ones).unwrap_or(0);
                        match open.as_mut() {
                            Some(range) if range.1 == start => range.1 = end,
                            _ => {
                                let over = open.replace((start, end));
                                ranges.extend(over.map(range_of));
                            }
                        }
                    }
                }
            }
            ranges.extend(open.map(range_of));
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_bytes_become_ranges() {
        let regions = [Region { start: 0x1000, end: 0x9000, host: 0, writable: true, slack: 0, group: 0 }; 1];
        let (mut one, mut other) = (Recorder::new(true, 1), Recorder::new(true, 1));
        one.note(0, 4090, 12, false);
        one.note(0, 4102, 64, false);
        one.note(0, 5000, 1, false);
        other.note(0, 4088, 2, false);
        other.note(0, 0, 4096 * 3, true);
        other.note(0, 8000, 8, false);
        one.merge(other);
        let range = |start: u64, end: u64, kind| TouchedRange {
            start: 0x1000 + start,
            end: 0x1000 + end,
            kind,
            strength: Strength::Weak,
        };
        let (read, write, update) = (AccessKind::Read, AccessKind::Write, AccessKind::Update);
        assert_eq!(
            one.touched(&regions),
            [
                range(4088, 4166, read),
                range(5000, 5001, read),
                range(8000, 8008, read),
                range(0, 4096 * 3, write),
                range(4088, 4166, update),
                range(5000, 5001, update),
            ]
        );
    }

    #[test]
    fn a_read_and_write_of_one_instruction_is_an_update() {
        let regions = [Region { start: 0x1000, end: 0x9000, host: 0, writable: true, slack: 0, group: 0 }; 1];
        let mut recorder = Recorder::new(true, 1);
        recorder.note(0, 0, 4, true);
        recorder.updates = true;
        recorder.note(0, 0, 8, true);
        let range = |start: u64, end: u64, kind| TouchedRange {
            start: 0x1000 + start,
            end: 0x1000 + end,
            kind,
            strength: Strength::Weak,
        };
        assert_eq!(recorder.touched(&regions), [range(0, 8, AccessKind::Write), range(4, 8, AccessKind::Update)]);
    }

    #[test]
    fn strong_accesses_are_listed_apart_from_weak_ones() {
        let regions = [Region { start: 0x1000, end: 0x9000, host: 0, writable: true, slack: 0, group: 0 }; 1];
        let (mut one, mut other) = (Recorder::new(true, 1), Recorder::new(true, 1));
        one.note(0, 0, 4, false);
        (other.strength, other.updates) = (Strength::Device, true);
        other.note(0, 0, 8, true);
        (other.strength, other.updates) = (Strength::System, false);
        other.note(0, 16, 4, false);
        one.merge(other);
        let range = |start: u64, end: u64, kind, strength| TouchedRange {
            start: 0x1000 + start,
            end: 0x1000 + end,
            kind,
            strength,
        };
        assert_eq!(
            one.touched(&regions),
            [
                range(0, 4, AccessKind::Read, Strength::Weak),
                range(16, 20, AccessKind::Read, Strength::System),
                range(0, 8, AccessKind::Write, Strength::Device),
                range(0, 8, AccessKind::Update, Strength::Weak),
            ]
        );
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
