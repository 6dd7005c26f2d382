//! The parts of an array that the devices of a plan hold, as the chapter "Multiple GPU Data Organization" of the manual divides it.

use crate::kinds::{Kind, Precision};
use crate::problem::Problem;
use crate::status::{INVALID_SIZE, INVALID_VALUE, NOT_SUPPORTED, Outcome, cufftResult};
use crate::types::{cufftXt1dFactors, cufftXtSubFormat};
use std::ops::Range;

/// The values of `cufftXtSubFormat`.
pub(crate) const INPUT: cufftXtSubFormat = 0;
pub(crate) const OUTPUT: cufftXtSubFormat = 1;
pub(crate) const INPLACE: cufftXtSubFormat = 2;
pub(crate) const INPLACE_SHUFFLED: cufftXtSubFormat = 3;
pub(crate) const INPUT_SHUFFLED: cufftXtSubFormat = 4;

/// Checks the requirements of a plan for several devices.
pub(crate) fn check(problem: &Problem, devices: usize) -> Outcome {
    if devices == 1 {
        return Ok(());
    }
    if !problem.is_basic {
        return Err(NOT_SUPPORTED);
    }
    if problem.batch > 1 {
        return Ok(());
    }
    let (kind, precision) = problem.types;
    let largest = match precision {
        Precision::Single => 4096,
        Precision::Double => 2048,
        Precision::Half | Precision::Bfloat => return Err(NOT_SUPPORTED),
    };
    if kind != Kind::ComplexToComplex && problem.sizes.len() < 3 {
        return Err(NOT_SUPPORTED);
    }
    let fits = match problem.sizes[..] {
        [size] => {
            let least = match devices {
                2 | 4 => 64,
                8 => 128,
                16 => 1024,
                _ => return Err(INVALID_VALUE),
            };
            size.is_power_of_two() && size >= least
        }
        _ => problem.sizes.iter().all(|&size| size >= 32 && (size <= largest || has_small_factors(size))),
    };
    if fits { Ok(()) } else { Err(INVALID_SIZE) }
}

/// Whether no prime factor is larger than 127.
fn has_small_factors(mut size: usize) -> bool {
    for factor in 2..=127 {
        while size.is_multiple_of(factor) {
            size /= factor;
        }
    }
    size == 1
}

/// The factors of a transform of one dimension. The devices hold its result in *strings*. A string has `factor2` substrings, whose starts are
/// `factor1` elements apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Factors {
    strings: usize,
    factor1: usize,
    factor2: usize,
}

impl Factors {
    /// The manual has one example: 1024 elements on two devices have 8 strings and the factors 64 and 16. With this rule, each device has
    /// its own substrings at all sizes that the manual allows.
    pub(crate) fn new(size: usize, devices: usize) -> Factors {
        let (size, devices) = (size.ilog2(), devices.ilog2());
        let factor1 = (size.div_ceil(2) + 1).min(size.saturating_sub(devices));
        Factors { strings: 1 << (devices + 2).min(factor1), factor1: 1 << factor1, factor2: 1 << (size - factor1) }
    }

    /// As `cufftXtQueryPlan` returns them. All numbers are powers of two.
    pub(crate) fn described(self) -> cufftXt1dFactors {
        let size = self.factor1 * self.factor2;
        let (string, substring) = (size / self.strings, self.factor1 / self.strings);
        let (mask, shift) = (|number: usize| number as i64 - 1, |number: usize| number.ilog2() as i32);
        cufftXt1dFactors {
            size: size as i64,
            stringCount: self.strings as i64,
            stringLength: string as i64,
            substringLength: substring as i64,
            factor1: self.factor1 as i64,
            factor2: self.factor2 as i64,
            stringMask: mask(string),
            substringMask: mask(substring),
            factor1Mask: mask(self.factor1),
            factor2Mask: mask(self.factor2),
            stringShift: shift(string),
            substringShift: shift(substring),
            factor1Shift: shift(self.factor1),
            factor2Shift: shift(self.factor2),
        }
    }
}

/// How an array is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Division {
    /// By an index: 0 for whole transforms, then the dimensions of a transform.
    Index(usize),
    /// The result of a transform of one dimension.
    Strings(Factors),
    /// The input of such a transform in the order of its first step: each device has a part of the substrings of `factor2` elements.
    Substrings(Factors),
}

impl Division {
    /// The division of a plan's array in a format.
    ///
    /// # Errors
    /// The plan does not have the format.
    pub(crate) fn new(problem: &Problem, format: cufftXtSubFormat, devices: usize) -> Outcome<Division> {
        if !(INPUT..=INPUT_SHUFFLED).contains(&format) {
            return Err(INVALID_VALUE);
        }
        // Documented: results are in their natural order unless several devices perform one transform.
        if devices == 1 || problem.batch > 1 {
            return Ok(Division::Index(0));
        }
        Ok(match (format, &problem.sizes[..]) {
            (INPUT | INPLACE, _) => Division::Index(1),
            (INPUT_SHUFFLED, [size]) => Division::Substrings(Factors::new(*size, devices)),
            (INPUT_SHUFFLED, _) => return Err(cufftResult::INVALID_TYPE),
            (_, [size]) => Division::Strings(Factors::new(*size, devices)),
            _ => Division::Index(2),
        })
    }

    /// The parts of an array, in the order of the devices.
    pub(crate) fn pieces(self, array: &Array, devices: usize) -> Vec<Piece> {
        let Array { dimensions, bytes, row } = array;
        let inner = |from: usize| dimensions[from..].iter().product::<usize>();
        let per_device = 0..devices;
        match self {
            Division::Index(at) if *row > dimensions[dimensions.len() - 1] => {
                // Rows with padding, which whole transforms and the first dimension divide.
                let (last, rows) = (dimensions[dimensions.len() - 1], inner(at + 1) / dimensions[dimensions.len() - 1]);
                let piece = |device: usize| {
                    let Range { start, end } = share(dimensions[at], devices, device);
                    let (width, pitch) = (last * bytes, row * bytes);
                    let natural = start * rows * width;
                    Piece { device, at: 0, natural, width, height: (end - start) * rows, pitch, natural_pitch: width }
                };
                per_device.map(piece).collect()
            }
            Division::Index(at) => {
                let (size, height) = (inner(at + 1) * bytes, dimensions[..at].iter().product());
                let piece = |device: usize| {
                    let Range { start, end } = share(dimensions[at], devices, device);
                    let (width, natural_pitch) = ((end - start) * size, dimensions[at] * size);
                    Piece { device, at: 0, natural: start * size, width, height, pitch: width, natural_pitch }
                };
                per_device.map(piece).collect()
            }
            Division::Strings(Factors { strings, factor1, factor2 }) => {
                let (own, width) = (strings / devices, factor1 / strings * bytes);
                let piece = |string: usize| Piece {
                    device: string / own,
                    at: string % own * factor2 * width,
                    natural: string * width,
                    width,
                    height: factor2,
                    pitch: width,
                    natural_pitch: factor1 * bytes,
                };
                (0..strings).map(piece).collect()
            }
            Division::Substrings(Factors { factor1, factor2, .. }) => {
                let width = factor2 / devices * bytes;
                let (height, natural_pitch) = (factor1, factor2 * bytes);
                let piece = |device: usize| Piece {
                    device,
                    at: 0,
                    natural: device * width,
                    width,
                    height,
                    pitch: width,
                    natural_pitch,
                };
                per_device.map(piece).collect()
            }
        }
    }
}

/// The elements of a device. Documented: the first devices have one more.
fn share(count: usize, devices: usize, device: usize) -> Range<usize> {
    let start = |device: usize| count / devices * device + device.min(count % devices);
    start(device)..start(device + 1)
}

/// An array in its natural order, without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Array {
    /// The number of transforms, and the sizes of one.
    pub(crate) dimensions: Vec<usize>,
    /// The bytes of an element.
    pub(crate) bytes: usize,
    /// The elements from one row to the next in device memory.
    pub(crate) row: usize,
}

impl Array {
    /// The whole memory of a descriptor.
    pub(crate) fn of(problem: &Problem, format: cufftXtSubFormat) -> Array {
        match format {
            INPUT => Array::side(problem, true, false),
            OUTPUT => Array::side(problem, false, false),
            // Memory for both sides, as complex numbers.
            _ => Array::new(problem, false, false),
        }
    }

    /// The elements of a side of a transform.
    pub(crate) fn side(problem: &Problem, is_input: bool, in_place: bool) -> Array {
        let real = if is_input { Kind::RealToComplex } else { Kind::ComplexToReal };
        Array::new(problem, problem.types.0 == real, in_place)
    }

    fn new(problem: &Problem, is_real: bool, in_place: bool) -> Array {
        let dimensions = problem.dimensions(is_real);
        let last = dimensions[dimensions.len() - 1];
        let row = if is_real && in_place { 2 * (last / 2 + 1) } else { last };
        Array { dimensions, bytes: problem.types.1.bytes() * if is_real { 1 } else { 2 }, row }
    }

    /// The bytes of the array without gaps.
    pub(crate) fn size(&self) -> usize {
        self.dimensions.iter().product::<usize>() * self.bytes
    }
}

/// Rows of an array in the memory of a device. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The index of the device.
    pub(crate) device: usize,
    /// The place of the first row in the memory of the device.
    pub(crate) at: usize,
    /// The place of the first row in the natural order.
    pub(crate) natural: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// The distance of rows in the memory of the device.
    pub(crate) pitch: usize,
    /// The distance of rows in the natural order.
    pub(crate) natural_pitch: usize,
}

/// The bytes that each device has of the pieces.
pub(crate) fn sizes(pieces: &[Piece], devices: usize) -> Vec<usize> {
    let mut sizes = vec![0; devices];
    for piece in pieces.iter().filter(|piece| piece.width > 0 && piece.height > 0) {
        let end = piece.at + (piece.height - 1) * piece.pitch + piece.width;
        sizes[piece.device] = end.max(sizes[piece.device]);
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Request;
    use proptest::prelude::*;

    const C2C: (Kind, Precision) = (Kind::ComplexToComplex, Precision::Single);

    fn problem(types: (Kind, Precision), sizes: &[usize], batch: usize) -> Problem {
        let sizes = sizes.iter().map(|size| *size as i64).collect();
        Problem::new(&Request { sizes, embeddings: None, batch: batch as i64, types }).unwrap()
    }

    fn pieces(problem: &Problem, format: cufftXtSubFormat, devices: usize) -> Vec<Piece> {
        Division::new(problem, format, devices).unwrap().pieces(&Array::of(problem, format), devices)
    }

    /// The elements of each device.
    fn counts(problem: &Problem, format: cufftXtSubFormat, devices: usize) -> Vec<usize> {
        sizes(&pieces(problem, format, devices), devices).iter().map(|size| size / 8).collect()
    }

    #[test]
    fn surfaces_and_volumes_are_divided_as_in_the_examples_of_the_manual() {
        let surface = problem(C2C, &[65, 99], 1);
        assert_eq!(counts(&surface, INPLACE, 4), [17 * 99, 16 * 99, 16 * 99, 16 * 99]);
        assert_eq!(counts(&surface, INPLACE_SHUFFLED, 4), [65 * 25, 65 * 25, 65 * 25, 65 * 24]);
        let volume = problem(C2C, &[103, 122, 64], 1);
        let plane = 122 * 64;
        assert_eq!(counts(&volume, INPLACE, 4), [26 * plane, 26 * plane, 26 * plane, 25 * plane]);
        let line = 103 * 64;
        assert_eq!(counts(&volume, INPLACE_SHUFFLED, 4), [31 * line, 31 * line, 30 * line, 30 * line]);
        // A batch of 15 transforms.
        assert_eq!(counts(&problem(C2C, &[10], 15), INPLACE, 4), [40, 40, 40, 30]);
    }

    #[test]
    fn result_of_one_dimension_has_the_strings_of_the_example_of_the_manual() {
        let factors = Factors::new(1024, 2);
        assert_eq!(factors, Factors { strings: 8, factor1: 64, factor2: 16 });
        let described = factors.described();
        assert_eq!((described.stringLength, described.substringLength, described.substringMask), (128, 8, 7));
        assert_eq!((described.stringShift, described.factor1Shift, described.factor2Shift), (7, 6, 4));
        let pieces = pieces(&problem(C2C, &[1024], 1), INPLACE_SHUFFLED, 2);
        let indices = |string: usize| {
            let piece = pieces[string];
            let substring = |row: usize| {
                let start = (piece.natural + row * piece.natural_pitch) / 8;
                start..=start + piece.width / 8 - 1
            };
            (piece.device, substring(0), substring(1), substring(piece.height - 1))
        };
        assert_eq!(indices(0), (0, 0..=7, 64..=71, 960..=967));
        assert_eq!(indices(1), (0, 8..=15, 72..=79, 968..=975));
        assert_eq!(indices(4), (1, 32..=39, 96..=103, 992..=999));
        assert_eq!(indices(7), (1, 56..=63, 120..=127, 1016..=1023));
    }

    #[test]
    fn requirements_of_plans_for_several_devices_are_those_of_the_manual() {
        let double = (Kind::ComplexToComplex, Precision::Double);
        let real = (Kind::RealToComplex, Precision::Single);
        for (types, sizes, batch, devices, expected) in [
            (C2C, &[64][..], 1, 4, Ok(())),
            (C2C, &[64], 1, 8, Err(INVALID_SIZE)),
            (C2C, &[512], 1, 16, Err(INVALID_SIZE)),
            (C2C, &[96], 1, 2, Err(INVALID_SIZE)),
            (C2C, &[64], 1, 3, Err(INVALID_VALUE)),
            (C2C, &[7], 5, 3, Ok(())),
            (C2C, &[31, 64], 1, 2, Err(INVALID_SIZE)),
            (C2C, &[4096, 32], 1, 3, Ok(())),
            (C2C, &[4099, 32], 1, 2, Err(INVALID_SIZE)),
            (double, &[2053, 32], 1, 2, Err(INVALID_SIZE)),
            (double, &[4096, 32], 1, 2, Ok(())),
            (real, &[64, 64], 1, 2, Err(NOT_SUPPORTED)),
            (real, &[64, 64], 2, 2, Ok(())),
            (real, &[32, 32, 32], 1, 2, Ok(())),
            (real, &[4], 1, 1, Ok(())),
        ] {
            assert_eq!(check(&problem(types, sizes, batch), devices), expected, "{sizes:?} {batch} {devices}");
        }
    }

    proptest! {
        #[test]
        fn each_element_has_one_place_in_one_device(
            (sizes, is_power) in prop_oneof![
                (prop::collection::vec(1_usize..9, 2..4), Just(false)),
                (6_u32..11).prop_map(|power| (vec![1 << power], true)),
            ],
            batch in 1_usize..6,
            devices in 1_usize..5,
            format in INPUT..=INPUT_SHUFFLED,
            kind in prop_oneof![Just(Kind::ComplexToComplex), Just(Kind::RealToComplex), Just(Kind::ComplexToReal)],
        ) {
            let devices = if is_power && batch == 1 { devices.next_power_of_two() } else { devices };
            let problem = problem((kind, Precision::Single), &sizes, batch);
            let Ok(division) = Division::new(&problem, format, devices) else { return Ok(()) };
            // Several devices do not divide a real transform of one dimension.
            prop_assume!(kind == Kind::ComplexToComplex || matches!(division, Division::Index(_)));
            for array in [Array::of(&problem, format), Array::side(&problem, true, true), Array::side(&problem, false, true)] {
                let is_padded = array.row > *array.dimensions.last().unwrap();
                if is_padded && !matches!(division, Division::Index(0)) {
                    continue;
                }
                let pieces = division.pieces(&array, devices);
                let mut natural = vec![0; array.size()];
                let mut memory: Vec<_> = super::sizes(&pieces, devices).into_iter().map(|size| vec![0; size]).collect();
                for piece in &pieces {
                    for row in 0..piece.height {
                        for byte in 0..piece.width {
                            natural[piece.natural + row * piece.natural_pitch + byte] += 1;
                            memory[piece.device][piece.at + row * piece.pitch + byte] += 1;
                        }
                    }
                }
                prop_assert!(natural.iter().all(|count| *count == 1));
                prop_assert!(memory.iter().flatten().all(|count| *count == 1 || (is_padded && *count == 0)));
            }
        }
    }
}
