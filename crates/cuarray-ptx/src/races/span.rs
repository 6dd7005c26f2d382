//! The lines of a page that a warp's access covers.
//!
//! A line is 32 adjacent pieces of a page. The part of an access in one line is a mask of its pieces, and a rule that
//! gives the lanes of each piece.

/// Adjacent accesses of lanes to one page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// The offset of the first access in the page.
    pub offset: u32,
    /// The size of an access in bytes.
    pub size: u32,
    /// The distance between the accesses of neighbouring lanes in bytes; zero if all access the same bytes.
    pub step: u32,
    /// The first lane.
    pub lane: u32,
    /// The lanes that take part.
    pub lanes: u32,
}

/// The lanes that access the pieces of a line, in a form that is compared at once.
///
/// In a row, lane `(piece - start) / step` accesses a piece: the low 16 bits are the start, the next 10 the step, and the next 25
/// [`SCALE`] divided by the step. Otherwise, each lane of a mask accesses all pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lanes(u64);

/// A division by a step is a multiplication by this number divided by the step, and a division by this number. The quotient is exact,
/// because `distance * error < SCALE`: a distance is below 32 steps, the error of the factor is below one step, and a step is at most 512,
/// if pieces of 16 bytes were split.
const SCALE: u32 = 1 << 24;

impl Lanes {
    const ROW: u64 = 1 << 63;
    /// The most pieces between the accesses of neighbouring lanes of a row.
    const WIDEST: u32 = 32;

    #[inline(always)]
    pub(crate) fn row(start: i32, step: u32) -> Lanes {
        let factor = if step == 1 { SCALE } else { SCALE.div_ceil(step) };
        Lanes(Lanes::ROW | u64::from(factor) << 26 | u64::from(step) << 16 | u64::from(start as u16))
    }

    #[inline(always)]
    pub(crate) fn all(lanes: u32) -> Lanes {
        Lanes(lanes.into())
    }

    #[inline(always)]
    pub(crate) fn is_row(self) -> bool {
        self.0 & Lanes::ROW != 0
    }

    /// Whether each piece has one lane.
    #[inline(always)]
    pub(crate) fn is_apart(self) -> bool {
        self.is_row() || (self.0 as u32).is_power_of_two()
    }

    /// The lanes that access a piece, as a mask.
    #[inline(always)]
    pub(crate) fn at(self, piece: u32) -> u32 {
        if !self.is_row() {
            return self.0 as u32;
        }
        let distance = (piece as i32 - self.start()) as u32;
        let factor = (self.0 >> 26) as u32 & (2 * SCALE - 1);
        1 << ((distance.wrapping_mul(factor) / SCALE) & 31)
    }

    /// The first lane that accesses a piece.
    #[inline(always)]
    pub(crate) fn first_at(self, piece: u32) -> u32 {
        self.at(piece).trailing_zeros() & 31
    }

    fn start(self) -> i32 {
        i32::from(self.0 as i16)
    }

    fn step(self) -> u32 {
        (self.0 >> 16 & 0x3ff) as u32
    }

    /// Calls `f` with rows that together have these pieces of the line with a number. A piece has `1 << shift` bytes, and one lane.
    pub(crate) fn rows(self, (line, shift): (usize, u32), pieces: u32, mut f: impl FnMut(Row)) {
        let step = if self.is_row() { self.step() } else { 32 };
        let mut rest = pieces;
        while let piece @ ..32 = rest.trailing_zeros() {
            // The pieces at a distance from the first pieces of the lanes, and these lanes.
            let at = |distance: u32| {
                let first = piece + distance;
                let here = (first..32).step_by(step as usize).fold(0, |all, piece| all | 1 << piece) & rest;
                (here, bits(here).fold(0, |lanes, piece| lanes | self.at(piece)))
            };
            let lanes = at(0).1;
            let size = (1..step).take_while(|distance| at(*distance).1 == lanes).count() as u32 + 1;
            rest &= !(0..size).fold(0, |all, distance| all | at(distance).0);
            let offset = (line as u32 * 32 + piece) << shift;
            f(Row { offset, size: size << shift, step: step << shift, lane: self.first_at(piece), lanes });
        }
    }

    /// These lanes in part `index` of the line, after each piece was split into `1 << halvings` pieces.
    pub(crate) fn split(self, halvings: u32, index: u32) -> Lanes {
        if !self.is_row() {
            return self;
        }
        Lanes::row((self.start() << halvings) - index as i32 * 32, self.step() << halvings)
    }
}

/// The pieces in part `index` of a line, after each piece was split into `1 << halvings` pieces.
pub(crate) fn split(pieces: u32, halvings: u32, index: u32) -> u32 {
    let part = |piece: u32| pieces >> ((index * 32 + piece) >> halvings & 31) & 1;
    (0..32).fold(0, |all, piece| all | part(piece) << piece)
}

/// The places of the bits that are set.
#[inline(always)]
pub(crate) fn bits(mut mask: u32) -> impl Iterator<Item = u32> + Clone {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (bit < 32).then_some(bit)
    })
}

/// A mask of `count` bits from bit `first`.
#[inline(always)]
fn ones(first: u32, count: u32) -> u32 {
    (((1_u64 << count) - 1) << first) as u32
}

impl Row {
    /// The accesses of some of the lanes.
    pub(crate) fn of(&self, lanes: u32) -> Row {
        let lane = lanes.trailing_zeros() & 31;
        Row { offset: self.offset + (lane - self.lane) * self.step, lane, lanes, ..*self }
    }

    /// Calls `f` with the number of each line that the row covers, the covered pieces, and their lanes. A piece has
    /// `1 << shift` bytes.
    #[inline(always)]
    pub(crate) fn parts(&self, shift: u32, mut f: impl FnMut(usize, u32, Lanes)) {
        let first = self.offset >> shift;
        if self.step == 1 << shift && self.size == self.step && self.offset & (self.step - 1) == 0 {
            // Each lane accesses one piece.
            let pieces = u64::from(self.lanes >> self.lane) << (first & 31);
            let start = (first & 31) as i32 - self.lane as i32;
            if pieces as u32 != 0 {
                f((first >> 5) as usize, pieces as u32, Lanes::row(start, 1));
            }
            if pieces >> 32 != 0 {
                f((first >> 5) as usize + 1, (pieces >> 32) as u32, Lanes::row(start - 32, 1));
            }
        } else if self.step == 0 || self.lanes & (self.lanes - 1) == 0 {
            let offset = self.offset + (self.lanes.trailing_zeros() - self.lane) * self.step;
            lines(offset >> shift, (offset + self.size - 1) >> shift, |line, pieces| {
                f(line, pieces, Lanes::all(self.lanes))
            });
        } else {
            self.wide_parts(shift, &mut f);
        }
    }

    #[inline(never)]
    fn wide_parts(&self, shift: u32, f: &mut dyn FnMut(usize, u32, Lanes)) {
        let (first, step) = (self.offset >> shift, self.step >> shift);
        let whole = (self.offset | self.step) & ((1 << shift) - 1) == 0;
        let regular = whole && step <= Lanes::WIDEST && self.size <= self.step;
        if regular {
            let (low, high) = (self.lanes.trailing_zeros(), 31 - self.lanes.leading_zeros());
            let (from, width) = (first + (low - self.lane) * step, ((self.size - 1) >> shift) + 1);
            let end = from + (high - low) * step + width;
            let gaps = self.lanes.count_ones() <= high - low;
            for line in from / 32..end.div_ceil(32) {
                let start = from as i32 - line as i32 * 32;
                let lanes = Lanes::row(start - (low * step) as i32, step);
                let all = repeated(start.rem_euclid(step as i32) as u32, (step, width));
                let mut pieces = all & u32::MAX << start.max(0) & u32::MAX >> (line * 32 + 32).saturating_sub(end);
                if gaps {
                    let taken = bits(pieces).filter(|piece| lanes.at(*piece) & self.lanes != 0);
                    pieces = taken.fold(0, |all, piece| all | 1 << piece);
                }
                if pieces != 0 {
                    f(line as usize, pieces, lanes);
                }
            }
            return;
        }
        for lane in bits(self.lanes) {
            let offset = self.offset + (lane - self.lane) * self.step;
            lines(offset >> shift, (offset + self.size - 1) >> shift, |line, pieces| {
                f(line, pieces, Lanes::all(1 << lane))
            });
        }
    }
}

/// The pieces of a line with elements of `width` pieces, at a distance of `step`, where one of them starts at the piece `start`, below `step`.
#[inline(always)]
fn repeated(start: u32, (step, width): (u32, u32)) -> u32 {
    let element = ones(0, width);
    // The element in front of the first one may end in the line.
    let before = element.checked_shr(step - start).unwrap_or(0);
    (start..32).step_by(step as usize).fold(before, |all, at| all | element << at)
}

/// Calls `f` with the lines of a range of pieces, and the pieces in each.
#[inline(always)]
fn lines(first: u32, last: u32, mut f: impl FnMut(usize, u32)) {
    let mut at = first;
    while at <= last {
        let count = (32 - at % 32).min(last + 1 - at);
        f((at / 32) as usize, ones(at % 32, count));
        at += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn parts_name_each_byte_and_its_lane() {
        for (size, step) in [
            (1, 1),
            (4, 4),
            (8, 8),
            (16, 16),
            (4, 16),
            (4, 12),
            (2, 6),
            (8, 24),
            (12, 16),
            (4, 0),
            (16, 0),
            (24, 0),
            (2, 2),
        ] {
            for (offset, lane, lanes) in
                [(0, 0, u32::MAX), (48, 0, u32::MAX), (16, 4, 0xfff0), (96, 2, 0b1101 << 2), (32, 31, 1 << 31)]
            {
                let row = Row { offset, size, step, lane, lanes };
                for shift in 0..=size.trailing_zeros().min(4) {
                    let mut found = BTreeSet::new();
                    row.parts(shift, |line, pieces, lanes| {
                        for piece in bits(pieces) {
                            for lane in bits(lanes.at(piece)) {
                                let start = (line as u32 * 32 + piece) << shift;
                                found.extend((start..start + (1 << shift)).map(|byte| (byte, lane)));
                            }
                        }
                    });
                    let expected: BTreeSet<_> = bits(lanes)
                        .flat_map(|at| (0..size).map(move |byte| (offset + (at - lane) * step + byte, at)))
                        .collect();
                    assert_eq!(found, expected, "{row:?}, pieces of {}", 1 << shift);
                }
            }
        }
    }

    #[test]
    fn a_split_line_keeps_the_lanes_of_each_byte() {
        for lanes in [Lanes::row(-3, 1), Lanes::row(5, 2), Lanes::row(-9, 3), Lanes::row(-96, 32), Lanes::all(6)] {
            let pieces = 0x00ff_f0e0;
            for halvings in 1..4 {
                for index in 0..1 << halvings {
                    for piece in 0..32 {
                        let old = (index * 32 + piece) >> halvings;
                        assert_eq!(split(pieces, halvings, index) >> piece & 1, pieces >> old & 1);
                        if pieces >> old & 1 == 1 {
                            assert_eq!(lanes.split(halvings, index).at(piece), lanes.at(old));
                        }
                    }
                }
            }
        }
    }
}
