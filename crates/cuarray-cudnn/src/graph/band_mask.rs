//! Masks of a diagonal band: scores whose row and column compare stay, and others get a value.

use super::descriptor::Descriptor;
use super::operation::{Named, Operand, Operation, Step};
use super::pointwise::two;
use crate::elementwise::{fits, places};
use crate::numbers::Real;
use crate::status::{BAD_PARAM, Outcome};
use crate::types::cudnnPointwiseMode_t;

/// A mask of a band.
#[derive(Clone, Debug)]
pub(super) struct BandMask {
    /// The comparison of what was moved with what was not.
    mode: cudnnPointwiseMode_t,
    /// Whether columns are moved and compared with rows; otherwise rows are moved and compared with columns.
    moves_columns: bool,
    /// The factors of the inputs after the second one, whose sum moves.
    signs: Vec<f64>,
}

/// A mask, with the inputs `x`, the value of what is masked, and numbers by which the band is moved.
pub(super) fn band_mask(descriptor: &Descriptor) -> Outcome<Operation> {
    let tensor = |name, attribute| -> Outcome<Named> { Ok((name, descriptor.tensor(attribute)?.ok_or(BAD_PARAM)?)) };
    let mode = descriptor.choice(3007).filter(|mode| (300..=305).contains(mode)).ok_or(BAD_PARAM)?;
    let moves_columns = descriptor.tensor(3003)?.is_some();
    let of_kv = if moves_columns { -1.0 } else { 1.0 };
    let (mut inputs, output) = (vec![tensor(c"x", 3000)?, tensor(c"b", 3005)?], tensor(c"y", 3006)?);
    let moving = [(c"seqLenKV", 3001, of_kv), (c"seqLenQ", 3002, -of_kv), (c"left", 3003, 1.0), (c"right", 3004, 1.0)];
    let mut signs = Vec::new();
    for (name, attribute, sign) in moving {
        if let Some(tensor) = descriptor.tensor(attribute)? {
            inputs.push((name, tensor));
            signs.push(sign);
        }
    }
    let layout = &output.1.layout;
    if layout.dims.len() < 2 || inputs[0].1.layout.dims != layout.dims {
        return Err(BAD_PARAM);
    }
    if inputs[1..].iter().any(|(_, input)| !fits(&input.layout, layout)) {
        return Err(BAD_PARAM);
    }
    Ok(Operation { step: Step::BandMask(BandMask { mode, moves_columns, signs }), inputs, output })
}

impl BandMask {
    /// The result in the order of its dimensions.
    pub(super) fn compute<W: Real>(&self, inputs: &[Operand<'_, W>], of: &[usize]) -> Vec<W> {
        let (width, height) = (of[of.len() - 1], of[of.len() - 2]);
        let spread = |(dims, values): &Operand<'_, W>| -> Vec<W> {
            places(dims, of).into_iter().map(|place| values[place]).collect()
        };
        let masked = spread(&inputs[1]);
        let moving: Vec<(f64, Vec<W>)> = self.signs.iter().copied().zip(inputs[2..].iter().map(spread)).collect();
        let value = |(index, x): (usize, &W)| {
            let moved = moving.iter().fold(0.0, |sum, (sign, by)| sum + sign * by[index].double());
            let (column, row) = ((index % width) as f64, (index / width % height) as f64);
            let (moved, other) = if self.moves_columns { (column + moved, row) } else { (row + moved, column) };
            if two(self.mode, moved, other) == 0.0 { masked[index] } else { *x }
        };
        inputs[0].1.iter().enumerate().map(value).collect()
    }
}
