//! Accesses of adjacent bytes, which are recorded together.
//!
//! Warps mostly access bytes one behind the other, each by the same instruction. A range of such accesses goes to the pages as a whole: before
//! another access of its bytes that has to come behind it, and at the latest before anything but joined accesses is recorded.

use super::Recorder;
use crate::machine::region::Strength;

/// Bytes of a region.
#[derive(Clone, Copy, Default)]
struct Range {
    region: u32,
    start: u64,
    end: u64,
    written: bool,
}

/// The number of ranges.
const RANGES: usize = 8;

/// The ranges that further accesses may continue.
#[derive(Default)]
pub(super) struct Joined {
    ranges: [Range; RANGES],
    /// The ranges that have bytes, as bits: those of reads, and those of writes.
    open: [u32; 2],
}

#[cfg_attr(not(any(target_arch = "x86_64", test)), expect(dead_code, reason = "only code for AVX2 uses it"))]
impl Recorder {
    /// Records a weak access of a launch, by the instruction with a number among those that join accesses. The bytes are a region, an offset
    /// there, and a count.
    #[inline(always)]
    pub(crate) fn join(&mut self, number: usize, (region, start, bytes): (u32, u64, u64), written: bool) {
        let (place, end) = (number % RANGES, start + bytes);
        let range = &mut self.joined.ranges[place];
        let continues = (range.region, range.end, range.written) == (region, start, written);
        if continues {
            range.end = end;
        } else {
            self.note_range(place);
            self.joined.ranges[place] = Range { region, start, end, written };
        }
        self.joined.open[usize::from(written)] |= 1 << place;
        let others = self.joined.open[usize::from(!written)];
        if others != 0 {
            self.note_overlapped(others, (region, start, end));
        }
    }

    /// Records ranges of the other kind that overlap an access.
    #[inline(always)]
    fn note_overlapped(&mut self, others: u32, (region, start, end): (u32, u64, u64)) {
        for place in 0..RANGES {
            let range = self.joined.ranges[place];
            if others >> place & 1 == 1 && range.region == region && range.start < end && start < range.end {
                self.note_range(place);
            }
        }
    }

    /// Records all ranges.
    #[inline(always)]
    pub(crate) fn note_joined(&mut self) {
        if self.joined.open != [0; 2] {
            (0..RANGES).for_each(|place| self.note_range(place));
        }
    }

    fn note_range(&mut self, place: usize) {
        let Range { region, start, end, written } = std::mem::take(&mut self.joined.ranges[place]);
        self.joined.open[usize::from(written)] &= !(1 << place);
        if end > start {
            self.strength = Strength::Weak;
            self.note(region as usize, start, end - start, written);
        }
    }
}
