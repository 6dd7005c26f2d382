//! Sobol's sequences, with the direction numbers of S. Joe and F. Y. Kuo (2008) for 20,000 dimensions.
//!
//! `joe_kuo.py` packs their published file, and has the form of the packed numbers.

mod scramble;

use std::sync::OnceLock;

/// The largest number of dimensions.
pub(crate) const DIMENSIONS: usize = 20_000;

static PACKED: &[u8] = include_bytes!("directions.bin");

/// A word of a sequence: 32 or 64 bits.
pub(crate) trait Word: Copy + Send + Sync + std::ops::BitXorAssign + 'static {
    const BITS: usize;
    /// The upper bits of a direction.
    fn of(direction: u64) -> Self;
}

impl Word for u32 {
    const BITS: usize = 32;
    fn of(direction: u64) -> u32 {
        (direction >> 32) as u32
    }
}

impl Word for u64 {
    const BITS: usize = 64;
    fn of(direction: u64) -> u64 {
        direction
    }
}

/// Reads bits, from the lowest bit of each byte on.
struct Bits {
    at: usize,
}

impl Bits {
    fn take(&mut self, count: usize) -> u64 {
        let mut value = 0;
        for index in 0..count {
            let at = self.at + index;
            let byte = PACKED.get(at / 8).copied().unwrap_or(0);
            value |= u64::from(byte >> (at % 8) & 1) << index;
        }
        self.at += count;
        value
    }
}

/// The places of the packed dimensions, from the second dimension on.
fn places() -> &'static [usize] {
    static PLACES: OnceLock<Vec<usize>> = OnceLock::new();
    PLACES.get_or_init(|| {
        let mut bits = Bits { at: 0 };
        (1..DIMENSIONS)
            .map(|_| {
                let place = bits.at;
                let degree = bits.take(5) as usize;
                bits.at += degree.saturating_sub(1) + degree * degree.saturating_sub(1) / 2;
                place
            })
            .collect()
    })
}

/// The directions of a dimension, counted from 0, with the first one in the highest bit.
pub(crate) fn directions(dimension: usize) -> [u64; 64] {
    let Some(place) = dimension.checked_sub(1).and_then(|index| places().get(index)) else {
        // The first dimension is van der Corput's sequence.
        return std::array::from_fn(|index| 1 << (63 - index));
    };
    let mut bits = Bits { at: *place };
    let degree = bits.take(5) as usize;
    let inner = bits.take(degree.saturating_sub(1));
    let mut directions = [0; 64];
    for (index, direction) in directions.iter_mut().take(degree).enumerate() {
        *direction = (bits.take(index) << 1 | 1) << (63 - index);
    }
    // The recurrence of the polynomial, on numbers that are shifted to the highest bit.
    for index in degree..64 {
        let before = directions[index - degree];
        let mut next = before ^ (before >> degree);
        for back in 1..degree {
            if inner >> (degree - 1 - back) & 1 == 1 {
                next ^= directions[index - back];
            }
        }
        directions[index] = next;
    }
    directions
}

/// Sobol's sequences, or their scrambled form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Plain,
    Scrambled,
}

impl Form {
    /// The directions of a dimension.
    fn directions(self, dimension: usize) -> [u64; 64] {
        match self {
            Form::Plain => directions(dimension),
            Form::Scrambled => scramble::scrambled(dimension, directions(dimension)),
        }
    }

    /// The first result of a dimension.
    fn shift(self, dimension: usize) -> u64 {
        match self {
            Form::Plain => 0,
            Form::Scrambled => scramble::shift(dimension),
        }
    }
}

/// Writes results of a dimension: those with the indices `first` and following.
pub(crate) fn fill<W: Word, T>(form: Form, dimension: usize, first: u64, out: &mut [T], of: impl Fn(W) -> T) {
    let directions = form.directions(dimension).map(W::of);
    let direction = |bit: u32| directions.get(bit as usize).copied().filter(|_| (bit as usize) < W::BITS);
    // The directions of the bits of the Gray code.
    let mut word = W::of(form.shift(dimension));
    let gray = first ^ (first >> 1);
    (0..64).filter(|bit| gray >> bit & 1 == 1).filter_map(direction).for_each(|direction| word ^= direction);
    for (index, result) in out.iter_mut().enumerate() {
        *result = of(word);
        let changed = (!first.wrapping_add(index as u64)).trailing_zeros();
        if let Some(direction) = direction(changed) {
            word ^= direction;
        }
    }
}

/// The directions of all dimensions one after the other, for the functions that return them.
pub(crate) fn all<W: Word>(form: Form) -> Vec<W> {
    (0..DIMENSIONS).flat_map(|dimension| form.directions(dimension).map(W::of).into_iter().take(W::BITS)).collect()
}

/// The first results of all dimensions of the scrambled form, for the functions that return them.
pub(crate) fn shifts<W: Word>() -> Vec<W> {
    (0..DIMENSIONS).map(|dimension| W::of(scramble::shift(dimension))).collect()
}

#[cfg(test)]
mod tests {
    use super::{Bits, DIMENSIONS, Form, PACKED, directions, fill, places};

    #[test]
    fn packed_numbers_have_no_rest() {
        let place = places()[DIMENSIONS - 2];
        let degree = Bits { at: place }.take(5) as usize;
        let end = place + 5 + degree - 1 + degree * (degree - 1) / 2;
        assert_eq!(end.div_ceil(8), PACKED.len());
    }

    #[test]
    fn third_dimension_has_the_numbers_of_the_published_table() {
        // Degree 2, coefficient 1, m = 1, 3; then m_3 = 4 * 1 xor 2 * 3 xor 1 = 3 by the recurrence.
        let numbers = directions(2).iter().enumerate().take(3).map(|(index, v)| v >> (63 - index)).collect::<Vec<_>>();
        assert_eq!(numbers, [1, 3, 3]);
    }

    #[test]
    fn each_dimension_has_each_prefix_of_bits_once() {
        for dimension in [0, 1, 2, 99, 12_345, DIMENSIONS - 1] {
            for form in [Form::Plain, Form::Scrambled] {
                let mut words = [0_u32; 1 << 10];
                fill(form, dimension, 0, &mut words, |word: u32| word >> 22);
                words.sort_unstable();
                assert!(words.iter().enumerate().all(|(index, word)| index as u32 == *word), "{form:?} {dimension}");
            }
        }
    }

    #[test]
    fn skipping_gives_the_later_results() {
        let (mut all, mut later) = ([0_u64; 100], [0_u64; 50]);
        for form in [Form::Plain, Form::Scrambled] {
            fill(form, 17, 0, &mut all, |word: u64| word);
            fill(form, 17, 50, &mut later, |word: u64| word);
            assert_eq!(all[50..], later);
        }
    }
}
