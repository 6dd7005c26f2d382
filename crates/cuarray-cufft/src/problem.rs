//! The description of a transform: what a plan computes.

use crate::engine::Engines;
use crate::kinds::{Kind, Precision, Types};
use crate::layout::{Dimension, Layout};
use crate::status::{INVALID_SIZE, INVALID_VALUE, NOT_SUPPORTED, Outcome};

/// One side of a transform in the advanced layout.
#[derive(Clone, Debug)]
pub(crate) struct Embedding {
    pub(crate) embed: Vec<i64>,
    pub(crate) step: i64,
    pub(crate) distance: i64,
}

/// The sizes of a transform as a call gives them.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) sizes: Vec<i64>,
    /// The layouts of input and output; without them, neither has gaps.
    pub(crate) embeddings: Option<[Embedding; 2]>,
    pub(crate) batch: i64,
    pub(crate) types: Types,
}

/// One side of a transform.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub(crate) layout: Layout,
    /// The layout of a real side whose transform is in place, if the rows have then other distances.
    pub(crate) padded: Option<Layout>,
    /// The bytes of an element.
    pub(crate) bytes: usize,
}

impl Side {
    pub(crate) fn layout(&self, in_place: bool) -> &Layout {
        self.padded.as_ref().filter(|_| in_place).unwrap_or(&self.layout)
    }
}

/// A transform.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) types: Types,
    /// The sizes of the dimensions, the last one of contiguous elements in the basic layout.
    pub(crate) sizes: Vec<usize>,
    pub(crate) batch: usize,
    pub(crate) input: Side,
    pub(crate) output: Side,
    /// Whether neither side has gaps by itself.
    pub(crate) is_basic: bool,
    pub(crate) engines: Engines,
}

fn positive(number: i64) -> Outcome<usize> {
    usize::try_from(number).ok().filter(|number| *number > 0).ok_or(INVALID_SIZE)
}

impl Problem {
    /// Checks a request.
    ///
    /// # Errors
    /// `INVALID_SIZE` for sizes that are not positive or leave the address space, `INVALID_VALUE` for ranks and distances.
    pub(crate) fn new(request: &Request) -> Outcome<Problem> {
        let (kind, precision) = request.types;
        if !(1..=3).contains(&request.sizes.len()) {
            return Err(INVALID_VALUE);
        }
        let sizes = request.sizes.iter().map(|size| positive(*size)).collect::<Outcome<Vec<_>>>()?;
        let batch = positive(request.batch)?;
        let is_small = matches!(precision, Precision::Half | Precision::Bfloat);
        if is_small && !sizes.iter().all(|size| size.is_power_of_two()) {
            // Documented: transforms of 16-bit numbers have powers of two as sizes.
            return Err(NOT_SUPPORTED);
        }
        let side = |is_input: bool| {
            let is_real = kind == if is_input { Kind::RealToComplex } else { Kind::ComplexToReal };
            let embedding = request.embeddings.as_ref().map(|both| &both[usize::from(!is_input)]);
            if is_small && is_real && embedding.is_some_and(|embedding| embedding.step != 1) {
                // Documented: the real side of such transforms has no stride.
                return Err(NOT_SUPPORTED);
            }
            let bytes = precision.bytes() * if is_real { 1 } else { 2 };
            let mut own = sizes.clone();
            if let (false, true, Some(last)) = (is_real, kind != Kind::ComplexToComplex, own.last_mut()) {
                *last = *last / 2 + 1;
            }
            let Some(embedding) = embedding else {
                let layout = basic(batch, &own, own[own.len() - 1], bytes)?;
                let row = 2 * (own[own.len() - 1] / 2 + 1);
                let padded = if is_real { Some(basic(batch, &own, row, bytes)?) } else { None };
                return Ok(Side { layout, padded, bytes });
            };
            Ok(Side { layout: embedded(batch, &own, embedding, bytes)?, padded: None, bytes })
        };
        let (input, output) = (side(true)?, side(false)?);
        let is_basic = request.embeddings.is_none();
        Ok(Problem { types: request.types, sizes, batch, input, output, is_basic, engines: Engines::default() })
    }

    /// The bytes of the work area: those of the complex numbers of the whole transform.
    pub(crate) fn work_size(&self) -> usize {
        // The layouts are checked, so the product fits.
        2 * self.types.1.bytes() * self.elements()
    }

    /// The bytes of the work areas of so many devices.
    pub(crate) fn work_sizes(&self, devices: usize) -> Vec<usize> {
        let element = 2 * self.types.1.bytes();
        vec![self.elements().div_ceil(devices) * element; devices]
    }

    /// The number of transforms, then the sizes of one side of a transform.
    pub(crate) fn dimensions(&self, is_real: bool) -> Vec<usize> {
        let mut dimensions = vec![self.batch];
        dimensions.extend(&self.sizes);
        if let (false, true, Some(last)) = (is_real, self.types.0 != Kind::ComplexToComplex, dimensions.last_mut()) {
            *last = *last / 2 + 1;
        }
        dimensions
    }

    /// The number of elements of a complex array of the sizes.
    pub(crate) fn elements(&self) -> usize {
        self.sizes.iter().product::<usize>() * self.batch
    }
}

/// The layout of arrays one after the other, with rows of `row` elements.
fn basic(batch: usize, sizes: &[usize], row: usize, bytes: usize) -> Outcome<Layout> {
    let mut dimensions = vec![Dimension { count: sizes[sizes.len() - 1], step: 1 }];
    let mut step = row;
    for &count in sizes[..sizes.len() - 1].iter().rev().chain([&batch]) {
        dimensions.insert(0, Dimension { count, step });
        step = step.checked_mul(count).ok_or(INVALID_SIZE)?;
    }
    Layout::new(dimensions, bytes)
}

/// The advanced layout: element `[x][y][z]` of batch `b` is at `b * distance + ((x * embed[1] + y) * embed[2] + z) * step`.
fn embedded(batch: usize, sizes: &[usize], embedding: &Embedding, bytes: usize) -> Outcome<Layout> {
    let number = |number: i64| usize::try_from(number).map_err(|_| INVALID_VALUE);
    let mut step = number(embedding.step).ok().filter(|step| *step > 0).ok_or(INVALID_VALUE)?;
    let mut dimensions = Vec::new();
    for (at, &count) in sizes.iter().enumerate().rev() {
        dimensions.insert(0, Dimension { count, step });
        // The first one has no meaning.
        let embed = number(embedding.embed[at])?;
        if at > 0 {
            step = step.checked_mul(embed).filter(|step| *step > 0).ok_or(INVALID_SIZE)?;
        }
    }
    dimensions.insert(0, Dimension { count: batch, step: number(embedding.distance)? });
    Layout::new(dimensions, bytes)
}
