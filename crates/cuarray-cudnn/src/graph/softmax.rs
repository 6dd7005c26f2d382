//! The softmax of graphs, over the last dimension. Each of its results is a separate operation.

use super::descriptor::Descriptor;
use super::operation::{Named, Operand, Operation, Step};
use crate::elementwise::{fits, places};
use crate::numbers::Real;
use crate::status::{BAD_PARAM, Outcome};

/// A result of a softmax.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// The values, whose sum is 1, or less with a sink.
    Values,
    /// The logarithm of the sum of the exponentials, times this factor.
    Logarithm(f64),
    Largest,
    /// The sum of the exponentials, from which the largest value was subtracted.
    Sum,
}

/// The operations of a softmax. The first input is `x`, and the second one the sink, if there is any.
pub(super) fn softmax(descriptor: &Descriptor) -> Outcome<Vec<Operation>> {
    let mut inputs: Vec<Named> = vec![(c"x", descriptor.tensor(3100)?.ok_or(BAD_PARAM)?)];
    if let Some(sink) = descriptor.tensor(3105)? {
        inputs.push((c"sink", sink));
    }
    let factor = if descriptor.flag(3106) { std::f64::consts::LOG2_E } else { 1.0 };
    let parts = [
        (c"y", Part::Values, 3101),
        (c"stats", Part::Logarithm(factor), 3102),
        (c"max", Part::Largest, 3103),
        (c"sum", Part::Sum, 3104),
    ];
    let mut operations = Vec::new();
    for (name, part, attribute) in parts {
        if let Some(tensor) = descriptor.tensor(attribute)? {
            operations.push(part.operation(inputs.clone(), (name, tensor))?);
        }
    }
    if operations.is_empty() { Err(BAD_PARAM) } else { Ok(operations) }
}

impl Part {
    /// The operation of this part, after the check of the sizes.
    pub(super) fn operation(self, inputs: Vec<Named>, output: Named) -> Outcome<Operation> {
        let x = &inputs[0].1.layout;
        let mut rows = x.clone();
        *rows.dims.last_mut().ok_or(BAD_PARAM)? = 1;
        let dims = if matches!(self, Part::Values) { &x.dims } else { &rows.dims };
        if output.1.layout.dims != *dims || inputs[1..].iter().any(|(_, sink)| !fits(&sink.layout, &rows)) {
            return Err(BAD_PARAM);
        }
        Ok(Operation { step: Step::Softmax(self), inputs, output })
    }

    /// The result in the order of its dimensions.
    pub(super) fn compute<W: Real>(self, inputs: &[Operand<'_, W>]) -> Vec<W> {
        let (dims, values) = inputs[0];
        let [outer @ .., width] = dims else { return Vec::new() };
        let rows = values.chunks(*width);
        let sinks = match inputs.get(1) {
            Some((of, sinks)) => places(&of[..outer.len()], outer).iter().map(|place| Some(sinks[*place])).collect(),
            None => vec![None; rows.len()],
        };
        let mut result = Vec::new();
        for (row, sink) in rows.zip(sinks) {
            let largest = row.iter().copied().chain(sink).fold(W::neg_infinity(), W::max);
            // A row without any value that counts has the sum 0.
            let counts = largest > W::neg_infinity();
            let term = |value: W| if counts { (value - largest).exp() } else { W::zero() };
            let sum = row.iter().copied().chain(sink).fold(W::zero(), |sum, value| sum + term(value));
            match self {
                Part::Values if counts => result.extend(row.iter().map(|value| term(*value) / sum)),
                Part::Values => result.extend(row.iter().map(|_| W::zero())),
                Part::Logarithm(factor) => result.push((largest + sum.ln()) * W::of(factor)),
                Part::Largest => result.push(largest),
                Part::Sum => result.push(sum),
            }
        }
        result
    }
}
