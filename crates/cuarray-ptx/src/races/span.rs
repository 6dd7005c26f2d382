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
/// In a row, lane `(piece - start) >> width` accesses a piece: the low 16 bits are the start, and the next 8 the width.
/// Otherwise, each lane of a mask accesses all pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lanes(u64);

impl Lanes {
    const ROW: u64 = 1 << 63;

    #[inline(always)]
    pub(crate) fn row(start: i32, width: u32) -> Lanes {
        Lanes(Lanes::ROW | u64::from(width) << 16 | u64::from(start as u16))
    }

    #[inline(always)]
    pub(crate) fn all(lanes: u32) -> Lanes {
        Lanes(lanes.into())
    }

    #[inline(always)]
    pub(crate) fn is_row(self) -> bool {
        self.0 & Lanes::ROW != 0
    }

    /// The lanes that access a piece, as a mask.
    #[inline(always)]
    pub(crate) fn at(self, piece: u32) -> u32 {
        if self.is_row() { 1 << (((piece as i32 - self.start()) >> self.width()) & 31) } else { self.0 as u32 }
    }

    /// The first lane that accesses a piece.
    #[inline(always)]
    pub(crate) fn first_at(self, piece: u32) -> u32 {
        self.at(piece).trailing_zeros() & 31
    }

    fn start(self) -> i32 {
        i32::from(self.0 as i16)
    }

    fn width(self) -> u32 {
        (self.0 >> 16 & 31) as u32
    }

    /// These lanes in part `index` of the line, after each piece was split into `1 << halvings` pieces.
    pub(crate) fn split(self, halvings: u32, index: u32) -> Lanes {
        if !self.is_row() {
            return self;
        }
        Lanes::row((self.start() << halvings) - index as i32 * 32, self.width() + halvings)
    }
}

/// The pieces in part `index` of a line, after each piece was split into `1 << halvings` pieces.
pub(crate) fn split(pieces: u32, halvings: u32, index: u32) -> u32 {
    let part = |piece: u32| pieces >> ((index * 32 + piece) >> halvings & 31) & 1;
    (0..32).fold(0, |all, piece| all | part(piece) << piece)
}

/// The places of the bits that are set.
#[inline(always)]
pub(crate) fn bits(mut mask: u32) -> impl Iterator<Item = u32> {
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
                f((first >> 5) as usize, pieces as u32, Lanes::row(start, 0));
            }
            if pieces >> 32 != 0 {
                f((first >> 5) as usize + 1, (pieces >> 32) as u32, Lanes::row(start - 32, 0));
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

    #[cold]
    fn wide_parts(&self, shift: u32, f: &mut dyn FnMut(usize, u32, Lanes)) {
        let width = (self.step >> shift).trailing_zeros();
        let first = self.offset >> shift;
        let even = self.step.is_power_of_two() && self.step >> shift != 0 && (first << shift) == self.offset;
        let mut open: Option<(usize, u32)> = None;
        for lane in bits(self.lanes) {
            let offset = self.offset + (lane - self.lane) * self.step;
            let (start, end) = (offset >> shift, (offset + self.size - 1) >> shift);
            if !even {
                lines(start, end, |line, pieces| f(line, pieces, Lanes::all(1 << lane)));
                continue;
            }
            lines(start, end, |line, pieces| match &mut open {
                Some(open) if open.0 == line => open.1 |= pieces,
                _ => open
                    .replace((line, pieces))
                    .into_iter()
                    .for_each(|(line, pieces)| self.wide(first, width, line, pieces, f)),
            });
        }
        open.into_iter().for_each(|(line, pieces)| self.wide(first, width, line, pieces, f));
    }

    fn wide(&self, first: u32, width: u32, line: usize, pieces: u32, f: &mut dyn FnMut(usize, u32, Lanes)) {
        let start = first as i32 - line as i32 * 32 - ((self.lane as i32) << width);
        f(line, pieces, Lanes::row(start, width));
    }
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
        for (size, step) in [(1, 1), (4, 4), (8, 8), (16, 16), (4, 16), (12, 16), (4, 0), (16, 0), (24, 0), (2, 2)] {
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
        for lanes in [Lanes::row(-3, 0), Lanes::row(5, 1), Lanes::all(6)] {
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
