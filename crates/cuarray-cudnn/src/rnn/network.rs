//! The sizes of a network, and the places of its parameters in the weight space.

use crate::status::{NOT_SUPPORTED, Outcome};
use std::ops::Range;

/// The largest number of parameters.
const MOST_PARAMETERS: u128 = 1 << 40;

/// `cudnnRNNMode_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Relu,
    Tanh,
    Lstm,
    Gru,
}

/// The bounds of the state of an LSTM cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Clip {
    pub(super) bounds: [f64; 2],
    pub(super) keeps_nan: bool,
}

/// A network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Network {
    pub(super) mode: Mode,
    /// Whether there are biases of the input and of the recurrent state.
    pub(super) biases: [bool; 2],
    pub(super) directions: usize,
    /// Whether the first layer adds its input to each gate, without a matrix.
    pub(super) skips: bool,
    /// The size of an input vector.
    pub(super) input: usize,
    pub(super) hidden: usize,
    /// The size of the recurrent state: `hidden`, or that of the projection.
    pub(super) state: usize,
    pub(super) layers: usize,
    pub(super) clip: Option<Clip>,
}

/// Rows of the recurrent matrix and the column of a cell's gates that they compute.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) column: usize,
}

/// The places of the parameters of a pseudo-layer, which is one direction of a layer. The gates lie one after the other.
#[derive(Clone, Debug)]
pub(super) struct Parameters {
    pub(super) input: Option<Range<usize>>,
    pub(super) state: Range<usize>,
    pub(super) projection: Option<Range<usize>>,
    pub(super) biases: [Option<Range<usize>>; 2],
}

impl Network {
    /// The gates, each with a matrix for the input and one for the state.
    pub(super) fn gates(&self) -> usize {
        match self.mode {
            Mode::Relu | Mode::Tanh => 1,
            Mode::Lstm => 4,
            Mode::Gru => 3,
        }
    }

    /// The rows of a matrix for all gates.
    pub(super) fn gate_rows(&self) -> usize {
        self.gates() * self.hidden
    }

    /// The values of a cell at one time step. A GRU has one more than gates: the recurrent part of its new state.
    pub(super) fn cell_values(&self) -> usize {
        self.gate_rows() + if self.mode == Mode::Gru { self.hidden } else { 0 }
    }

    pub(super) fn projects(&self) -> bool {
        self.state != self.hidden
    }

    /// The elements of the outputs of both directions.
    pub(super) fn width(&self) -> usize {
        self.directions * self.state
    }

    pub(super) fn pseudo_layers(&self) -> usize {
        self.directions * self.layers
    }

    /// The elements of the input of a layer.
    pub(super) fn input_of(&self, layer: usize) -> usize {
        if layer == 0 { self.input } else { self.width() }
    }

    /// The parts of the recurrent matrix.
    pub(super) fn spans(&self) -> Vec<Span> {
        let hidden = self.hidden;
        match self.mode {
            Mode::Gru => vec![
                Span { first: 0, count: 2 * hidden, column: 0 },
                Span { first: 2 * hidden, count: hidden, column: 3 * hidden },
            ],
            _ => vec![Span { first: 0, count: self.gate_rows(), column: 0 }],
        }
    }

    /// Checks that the parameters of all layers can be counted.
    pub(super) fn check(&self) -> Outcome {
        let wide = |size: usize| size as u128;
        let columns = wide(self.input).max(wide(self.width())) + wide(self.state) + 2;
        let one = wide(self.gate_rows()) * columns + wide(self.state) * wide(self.hidden);
        if one * wide(self.pseudo_layers()) > MOST_PARAMETERS { Err(NOT_SUPPORTED) } else { Ok(()) }
    }

    /// The elements of the matrices of a pseudo-layer: input, state and projection.
    fn matrices(&self, layer: usize) -> [usize; 3] {
        let input = if layer == 0 && self.skips { 0 } else { self.gate_rows() * self.input_of(layer) };
        let projection = if self.projects() { self.state * self.hidden } else { 0 };
        [input, self.gate_rows() * self.state, projection]
    }

    fn biases_of_layer(&self) -> usize {
        self.biases.iter().filter(|is_there| **is_there).count() * self.gate_rows()
    }

    /// The place of the first matrix of a pseudo-layer. All matrices lie before all biases, as JAX expects.
    fn first_matrix(&self, pseudo: usize) -> usize {
        let [first, others] = [0, 1].map(|layer| self.matrices(layer).iter().sum::<usize>());
        first * pseudo.min(self.directions) + others * pseudo.saturating_sub(self.directions)
    }

    /// The number of parameters.
    pub(super) fn count(&self) -> usize {
        self.first_matrix(self.pseudo_layers()) + self.biases_of_layer() * self.pseudo_layers()
    }

    /// The places of the parameters of a pseudo-layer.
    pub(super) fn parameters(&self, pseudo: usize) -> Parameters {
        let mut at = self.first_matrix(pseudo);
        let mut next = |size: usize| {
            at += size;
            at - size..at
        };
        let [input, state, projection] = self.matrices(pseudo / self.directions).map(&mut next);
        at = self.first_matrix(self.pseudo_layers()) + self.biases_of_layer() * pseudo;
        let biases = self.biases.map(|is_there| {
            at += if is_there { self.gate_rows() } else { 0 };
            is_there.then(|| at - self.gate_rows()..at)
        });
        let present = |range: Range<usize>| if range.is_empty() { None } else { Some(range) };
        Parameters { input: present(input), state, projection: present(projection), biases }
    }
}
