//! The recorded accesses as ranges of addresses.

use super::{PAGE, Page, Pages, READ, UPDATED, WORDS, WRITTEN};
use crate::machine::region::{AccessKind, Region, Strength};
use crate::machine::touched_range::{Pieces, TouchedRange};

/// Returns the ranges that these pages record.
pub(super) fn ranges(accessed: &[Pages], regions: &[Region]) -> Vec<TouchedRange> {
    let mut ranges = Vec::new();
    let summaries: Vec<Vec<Summary>> = accessed
        .iter()
        .map(|pages| pages.iter().map(|page| page.page.as_deref().map(Summary::of).unwrap_or_default()).collect())
        .collect();
    let strengths = [Strength::Weak, Strength::Device, Strength::System];
    let each = |kind| strengths.map(|strength| (kind, strength));
    let kinds = each(AccessKind::Read).into_iter().chain(each(AccessKind::Write));
    let placed = accessed.iter().flatten().any(|slot| slot.page.as_ref().is_some_and(|page| page.placed.is_some()));
    let places: &[(bool, bool)] =
        if placed { &[(false, false), (false, true), (true, false), (true, true)] } else { &[(false, false)] };
    for (kind, strength) in kinds.chain([(AccessKind::Update, Strength::Weak)]) {
        let places = if kind == AccessKind::Update { &places[..1] } else { places };
        for (released, acquired) in places {
            let (released, acquired) = (*released, *acquired);
            let like = TouchedRange { released, acquired, ..TouchedRange::new(kind, strength) };
            ranges_like(&like, accessed.iter().zip(&summaries).zip(regions), &mut ranges);
        }
    }
    ranges
}

/// The bits that any of a page's words have, and those that all have.
#[derive(Clone, Copy, Default)]
struct Summary {
    any: [u64; 4],
    all: [u64; 4],
}

impl Summary {
    fn of(page: &Page) -> Summary {
        let mut summary = Summary { any: [0; 4], all: [u64::MAX; 4] };
        for word in &page.words {
            for (kind, bits) in word.iter().enumerate() {
                summary.any[kind] |= bits;
                summary.all[kind] &= bits;
            }
        }
        summary
    }
}

/// Adds the accessed ranges that are like another one, in ascending order.
fn ranges_like<'a>(
    like: &TouchedRange,
    accessed: impl Iterator<Item = ((&'a Pages, &'a Vec<Summary>), &'a Region)>,
    ranges: &mut Vec<TouchedRange>,
) {
    let TouchedRange { kind, strength, .. } = *like;
    let written = usize::from(kind == AccessKind::Write);
    for ((pages, summaries), region) in accessed {
        let mut runs = Runs { pieces: Pieces::new(like), push: |range| ranges.push(range), open: None };
        for (number, (slot, summary)) in pages.iter().zip(summaries).enumerate() {
            let start = region.start + number as u64 * PAGE;
            let Some(page) = &slot.page else {
                let spans = slot.spans().filter(|_| strength == Strength::Weak && !like.released && !like.acquired);
                let span = spans.map_or((0, 0), |spans| match kind {
                    AccessKind::Read => spans.read,
                    AccessKind::Write => spans.written,
                    AccessKind::Update => spans.updated(),
                });
                if span != (0, 0) {
                    runs.add(start + u64::from(span.0), start + u64::from(span.1));
                }
                continue;
            };
            let kind_of_words = match kind {
                AccessKind::Read => READ,
                AccessKind::Write => WRITTEN,
                AccessKind::Update => UPDATED,
            };
            let strong = match (strength, &page.strong) {
                (Strength::Weak, _) => None,
                (_, None) => continue,
                (_, Some(strong)) => Some(&strong[2 * usize::from(strength == Strength::System) + written]),
            };
            let word = |index: usize| strong.map_or_else(|| page.words[index][kind_of_words], |plane| plane[index]);
            let is_unwritten = page.strong.is_none() && summary.any[WRITTEN] == 0;
            let (any, all) = match strong {
                None => (summary.any[kind_of_words], summary.all[kind_of_words]),
                Some(plane) => plane.iter().fold((0, u64::MAX), |(any, all), word| (any | word, all & word)),
            };
            if any == 0 || kind == AccessKind::Update && is_unwritten {
                continue;
            }
            if page.placed.is_none() && kind != AccessKind::Update && all == u64::MAX {
                runs.add(start, start + PAGE);
                continue;
            }
            let mut last = 0;
            for index in 0..WORDS {
                let base = start + index as u64 * 64;
                let kept = if kind == AccessKind::Update { page.written(index) } else { page.placed_as(like, index) };
                let word = word(index) & kept;
                if word != last || !runs.repeat(base, word) {
                    runs.add_word(base, word);
                }
                last = word;
            }
        }
        runs.end();
    }
}

/// Collects runs of bytes in ascending order.
struct Runs<'a, F> {
    pieces: Pieces<'a>,
    push: F,
    /// The last run, which the next one may continue.
    open: Option<(u64, u64)>,
}

impl<F: FnMut(TouchedRange)> Runs<'_, F> {
    #[inline(always)]
    fn add(&mut self, start: u64, end: u64) {
        match &mut self.open {
            Some(run) if run.1 == start => run.1 = end,
            open => {
                if let Some((start, end)) = open.replace((start, end)) {
                    self.pieces.add(start, end, &mut self.push);
                }
            }
        }
    }

    /// Adds the runs of the word of 64 bytes that begins at an address.
    #[inline(always)]
    fn add_word(&mut self, base: u64, mut word: u64) {
        let mut at = base;
        // Mostly whole words were accessed.
        if word == u64::MAX {
            return self.add(base, base + 64);
        }
        while word != 0 {
            let skipped = word.trailing_zeros();
            word >>= skipped;
            let ones = word.trailing_ones();
            let start = at + u64::from(skipped);
            at = start + u64::from(ones);
            word = word.checked_shr(ones).unwrap_or(0);
            self.add(start, at);
        }
    }

    /// Adds the runs of a word that equals the one in front of it, if all of them are at equal distances. Returns whether it did.
    #[inline(always)]
    fn repeat(&mut self, base: u64, word: u64) -> bool {
        let count = (word & !(word << 1)).count_ones();
        // A run over the end of a word goes on in the next one.
        let Some(open) = &mut self.open else { return false };
        let (start, end) = *open;
        let apart = word & 1 == 0 || word >> 63 == 0;
        let repeats = apart && end <= base && end + 64 > base && self.pieces.repeat(*open, (count.into(), 64));
        if repeats {
            *open = (start + 64, end + 64);
        }
        repeats
    }

    fn end(mut self) {
        self.open.into_iter().for_each(|(start, end)| self.pieces.add(start, end, &mut self.push));
        self.pieces.end(&mut self.push);
    }
}
