//! The formulas of a cell for one sequence at one time step, and their derivatives.

use super::network::{Clip, Mode};
use crate::numbers::Real;

fn sigmoid<W: Real>(value: W) -> W {
    W::one() / (W::one() + (-value).exp())
}

impl Clip {
    fn apply<W: Real>(&self, value: W) -> W {
        let [least, most] = self.bounds.map(W::of);
        // The largest of NaN and a number is the number.
        if value.is_nan() && self.keeps_nan { value } else { value.max(least).min(most) }
    }

    /// Whether a state that was clipped depends on the state before.
    fn passes<W: Real>(&self, value: W) -> bool {
        let [least, most] = self.bounds.map(W::of);
        !(value <= least || value >= most)
    }
}

/// Computes the gates of a cell in place from their sums, and its output. `cell` is the state of an LSTM cell.
pub(super) fn forward<W: Real>(
    mode: Mode,
    clip: Option<Clip>,
    gates: &mut [W],
    before: &[W],
    cell: &mut [W],
    output: &mut [W],
) {
    let hidden = output.len();
    match mode {
        // NaN stays.
        Mode::Relu => gates.iter_mut().filter(|gate| **gate < W::zero()).for_each(|gate| *gate = W::zero()),
        Mode::Tanh => gates.iter_mut().for_each(|gate| *gate = gate.tanh()),
        Mode::Lstm => {
            for (index, output) in output.iter_mut().enumerate() {
                let at = |gate: usize| gate * hidden + index;
                let [input, forget, out] = [0, 1, 3].map(|gate| sigmoid(gates[at(gate)]));
                let new = gates[at(2)].tanh();
                let sum = forget * cell[index] + input * new;
                cell[index] = clip.map_or(sum, |clip| clip.apply(sum));
                *output = out * cell[index].tanh();
                [input, forget, new, out].into_iter().enumerate().for_each(|(gate, value)| gates[at(gate)] = value);
            }
        }
        Mode::Gru => {
            for (index, output) in output.iter_mut().enumerate() {
                let at = |gate: usize| gate * hidden + index;
                let [reset, update] = [0, 1].map(|gate| sigmoid(gates[at(gate)]));
                let new = (gates[at(2)] + reset * gates[at(3)]).tanh();
                *output = (W::one() - update) * new + update * before[index];
                [reset, update, new].into_iter().enumerate().for_each(|(gate, value)| gates[at(gate)] = value);
            }
        }
    }
    if matches!(mode, Mode::Relu | Mode::Tanh) {
        output.copy_from_slice(gates);
    }
}

/// The values of a cell that its derivatives need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a, W> {
    pub(super) gates: &'a [W],
    /// The state before, and the states of an LSTM cell before and after.
    pub(super) before: &'a [W],
    pub(super) cell_before: &'a [W],
    pub(super) cell: &'a [W],
}

/// Computes the gradients of the sums of the gates from that of the output. `of_cell` becomes the gradient of the state of the cell before, and
/// `direct` that of the state before, as far as it is no part of a gate.
pub(super) fn backward<W: Real>(
    mode: Mode,
    clip: Option<Clip>,
    known: Known<'_, W>,
    of_output: &[W],
    of_cell: &mut [W],
    direct: &mut [W],
    gradients: &mut [W],
) {
    let (hidden, gates, one) = (of_output.len(), known.gates, W::one());
    for (index, change) in of_output.iter().copied().enumerate() {
        let at = |gate: usize| gate * hidden + index;
        match mode {
            Mode::Relu => gradients[index] = if gates[index] > W::zero() { change } else { W::zero() },
            Mode::Tanh => gradients[index] = change * (one - gates[index] * gates[index]),
            Mode::Lstm => {
                let [input, forget, new, out] = [0, 1, 2, 3].map(|gate| gates[at(gate)]);
                let (cell, curve) = (known.cell[index], known.cell[index].tanh());
                let sum = of_cell[index] + change * out * (one - curve * curve);
                let sum = if clip.is_none_or(|clip| clip.passes(cell)) { sum } else { W::zero() };
                gradients[at(0)] = sum * new * input * (one - input);
                gradients[at(1)] = sum * known.cell_before[index] * forget * (one - forget);
                gradients[at(2)] = sum * input * (one - new * new);
                gradients[at(3)] = change * curve * out * (one - out);
                of_cell[index] = sum * forget;
            }
            Mode::Gru => {
                let [reset, update, new, part] = [0, 1, 2, 3].map(|gate| gates[at(gate)]);
                let of_new = change * (one - update) * (one - new * new);
                gradients[at(0)] = of_new * part * reset * (one - reset);
                gradients[at(1)] = change * (known.before[index] - new) * update * (one - update);
                gradients[at(2)] = of_new;
                gradients[at(3)] = of_new * reset;
                direct[index] = change * update;
            }
        }
    }
}
