//! The rows of linear values: compared before generated code runs, and written behind it.

use super::flow::Register;
use super::value::{EQUAL, Known, Steps};
use crate::grammar::types::Width;
use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_add_epi64, _mm256_and_si256, _mm256_blendv_epi8, _mm256_cmpeq_epi32,
    _mm256_cmpeq_epi64, _mm256_loadu_si256, _mm256_or_si256, _mm256_set1_epi32, _mm256_set1_epi64x,
    _mm256_setzero_si256, _mm256_storeu_si256, _mm256_testz_si256, _mm256_xor_si256,
};
use std::sync::Arc;

/// The bit of each lane, in words of 32 bits and of 64 bits.
static BITS: [u32; 32] = {
    let mut bits = [0; 32];
    let mut lane = 0;
    while lane < 32 {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};
static WIDE_BITS: [u64; 32] = {
    let mut bits = [0; 32];
    let mut lane = 0;
    while lane < 32 {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};

/// A register with a linear value.
pub(super) struct LinearRegister {
    /// Its number among the registers of the function.
    pub number: u32,
    pub place: u32,
    steps: Steps,
    wide: bool,
    /// Whether the register is a predicate, which has no row.
    predicate: bool,
    /// The differences of the lanes from the first one: words of 32 bits, or pairs of words. Equal steps share them.
    offsets: Arc<Offsets>,
}

/// The differences of the lanes from the first one, in parts of a row.
pub(super) type Offsets = [[u32; 8]];

/// The lanes of a part of a row that a mask has, as a mask of vectors.
#[target_feature(enable = "avx2")]
#[inline]
fn lanes(part: usize, mask: u32, wide: bool) -> __m256i {
    // SAFETY: there are as many parts of bits as of a row.
    unsafe {
        if wide {
            let bits = _mm256_loadu_si256(WIDE_BITS.as_ptr().cast::<__m256i>().add(part));
            _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(mask.into()), bits), bits)
        } else {
            let bits = _mm256_loadu_si256(BITS.as_ptr().cast::<__m256i>().add(part));
            _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(mask as i32), bits), bits)
        }
    }
}

/// Writes the lanes of a mask as rows with all ones in each.
#[target_feature(enable = "avx2")]
pub(super) fn write_lanes(mask: u32, row: &mut [u32; 32], wide_row: &mut [u64; 32]) {
    // SAFETY: the rows have four and eight parts.
    unsafe {
        for part in 0..4 {
            _mm256_storeu_si256(row.as_mut_ptr().cast::<__m256i>().add(part), lanes(part, mask, false));
        }
        for part in 0..8 {
            _mm256_storeu_si256(wide_row.as_mut_ptr().cast::<__m256i>().add(part), lanes(part, mask, true));
        }
    }
}

impl LinearRegister {
    pub(super) fn new(known: Known<'_>, number: usize, steps: Steps) -> LinearRegister {
        let Register { place, width } = known.flow.registers[number];
        let (number, wide, predicate) = (number as u32, width == Width::W64, width == Width::Predicate);
        let offsets = known.program.generated.offsets(steps, width);
        LinearRegister { number, place, steps, wide, predicate, offsets }
    }

    /// Whether the value is that of another register: of the same number, with the same steps.
    pub(super) fn is_same(&self, other: &LinearRegister) -> bool {
        self.number == other.number && Arc::ptr_eq(&self.offsets, &other.offsets)
    }

    /// The difference of a lane.
    fn offset(&self, lane: usize) -> u64 {
        if self.wide {
            let words = &self.offsets[lane / 4][lane % 4 * 2..][..2];
            u64::from(words[0]) | u64::from(words[1]) << 32
        } else {
            self.offsets[lane / 8][lane % 8].into()
        }
    }

    /// A part of the row.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn part(&self, part: usize, base: __m256i) -> __m256i {
        if self.steps == EQUAL {
            return base;
        }
        // SAFETY: a part of the differences has 32 bytes.
        let offsets = unsafe { _mm256_loadu_si256(self.offsets.as_ptr().add(part).cast()) };
        if self.wide { _mm256_add_epi64(base, offsets) } else { _mm256_add_epi32(base, offsets) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn repeated(&self, base: u64) -> __m256i {
        if self.wide { _mm256_set1_epi64x(base as i64) } else { _mm256_set1_epi32(base as i32) }
    }

    /// The first lane's value, if the values of the lanes in the mask are as expected.
    ///
    /// # Safety
    /// `row` is the row of the register. The mask has a lane.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) unsafe fn read(&self, row: *const u8, mask: u32) -> Option<u64> {
        if self.predicate {
            // SAFETY: this function's contract. A predicate is a word.
            let holds = unsafe { row.cast::<u32>().read() } & mask;
            return (holds == 0 || holds == mask).then_some(0);
        }
        let first = mask.trailing_zeros() as usize & 31;
        // SAFETY: this function's contract. A row has 32 slots.
        unsafe {
            let value = if self.wide {
                row.cast::<u64>().add(first).read()
            } else {
                row.cast::<u32>().add(first).read().into()
            };
            let base = value.wrapping_sub(if first == 0 { 0 } else { self.offset(first) });
            let repeated = self.repeated(base);
            let mut stray = _mm256_setzero_si256();
            for part in 0..self.offsets.len() {
                let values = _mm256_loadu_si256(row.cast::<__m256i>().add(part));
                let mut differ = _mm256_xor_si256(values, self.part(part, repeated));
                if mask != u32::MAX {
                    differ = _mm256_and_si256(differ, lanes(part, mask, self.wide));
                }
                stray = _mm256_or_si256(stray, differ);
            }
            (_mm256_testz_si256(stray, stray) == 1).then_some(base)
        }
    }

    /// Writes the row, in the lanes of the mask.
    ///
    /// # Safety
    /// `row` is the row of the register.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) unsafe fn write(&self, row: *mut u8, base: u64, mask: u32) {
        let repeated = self.repeated(base);
        for part in 0..self.offsets.len() {
            // SAFETY: this function's contract.
            unsafe {
                let place = row.cast::<__m256i>().add(part);
                let mut values = self.part(part, repeated);
                if mask != u32::MAX {
                    values = _mm256_blendv_epi8(_mm256_loadu_si256(place), values, lanes(part, mask, self.wide));
                }
                _mm256_storeu_si256(place, values);
            }
        }
    }
}
