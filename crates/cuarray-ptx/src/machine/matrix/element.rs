//! The elements of matrices: their formats, and their values.
//!
//! The products of two elements of up to 16 bits, and of `tf32`, are exact in `f64`.

/// The format of the elements of a multiplicand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Element {
    F16,
    BF16,
    TF32,
    E4M3,
    E5M2,
    F64,
    S8,
    U8,
    S4,
    U4,
    B1,
}

impl Element {
    pub(crate) const ALL: [Element; 11] = [
        Element::F16,
        Element::BF16,
        Element::TF32,
        Element::E4M3,
        Element::E5M2,
        Element::F64,
        Element::S8,
        Element::U8,
        Element::S4,
        Element::U4,
        Element::B1,
    ];

    pub(crate) fn named(name: &str) -> Option<Element> {
        let names = ["f16", "bf16", "tf32", "e4m3", "e5m2", "f64", "s8", "u8", "s4", "u4", "b1"];
        names.iter().position(|known| *known == name).map(|index| Element::ALL[index])
    }

    /// The bits of an element.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Element::F16 | Element::BF16 => 16,
            Element::TF32 => 32,
            Element::F64 => 64,
            Element::E4M3 | Element::E5M2 | Element::S8 | Element::U8 => 8,
            Element::S4 | Element::U4 => 4,
            Element::B1 => 1,
        }
    }

    pub(crate) fn is_integer(self) -> bool {
        matches!(self, Element::S8 | Element::U8 | Element::S4 | Element::U4)
    }
}

/// The value of an `f16`.
#[inline(always)]
pub(super) fn half(bits: u32) -> f64 {
    let sign = u64::from(bits >> 15 & 1) << 63;
    let magnitude = u64::from(bits & 0x7fff);
    let value = if magnitude >= 0x7c00 {
        f64::from_bits(0x7ff << 52 | (magnitude & 0x3ff) << 42)
    } else {
        // The factor is the difference of the exponents' biases, and makes subnormal numbers right too.
        f64::from_bits(magnitude << 42) * f64::from_bits((1023 + 1008) << 52)
    };
    f64::from_bits(value.to_bits() | sign)
}

#[inline(always)]
fn e4m3(bits: u32) -> f64 {
    let sign = u64::from(bits >> 7 & 1) << 63;
    let magnitude = u64::from(bits & 0x7f);
    let value = if magnitude == 0x7f {
        f64::NAN
    } else {
        f64::from_bits(magnitude << 49) * f64::from_bits((1023 + 1016) << 52)
    };
    f64::from_bits(value.to_bits() | sign)
}

/// The values of the elements of a register, low to high; returns their number.
#[inline(always)]
pub(super) fn floats(element: Element, word: u32, into: &mut [f64; 8]) -> usize {
    match element {
        Element::F16 => {
            (into[0], into[1]) = (half(word & 0xffff), half(word >> 16));
            2
        }
        Element::BF16 => {
            let value = |bits: u32| f64::from(f32::from_bits(bits));
            (into[0], into[1]) = (value(word << 16), value(word & 0xffff_0000));
            2
        }
        Element::E4M3 => {
            (0..4).for_each(|index| into[index] = e4m3(word >> (8 * index) & 0xff));
            4
        }
        Element::E5M2 => {
            // `e5m2` is the upper half of an `f16`.
            (0..4).for_each(|index| into[index] = half((word >> (8 * index) & 0xff) << 8));
            4
        }
        // The bits below the fraction of `tf32` are ignored.
        _ => {
            into[0] = f64::from(f32::from_bits(word & !0x1fff));
            1
        }
    }
}

/// As [`floats`], for integers.
#[inline(always)]
pub(super) fn integers(element: Element, word: u32, into: &mut [i32; 8]) -> usize {
    let signed = |index: usize, bits: usize| (word << (32 - bits * (index + 1))) as i32 >> (32 - bits);
    let unsigned = |index: usize, bits: usize| (word << (32 - bits * (index + 1)) >> (32 - bits)) as i32;
    match element {
        Element::S8 => (0..4).for_each(|index| into[index] = signed(index, 8)),
        Element::U8 => (0..4).for_each(|index| into[index] = unsigned(index, 8)),
        Element::S4 => (0..8).for_each(|index| into[index] = signed(index, 4)),
        _ => (0..8).for_each(|index| into[index] = unsigned(index, 4)),
    }
    if element.bits() == 8 { 4 } else { 8 }
}
