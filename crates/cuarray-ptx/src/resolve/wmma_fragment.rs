//! The fragments of `wmma`: the element that each register of a lane holds.

use super::mma::register_type;
use crate::grammar::types::Type;
use crate::machine::matrix::Sum;
use crate::machine::matrix::element::Element;

/// The elements of a fragment in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    Multiplicand(Element),
    Accumulator(Sum),
}

impl Held {
    pub(super) fn bits(self) -> u32 {
        match self {
            Held::Multiplicand(element) => element.bits(),
            Held::Accumulator(sum) => sum.bits(),
        }
    }

    pub(super) fn register(self) -> Type {
        match self {
            Held::Multiplicand(Element::F64) => Type::F64,
            Held::Multiplicand(_) => Type::B32,
            Held::Accumulator(sum) => register_type(sum),
        }
    }
}

/// The registers of a fragment: the first row and column of each, in a matrix whose rows the groups of lanes share. `B`
/// is transposed.
pub(super) struct Fragment {
    pub held: Held,
    pub places: Vec<[u32; 2]>,
    /// The neighbouring elements of a lane in a row.
    pub each: u32,
    /// The number of registers with copies.
    pub registers: usize,
    /// The number of rows and columns.
    pub size: [u32; 2],
}

/// The fragment of a multiplicand with `rows` rows and `depth` columns.
pub(super) fn multiplicand(element: Element, [rows, depth]: [u32; 2]) -> Fragment {
    let each = (32 / element.bits()).max(1);
    let blocks = (rows / 8).min(2);
    let mut places = Vec::new();
    for tile in 0..rows / 8 / blocks {
        for slab in 0..depth / (4 * each) {
            places.extend((0..blocks).map(|block| [(tile * blocks + block) * 8, slab * 4 * each]));
        }
    }
    let registers = if element == Element::F16 { 8 } else { places.len() };
    Fragment { held: Held::Multiplicand(element), places, each, registers, size: [rows, depth] }
}

/// As [`multiplicand`]; columns of `B` are the groups' rows, one tile for each eight.
pub(super) fn transposed(element: Element, [columns, depth]: [u32; 2]) -> Fragment {
    let mut whole = multiplicand(element, [8, depth]);
    let one = std::mem::take(&mut whole.places);
    whole.places = (0..columns / 8).flat_map(|tile| one.iter().map(move |[_, at]| [tile * 8, *at])).collect();
    let registers = if element == Element::F16 { 8 } else { whole.places.len() };
    Fragment { registers, size: [columns, depth], ..whole }
}

/// The fragment of accumulators.
pub(super) fn accumulator(sum: Sum, [rows, columns]: [u32; 2]) -> Fragment {
    let blocks = (rows / 8).min(2);
    let mut places = Vec::new();
    for (tile, column) in (0..rows / 8 / blocks).flat_map(|tile| (0..columns / 8).map(move |column| (tile, column))) {
        for row in (0..blocks).map(|block| (tile * blocks + block) * 8) {
            places.push([row, column * 8]);
            if sum != Sum::F16 {
                places.push([row, column * 8 + 1]);
            }
        }
    }
    let registers = places.len();
    Fragment { held: Held::Accumulator(sum), places, each: 2, registers, size: [rows, columns] }
}

/// The products that the manual lists, by the elements of the multiplicands.
pub(super) fn exists(element: Element, size: [u32; 3]) -> bool {
    match element {
        Element::F16 | Element::BF16 | Element::S8 | Element::U8 => {
            matches!(size, [16, 16, 16] | [8, 32, 16] | [32, 8, 16])
        }
        Element::TF32 => size == [16, 16, 8],
        Element::F64 => size == [8, 8, 4],
        Element::S4 | Element::U4 => size == [8, 8, 32],
        Element::B1 => size == [8, 8, 128],
        Element::E4M3 | Element::E5M2 => false,
    }
}
