//! Random numbers of a graph, which a seed and an offset decide: graphs of an attention and of its gradients draw the same ones.
//!
//! cuDNN's documentation states no sequence. NVIDIA's numbers are others.

use super::descriptor::{Descriptor, Made};
use super::operation::{Named, Operand, Operation, Step};
use crate::dropout::uniform;
use crate::numbers::Real;
use crate::status::{BAD_PARAM, NOT_SUPPORTED, Outcome};

/// A distribution.
#[derive(Clone, Copy, Debug)]
pub(super) enum Distribution {
    /// The probability of 1.
    Bernoulli(f64),
    /// The lower and the upper bound.
    Uniform(f64, f64),
}

/// The distribution of a descriptor.
pub(super) fn settings(descriptor: &Descriptor) -> Outcome<Distribution> {
    let number = |attribute| descriptor.number(attribute).ok_or(BAD_PARAM);
    match descriptor.choice(2300).ok_or(BAD_PARAM)? {
        0 => Ok(Distribution::Bernoulli(number(2305)?)),
        1 => Ok(Distribution::Uniform(number(2304)?, number(2303)?)),
        2 => Err(NOT_SUPPORTED),
        _ => Err(BAD_PARAM),
    }
}

/// Random numbers: their distribution, and the seed unless the first input has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Random {
    distribution: Distribution,
    seed: Option<i64>,
}

/// An operation that makes random numbers.
pub(super) fn random(descriptor: &Descriptor) -> Outcome<Operation> {
    let Some(Made::Distribution(distribution)) = descriptor.part(2312)? else { return Err(BAD_PARAM) };
    let mut inputs: Vec<Named> = Vec::new();
    let mut seed = None;
    if descriptor.has_descriptors(2311) {
        inputs.push((c"seed", descriptor.tensor(2311)?.ok_or(BAD_PARAM)?));
    } else {
        seed = Some(descriptor.integers(2311).first().copied().ok_or(BAD_PARAM)?);
    }
    if let Some(offset) = descriptor.tensor(2313)? {
        inputs.push((c"offset", offset));
    }
    let output = (c"y", descriptor.tensor(2310)?.ok_or(BAD_PARAM)?);
    Ok(Operation { step: Step::Random(Random { distribution, seed }), inputs, output })
}

impl Random {
    /// So many numbers.
    pub(super) fn compute<W: Real>(&self, inputs: &[Operand<'_, W>], count: usize) -> Vec<W> {
        let mut numbers = inputs.iter().map(|(_, values)| values.first().map_or(0, |value| value.double() as i64));
        let seed = self.seed.or_else(|| numbers.next()).unwrap_or(0).cast_unsigned();
        let offset = numbers.next().unwrap_or(0).cast_unsigned();
        let seed = seed ^ offset.wrapping_mul(0xd1b5_4a32_d192_ed03);
        let number = |index: usize| {
            let drawn = uniform(seed, index as u64);
            W::of(match self.distribution {
                Distribution::Bernoulli(probability) => f64::from(u8::from(drawn < probability)),
                Distribution::Uniform(lower, upper) => lower + (upper - lower) * drawn,
            })
        };
        (0..count).map(number).collect()
    }
}
