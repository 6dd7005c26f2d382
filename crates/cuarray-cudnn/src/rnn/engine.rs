//! The passes over the layers of a network. Vectors have a row for each time step of each sequence, in the order of [`Steps`].

use super::cell::{self, Known};
use super::network::{Mode, Network, Parameters};
use super::steps::Steps;
use super::tape::{CellGradients, CellTape, LayerTape};
use crate::convolution_engine::{Matrix, multiply};
use crate::numbers::Real;
use crate::parallel::each_part;

/// The rows of a product that one thread computes at a time.
const ROWS: usize = 64;

/// `c = a * b + beta * c`, as [`multiply`], on as many threads as it is worth.
fn product<W: Real>([m, n, k]: [usize; 3], a: Matrix<'_, W>, b: Matrix<'_, W>, beta: W, c: &mut [W], step: usize) {
    each_part(c, ROWS * step, m * n * k, |index, part| {
        let rows = ROWS.min(m.saturating_sub(index * ROWS));
        let start = (index * ROWS * a.1[0]).min(a.0.len());
        multiply([rows, n, k], (&a.0[start..], a.1), b, beta, part, step);
    });
}

/// The states of all pseudo-layers for each sequence, by rank. The states of cells are those of an LSTM.
#[derive(Clone, Debug)]
pub(super) struct States<W> {
    pub(super) hidden: Vec<W>,
    pub(super) cells: Vec<W>,
}

impl<W: Real> States<W> {
    /// States of zero.
    pub(super) fn zero(network: &Network, batch: usize) -> States<W> {
        let states = network.pseudo_layers() * batch;
        let cells = if network.mode == Mode::Lstm { states * network.hidden } else { 0 };
        States { hidden: vec![W::zero(); states * network.state], cells: vec![W::zero(); cells] }
    }
}

/// The part of the states of all pseudo-layers that belongs to one.
fn part<W>(states: &[W], pseudo: usize, all: usize) -> &[W] {
    let size = states.len() / all;
    &states[pseudo * size..][..size]
}

fn part_mut<W>(states: &mut [W], pseudo: usize, all: usize) -> &mut [W] {
    let size = states.len() / all;
    &mut states[pseudo * size..][..size]
}

/// One direction of a layer.
struct Direction<'a, W> {
    network: &'a Network,
    steps: &'a Steps,
    weights: &'a [W],
    parameters: Parameters,
    is_reverse: bool,
    /// The size of an input vector.
    input: usize,
    /// The column of the outputs.
    column: usize,
}

impl<'a, W: Real> Direction<'a, W> {
    fn of(network: &'a Network, steps: &'a Steps, weights: &'a [W], pseudo: usize) -> Direction<'a, W> {
        let (layer, direction) = (pseudo / network.directions, pseudo % network.directions);
        let (input, column) = (network.input_of(layer), direction * network.state);
        let parameters = network.parameters(pseudo);
        Direction { network, steps, weights, parameters, is_reverse: direction == 1, input, column }
    }

    /// The time steps in the order of this direction.
    fn order(&self) -> Vec<usize> {
        let steps = 0..self.steps.count();
        if self.is_reverse { steps.rev().collect() } else { steps.collect() }
    }

    /// The sums of the gates without their inputs and states: the biases.
    fn biases(&self) -> Vec<W> {
        let mut sums = vec![W::zero(); self.network.cell_values()];
        let [input, state] = self.parameters.biases.clone().map(|range| range.map(|range| &self.weights[range]));
        for (sum, bias) in sums.iter_mut().zip(input.unwrap_or_default()) {
            *sum += *bias;
        }
        if let Some(bias) = state {
            for span in self.network.spans() {
                let sums = sums[span.column..].iter_mut();
                sums.zip(&bias[span.first..][..span.count]).for_each(|(sum, bias)| *sum += *bias);
            }
        }
        sums
    }

    /// The sums of the gates of all rows, without their states.
    fn sums(&self, input: &[W], gates: &mut [W]) {
        let (width, rows) = (self.network.cell_values(), self.network.gate_rows());
        let biases = self.biases();
        gates.chunks_mut(width).for_each(|row| row.copy_from_slice(&biases));
        match &self.parameters.input {
            Some(range) => {
                let (sizes, matrix) = ([self.steps.rows(), rows, self.input], &self.weights[range.clone()]);
                product(sizes, (input, [self.input, 1]), (matrix, [1, self.input]), W::one(), gates, width);
            }
            None => {
                for (row, input) in gates.chunks_mut(width).zip(input.chunks(self.input)) {
                    row[..rows].iter_mut().zip(input.iter().cycle()).for_each(|(sum, value)| *sum += *value);
                }
            }
        }
    }

    /// Computes all steps. The states become those after the last step of each sequence.
    fn forward(&self, input: &[W], states: [&mut [W]; 2], tape: &mut CellTape<'_, W>, output: &mut [W]) {
        let Network { mode, clip, hidden, state, .. } = *self.network;
        let (width, [before, cells]) = (self.network.cell_values(), states);
        self.sums(input, tape.gates);
        for step in self.order() {
            let rows = self.steps.range(step);
            let count = rows.len();
            let gates = &mut tape.gates[rows.start * width..rows.end * width];
            let matrix = &self.weights[self.parameters.state.clone()];
            for span in self.network.spans() {
                let (sizes, part) = ([count, span.count, state], &matrix[span.first * state..]);
                let sums = &mut gates[span.column..];
                product(sizes, (before, [state, 1]), (part, [1, state]), W::one(), sums, width);
            }
            let mut raw = vec![W::zero(); count * hidden];
            for (rank, (gates, raw)) in gates.chunks_mut(width).zip(raw.chunks_mut(hidden)).enumerate() {
                let cell = cells.chunks_mut(hidden).nth(rank).unwrap_or_default();
                cell::forward(mode, clip, gates, &before[rank * state..][..state], cell, raw);
            }
            match &self.parameters.projection {
                Some(range) => {
                    let (sizes, matrix) = ([count, state, hidden], &self.weights[range.clone()]);
                    product(sizes, (&raw, [hidden, 1]), (matrix, [1, hidden]), W::zero(), before, state);
                    tape.raw[rows.start * hidden..rows.end * hidden].copy_from_slice(&raw);
                }
                None => before[..raw.len()].copy_from_slice(&raw),
            }
            if mode == Mode::Lstm {
                tape.cells[rows.start * hidden..rows.end * hidden].copy_from_slice(&cells[..count * hidden]);
            }
            for (row, before) in rows.zip(before.chunks(state)) {
                self.output_mut(output, row).copy_from_slice(before);
            }
        }
    }

    /// The part of a row of outputs that this direction computes.
    fn output<'v>(&self, output: &'v [W], row: usize) -> &'v [W] {
        &output[row * self.network.width() + self.column..][..self.network.state]
    }

    fn output_mut<'v>(&self, output: &'v mut [W], row: usize) -> &'v mut [W] {
        &mut output[row * self.network.width() + self.column..][..self.network.state]
    }

    /// Computes the gradients of the input, which are added, and those of the states before the first step of each sequence.
    fn backward(
        &self,
        (output, of_output): (&[W], &[W]),
        initial: [&[W]; 2],
        of_states: [&mut [W]; 2],
        tape: &CellTape<'_, W>,
        gradients: &mut CellGradients<'_, W>,
        of_input: &mut [W],
    ) {
        let Network { mode, clip, hidden, state, .. } = *self.network;
        let (width, rows_of_gates) = (self.network.cell_values(), self.network.gate_rows());
        let ([hx, cx], [of_hidden, of_cells]) = (initial, of_states);
        let matrix = &self.weights[self.parameters.state.clone()];
        for step in self.order().into_iter().rev() {
            let rows = self.steps.range(step);
            let count = rows.len();
            let mut change = of_hidden[..count * state].to_vec();
            for (change, row) in change.chunks_mut(state).zip(rows.clone()) {
                change.iter_mut().zip(self.output(of_output, row)).for_each(|(sum, value)| *sum += *value);
            }
            if let Some(range) = &self.parameters.projection {
                gradients.output[rows.start * state..rows.end * state].copy_from_slice(&change);
                let mut raw = vec![W::zero(); count * hidden];
                let (sizes, matrix) = ([count, hidden, state], &self.weights[range.clone()]);
                product(sizes, (&change, [state, 1]), (matrix, [hidden, 1]), W::zero(), &mut raw, hidden);
                change = raw;
            }
            of_hidden[..count * state].fill(W::zero());
            for (rank, row) in rows.clone().enumerate() {
                let previous = self.steps.previous(step, rank, self.is_reverse);
                let cell = |row: usize| tape.cells.chunks(hidden).nth(row).unwrap_or_default();
                let first = || cx.chunks(hidden).nth(rank).unwrap_or_default();
                let known = Known {
                    gates: &tape.gates[row * width..][..width],
                    before: previous.map_or_else(|| &hx[rank * state..][..state], |row| self.output(output, row)),
                    cell_before: previous.map_or_else(first, cell),
                    cell: cell(row),
                };
                cell::backward(
                    mode,
                    clip,
                    known,
                    &change[rank * hidden..][..hidden],
                    of_cells.chunks_mut(hidden).nth(rank).unwrap_or_default(),
                    &mut of_hidden[rank * state..][..state],
                    &mut gradients.gates[row * width..][..width],
                );
            }
            let gates = &gradients.gates[rows.start * width..rows.end * width];
            for span in self.network.spans() {
                let (sizes, part) = ([count, state, span.count], &matrix[span.first * state..]);
                let gates = gates.get(span.column..).unwrap_or_default();
                product(sizes, (gates, [width, 1]), (part, [state, 1]), W::one(), of_hidden, state);
            }
        }
        match &self.parameters.input {
            Some(range) => {
                let (sizes, matrix) = ([self.steps.rows(), self.input, rows_of_gates], &self.weights[range.clone()]);
                product(
                    sizes,
                    (gradients.gates, [width, 1]),
                    (matrix, [self.input, 1]),
                    W::one(),
                    of_input,
                    self.input,
                );
            }
            None => {
                for (row, input) in gradients.gates.chunks(width).zip(of_input.chunks_mut(self.input)) {
                    for gate in row[..rows_of_gates].chunks(hidden) {
                        input.iter_mut().zip(gate).for_each(|(sum, value)| *sum += *value);
                    }
                }
            }
        }
    }

    /// Adds the gradients of the parameters.
    fn weights(
        &self,
        (input, output, hx): (&[W], &[W], &[W]),
        tape: &CellTape<'_, W>,
        gradients: &CellGradients<'_, W>,
        sums: &mut [W],
    ) {
        let Network { hidden, state, .. } = *self.network;
        let (width, rows, parameters) = (self.network.cell_values(), self.steps.rows(), &self.parameters);
        let mut before = Vec::with_capacity(rows * state);
        for step in 0..self.steps.count() {
            for rank in 0..self.steps.range(step).len() {
                before.extend_from_slice(match self.steps.previous(step, rank, self.is_reverse) {
                    Some(row) => self.output(output, row),
                    None => &hx[rank * state..][..state],
                });
            }
        }
        let gates: &[W] = gradients.gates;
        if let Some(range) = &parameters.input {
            let (sizes, sums) = ([self.network.gate_rows(), self.input, rows], &mut sums[range.clone()]);
            product(sizes, (gates, [1, width]), (input, [self.input, 1]), W::one(), sums, self.input);
        }
        for span in self.network.spans() {
            let (sizes, gates) = ([span.count, state, rows], gates.get(span.column..).unwrap_or_default());
            let sums = &mut sums[parameters.state.clone()][span.first * state..][..span.count * state];
            product(sizes, (gates, [1, width]), (&before, [state, 1]), W::one(), sums, state);
        }
        if let Some(range) = &parameters.projection {
            let (sizes, sums) = ([state, hidden, rows], &mut sums[range.clone()]);
            product(sizes, (gradients.output, [1, state]), (tape.raw, [hidden, 1]), W::one(), sums, hidden);
        }
        let [of_input, of_state] = parameters.biases.clone();
        for row in gates.chunks(width) {
            if let Some(range) = of_input.clone() {
                sums[range].iter_mut().zip(row).for_each(|(sum, value)| *sum += *value);
            }
            if let Some(range) = of_state.clone() {
                for span in self.network.spans() {
                    let sums = sums[range.clone()][span.first..][..span.count].iter_mut();
                    sums.zip(&row[span.column..]).for_each(|(sum, value)| *sum += *value);
                }
            }
        }
    }
}

/// The outputs of a network. The states become the last ones. `factor` draws the factor of an element between layers, if the tape has a place
/// for it.
pub(super) fn forward<W: Real>(
    network: &Network,
    steps: &Steps,
    weights: &[W],
    input: Vec<W>,
    states: &mut States<W>,
    tape: &mut [LayerTape<'_, W>],
    mut factor: impl FnMut() -> W,
) -> Vec<W> {
    let (mut values, all) = (input, network.pseudo_layers());
    for (layer, tape) in tape.iter_mut().enumerate() {
        let mut output = vec![W::zero(); steps.rows() * network.width()];
        for (direction, cells) in tape.directions.iter_mut().enumerate() {
            let pseudo = layer * network.directions + direction;
            let States { hidden, cells: states } = &mut *states;
            let states = [part_mut(hidden, pseudo, all), part_mut(states, pseudo, all)];
            Direction::of(network, steps, weights, pseudo).forward(&values, states, cells, &mut output);
        }
        tape.output.iter_mut().zip(&output).for_each(|(to, value)| *to = *value);
        for (kept, value) in tape.kept.iter_mut().zip(&mut output) {
            *kept = factor();
            *value = *value * *kept;
        }
        values = output;
    }
    values
}

/// The input of the layer after the one of a tape.
fn dropped<W: Real>(tape: &LayerTape<'_, W>, values: &[W]) -> Vec<W> {
    let mut values = values.to_vec();
    values.iter_mut().zip(tape.kept.iter()).for_each(|(value, kept)| *value = *value * *kept);
    values
}

/// The gradients of the inputs, from those of the outputs. `changes` are the gradients of the last states, and become those of the initial states.
pub(super) fn backward_data<W: Real>(
    network: &Network,
    steps: &Steps,
    weights: &[W],
    (output, of_output): (&[W], Vec<W>),
    initial: &States<W>,
    changes: &mut States<W>,
    tape: &[LayerTape<'_, W>],
    gradients: &mut [CellGradients<'_, W>],
) -> Vec<W> {
    let (mut change, all) = (of_output, network.pseudo_layers());
    for (layer, of_layer) in tape.iter().enumerate().rev() {
        let output = if layer + 1 == network.layers { output } else { &*of_layer.output };
        if layer + 1 < network.layers {
            change = dropped(of_layer, &change);
        }
        let mut of_input = vec![W::zero(); steps.rows() * network.input_of(layer)];
        for (direction, cells) in of_layer.directions.iter().enumerate() {
            let pseudo = layer * network.directions + direction;
            let known = [part(&initial.hidden, pseudo, all), part(&initial.cells, pseudo, all)];
            let States { hidden, cells: states } = &mut *changes;
            let of_states = [part_mut(hidden, pseudo, all), part_mut(states, pseudo, all)];
            let direction = Direction::of(network, steps, weights, pseudo);
            direction.backward((output, &change), known, of_states, cells, &mut gradients[pseudo], &mut of_input);
        }
        change = of_input;
    }
    change
}

/// Adds the gradients of the parameters to `sums`.
pub(super) fn backward_weights<W: Real>(
    network: &Network,
    steps: &Steps,
    (input, output, hidden): (Vec<W>, &[W], &[W]),
    tape: &[LayerTape<'_, W>],
    gradients: &[CellGradients<'_, W>],
    sums: &mut [W],
) {
    let mut values = input;
    for (layer, of_layer) in tape.iter().enumerate() {
        let output = if layer + 1 == network.layers { output } else { &*of_layer.output };
        for (direction, cells) in of_layer.directions.iter().enumerate() {
            let pseudo = layer * network.directions + direction;
            let hx = part(hidden, pseudo, network.pseudo_layers());
            let known = (&values[..], output, hx);
            Direction::of(network, steps, &[], pseudo).weights(known, cells, &gradients[pseudo], sums);
        }
        values = dropped(of_layer, output);
    }
}
