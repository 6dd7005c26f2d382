//! The recorded accesses as ranges of addresses.

use super::{PAGE, Pages, Plane};
use crate::machine::region::{AccessKind, Region, Strength, TouchedRange};

/// Returns the ranges that these pages record.
pub(super) fn ranges(accessed: &[Pages], regions: &[Region]) -> Vec<TouchedRange> {
    let mut ranges = Vec::new();
    let strengths = [Strength::Weak, Strength::Device, Strength::System];
    let each = |kind| strengths.map(|strength| (kind, strength));
    let kinds = each(AccessKind::Read).into_iter().chain(each(AccessKind::Write));
    let placed = accessed.iter().flatten().flatten().any(|page| page.placed.is_some());
    let places: &[(bool, bool)] =
        if placed { &[(false, false), (false, true), (true, false), (true, true)] } else { &[(false, false)] };
    for (kind, strength) in kinds.chain([(AccessKind::Update, Strength::Weak)]) {
        let places = if kind == AccessKind::Update { &places[..1] } else { places };
        for (released, acquired) in places {
            let (released, acquired) = (*released, *acquired);
            let like = TouchedRange { start: 0, end: 0, length: 0, step: 0, kind, strength, released, acquired };
            ranges_like(&like, accessed, regions, &mut ranges);
        }
    }
    ranges
}

/// Adds the accessed ranges that are like another one, in ascending order.
fn ranges_like(like: &TouchedRange, accessed: &[Pages], regions: &[Region], ranges: &mut Vec<TouchedRange>) {
    let TouchedRange { kind, strength, .. } = *like;
    let written = usize::from(kind == AccessKind::Write);
    for (pages, region) in accessed.iter().zip(regions) {
        let first = ranges.len();
        // Ranges of one length at equal distances are one.
        let mut add = |(start, end)| {
            if !ranges[first..].last_mut().is_some_and(|last| last.takes(start, end)) {
                ranges.push(like.piece(start, end));
            }
        };
        let mut open: Option<(u64, u64)> = None;
        for (number, page) in pages.iter().enumerate() {
            let Some(page) = page else { continue };
            let plane = match (kind, strength, &page.strong) {
                (AccessKind::Update, ..) => &page.weak[2],
                (_, Strength::Weak, _) => &page.weak[written],
                (.., None) => continue,
                (_, strength, Some(strong)) => &strong[2 * usize::from(strength == Strength::System) + written],
            };
            let is_untouched = |plane: &Plane| plane.iter().fold(0, |all, word| all | word) == 0;
            let is_unwritten = || page.strong.is_none() && is_untouched(&page.weak[1]);
            if is_untouched(plane) || kind == AccessKind::Update && is_unwritten() {
                continue;
            }
            let is_whole = |plane: &Plane| plane.iter().fold(u64::MAX, |all, word| all & word) == u64::MAX;
            if page.placed.is_none() && kind != AccessKind::Update && is_whole(plane) {
                let start = region.start + number as u64 * PAGE;
                match open.as_mut() {
                    Some(range) if range.1 == start => range.1 = start + PAGE,
                    _ => open.replace((start, start + PAGE)).into_iter().for_each(&mut add),
                }
                continue;
            }
            for (word_index, word) in plane.iter().enumerate() {
                let base = region.start + number as u64 * PAGE + word_index as u64 * 64;
                let kept = if kind == AccessKind::Update {
                    page.written(word_index)
                } else {
                    page.placed_as(like, word_index)
                };
                let (mut word, mut bit) = (word & kept, 0);
                if word == u64::MAX {
                    // Mostly whole words were accessed.
                    match open.as_mut() {
                        Some(range) if range.1 == base => range.1 = base + 64,
                        _ => open.replace((base, base + 64)).into_iter().for_each(&mut add),
                    }
                    continue;
                }
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
                        _ => open.replace((start, end)).into_iter().for_each(&mut add),
                    }
                }
            }
        }
        open.into_iter().for_each(add);
    }
}
