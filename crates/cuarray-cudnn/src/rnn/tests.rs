//! The passes compared with the equations of cuDNN's manual for one sequence and one element at a time, and with differences of these.

use super::engine::{States, backward_data, backward_weights, forward};
use super::network::{Clip, Mode, Network};
use super::steps::Steps;

const LENGTHS: [usize; 4] = [2, 4, 0, 3];

/// Vectors of the steps of sequences, or of the sequences of pseudo-layers.
type Vectors = Vec<Vec<Vec<f64>>>;

/// The first elements of the matrices of a pseudo-layer (input, state and projection), and of its biases.
type Places = (Option<usize>, usize, Option<usize>, [Option<usize>; 2]);

/// A network with its sequences, all numbers of a call, and the factors of the loss whose gradients are compared.
#[derive(Clone)]
struct Case {
    network: Network,
    weights: Vec<f64>,
    /// The vectors of each sequence.
    x: Vectors,
    /// The states of each pseudo-layer and sequence: hidden, and of cells.
    states: [Vectors; 2],
    /// The factors of the elements between layers, by layer, sequence, step and element.
    kept: Vec<Vectors>,
}

/// Numbers between -0.8 and 0.8 without a pattern.
fn numbers(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|index| (((index + 1) * (2 * seed + 7919) % 1009) as f64 / 1009.0 - 0.5) * 1.6).collect()
}

fn vectors(counts: &[usize], width: usize, seed: usize) -> Vectors {
    let vector = |count: usize, at: usize| (0..count).map(|step| numbers(width, seed + 31 * at + 7 * step)).collect();
    counts.iter().enumerate().map(|(at, count)| vector(*count, at)).collect()
}

impl Case {
    fn new(network: Network, drops: bool) -> Case {
        let batches = vec![LENGTHS.len(); network.pseudo_layers()];
        let factor = |value: &f64| {
            if !drops {
                1.0
            } else if *value < -0.3 {
                0.0
            } else {
                1.5
            }
        };
        let kept = (1..network.layers).map(|layer| {
            let factors = vectors(&LENGTHS, network.width(), 500 + layer);
            factors
                .iter()
                .map(|sequence| sequence.iter().map(|row| row.iter().map(factor).collect()).collect())
                .collect()
        });
        Case {
            weights: numbers(network.count(), 3),
            x: vectors(&LENGTHS, network.input, 11),
            states: [vectors(&batches, network.state, 21), vectors(&batches, network.hidden, 41)],
            kept: kept.collect(),
            network,
        }
    }

    /// The places of all parameters in the order that JAX documents: all matrices, then all biases.
    fn places(&self, gates: usize) -> Vec<Places> {
        let net = &self.network;
        let (hidden, state, width) = (net.hidden, net.state, net.directions * net.state);
        let mut places = Vec::new();
        let mut at = 0;
        for layer in 0..net.layers {
            let columns = if layer == 0 { net.input } else { width };
            for _ in 0..net.directions {
                let matrix = if layer == 0 && net.skips { None } else { Some(at) };
                at += matrix.map_or(0, |_| gates * hidden * columns);
                let recurrent = at;
                at += gates * hidden * state;
                let projection = if state == hidden { None } else { Some(at) };
                at += projection.map_or(0, |_| state * hidden);
                places.push((matrix, recurrent, projection, [None, None]));
            }
        }
        for place in &mut places {
            for (bias, is_there) in place.3.iter_mut().zip(net.biases) {
                *bias = is_there.then_some(at);
                at += if is_there { gates * hidden } else { 0 };
            }
        }
        assert_eq!(at, self.weights.len());
        places
    }

    /// The outputs of each sequence, and the last states, by the equations of the manual.
    fn expected(&self) -> (Vectors, [Vectors; 2]) {
        let net = &self.network;
        let gates = match net.mode {
            Mode::Relu | Mode::Tanh => 1,
            Mode::Lstm => 4,
            Mode::Gru => 3,
        };
        let (hidden, state, width) = (net.hidden, net.state, net.directions * net.state);
        let places = self.places(gates);
        let weight = |place: usize| self.weights[place];
        let sigmoid = |value: f64| 1.0 / (1.0 + (-value).exp());
        let (mut input, mut last) = (self.x.clone(), self.states.clone());
        for layer in 0..net.layers {
            let columns = if layer == 0 { net.input } else { width };
            let mut output: Vectors = LENGTHS.iter().map(|length| vec![vec![0.0; width]; *length]).collect();
            for direction in 0..net.directions {
                let pseudo = layer * net.directions + direction;
                let (matrix, recurrent, projection, biases) = places[pseudo];
                for (sequence, length) in LENGTHS.into_iter().enumerate() {
                    let mut h = self.states[0][pseudo][sequence].clone();
                    let mut c = self.states[1][pseudo][sequence].clone();
                    for step in 0..length {
                        let step = if direction == 1 { length - 1 - step } else { step };
                        let x = &input[sequence][step];
                        let of_input = |gate: usize, unit: usize| {
                            let row = gate * hidden + unit;
                            let product = match matrix {
                                Some(start) => (0..columns).map(|k| weight(start + row * columns + k) * x[k]).sum(),
                                None => x[unit],
                            };
                            product + biases[0].map_or(0.0, |start| weight(start + row))
                        };
                        let of_state = |gate: usize, unit: usize| {
                            let row = gate * hidden + unit;
                            let product: f64 = (0..state).map(|k| weight(recurrent + row * state + k) * h[k]).sum();
                            product + biases[1].map_or(0.0, |start| weight(start + row))
                        };
                        let sum = |gate: usize, unit: usize| of_input(gate, unit) + of_state(gate, unit);
                        let mut cell = |unit: usize| match net.mode {
                            Mode::Relu => sum(0, unit).max(0.0),
                            Mode::Tanh => sum(0, unit).tanh(),
                            Mode::Lstm => {
                                c[unit] = sigmoid(sum(1, unit)) * c[unit] + sigmoid(sum(0, unit)) * sum(2, unit).tanh();
                                if let Some(clip) = net.clip {
                                    c[unit] = c[unit].clamp(clip.bounds[0], clip.bounds[1]);
                                }
                                sigmoid(sum(3, unit)) * c[unit].tanh()
                            }
                            Mode::Gru => {
                                let (reset, update) = (sigmoid(sum(0, unit)), sigmoid(sum(1, unit)));
                                let new = (of_input(2, unit) + reset * of_state(2, unit)).tanh();
                                (1.0 - update) * new + update * h[unit]
                            }
                        };
                        let raw: Vec<f64> = (0..hidden).map(&mut cell).collect();
                        h = match projection {
                            None => raw,
                            Some(start) => (0..state)
                                .map(|row| (0..hidden).map(|k| weight(start + row * hidden + k) * raw[k]).sum())
                                .collect(),
                        };
                        output[sequence][step][direction * state..][..state].copy_from_slice(&h);
                    }
                    last[0][pseudo][sequence] = h;
                    last[1][pseudo][sequence] = c;
                }
            }
            if layer + 1 < net.layers {
                for (sequence, rows) in output.iter_mut().enumerate() {
                    for (step, row) in rows.iter_mut().enumerate() {
                        row.iter_mut().zip(&self.kept[layer][sequence][step]).for_each(|(value, kept)| *value *= kept);
                    }
                }
            }
            input = output;
        }
        (input, last)
    }

    /// A sum of all results with factors, in which results without a meaning have no part.
    fn loss(&self) -> f64 {
        let (output, last) = self.expected();
        let [of_output, of_hidden, of_cells] = self.factors();
        let weighted = |values: &[Vec<Vec<f64>>], factors: &[Vec<Vec<f64>>]| -> f64 {
            let pairs = values.iter().flatten().flatten().zip(factors.iter().flatten().flatten());
            pairs.map(|(value, factor)| value * factor).sum()
        };
        let of_cells = if self.network.mode == Mode::Lstm { weighted(&last[1], &of_cells) } else { 0.0 };
        weighted(&output, &of_output) + weighted(&last[0], &of_hidden) + of_cells
    }

    fn factors(&self) -> [Vectors; 3] {
        let batches = vec![LENGTHS.len(); self.network.pseudo_layers()];
        let Network { state, hidden, .. } = self.network;
        [vectors(&LENGTHS, self.network.width(), 61), vectors(&batches, state, 71), vectors(&batches, hidden, 81)]
    }

    /// The numbers whose gradients are compared.
    fn numbers_mut(&mut self) -> Vec<&mut f64> {
        let [hidden, cells] = &mut self.states;
        let cells = if self.network.mode == Mode::Lstm { &mut cells[..] } else { &mut [] };
        let states = hidden.iter_mut().chain(cells).flatten().flatten();
        self.x.iter_mut().flatten().flatten().chain(&mut self.weights).chain(states).collect()
    }
}

/// The vectors of sequences in the order of rows.
fn rows(steps: &Steps, values: &[Vec<Vec<f64>>]) -> Vec<f64> {
    let step = |step: usize| {
        let count = steps.range(step).len();
        steps.order[..count].iter().flat_map(move |sequence| values[*sequence][step].iter().copied())
    };
    (0..steps.count()).flat_map(step).collect()
}

fn flat(values: &[Vec<Vec<f64>>]) -> Vec<f64> {
    values.iter().flatten().flatten().copied().collect()
}

fn states(case: &Case, steps: &Steps, [hidden, cells]: [&[Vec<Vec<f64>>]; 2]) -> States<f64> {
    let cells = if case.network.mode == Mode::Lstm { flat(cells) } else { Vec::new() };
    States { hidden: steps.ranked(&flat(hidden), case.network.state), cells: steps.ranked(&cells, case.network.hidden) }
}

fn close(found: &[f64], expected: &[f64], tolerance: f64, case: &Case) {
    assert_eq!(found.len(), expected.len());
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= tolerance, "{index}: {found} is not {expected}: {:?}", case.network);
    }
}

/// Compares both passes of a network with the equations.
fn compare(network: Network, drops: bool) {
    let mut case = Case::new(network, drops);
    let steps = Steps::of(&LENGTHS);
    let mut kept = vec![0.0; network.tape_width(drops) * steps.rows()];
    let mut tape = network.tape(steps.rows(), drops, &mut kept);
    let initial = states(&case, &steps, [&case.states[0], &case.states[1]]);
    let (mut last, x) = (initial.clone(), rows(&steps, &case.x));
    let mut factors = case.kept.iter().flat_map(|layer| rows(&steps, layer)).collect::<Vec<_>>().into_iter();
    let draw = || factors.next().expect("as many factors as elements");
    let output = forward(&network, &steps, &case.weights, x.clone(), &mut last, &mut tape, draw);
    let (expected, expected_last) = case.expected();
    close(&output, &rows(&steps, &expected), 1e-12, &case);
    let expected_last = states(&case, &steps, [&expected_last[0], &expected_last[1]]);
    close(&last.hidden, &expected_last.hidden, 1e-12, &case);
    close(&last.cells, &expected_last.cells, 1e-12, &case);

    let [of_output, of_hidden, of_cells] = case.factors();
    let mut changes = states(&case, &steps, [&of_hidden, &of_cells]);
    let mut memory = vec![0.0; network.gradient_width() * steps.rows()];
    let mut gradients = network.gradients(steps.rows(), &mut memory);
    let outputs = (&output[..], rows(&steps, &of_output));
    let of_x = backward_data(&network, &steps, &case.weights, outputs, &initial, &mut changes, &tape, &mut gradients);
    // The gradients of weights are added to what is there.
    let mut sums = vec![2.0; case.weights.len()];
    backward_weights(&network, &steps, (x, &output, &initial.hidden), &tape, &gradients, &mut sums);
    sums.iter_mut().for_each(|sum| *sum -= 2.0);

    let count = case.numbers_mut().len();
    let difference = |index: usize, case: &mut Case| {
        let mut at = |change: f64| {
            *case.numbers_mut()[index] += change;
            let loss = case.loss();
            *case.numbers_mut()[index] -= change;
            loss
        };
        (at(1e-5) - at(-1e-5)) / 2e-5
    };
    let differences: Vec<f64> = (0..count).map(|index| difference(index, &mut case)).collect();
    let mut at = 0;
    let mut next = |size: usize| {
        at += size;
        &differences[at - size..at]
    };
    let of_inputs: usize = LENGTHS.iter().sum::<usize>() * network.input;
    let mut by_sequence = next(of_inputs).iter().copied();
    let take = |length: &usize| (0..*length).map(|_| by_sequence.by_ref().take(network.input).collect()).collect();
    let by_sequence: Vectors = LENGTHS.iter().map(take).collect();
    close(&of_x, &rows(&steps, &by_sequence), 1e-8, &case);
    close(&sums, next(case.weights.len()), 1e-8, &case);
    let hidden = next(network.pseudo_layers() * LENGTHS.len() * network.state);
    close(&changes.hidden, &steps.ranked(hidden, network.state), 1e-8, &case);
    let cells = next(changes.cells.len());
    close(&changes.cells, &steps.ranked(cells, network.hidden), 1e-8, &case);
}

fn network(mode: Mode) -> Network {
    Network {
        mode,
        biases: [true, true],
        directions: 1,
        skips: false,
        input: 2,
        hidden: 3,
        state: 3,
        layers: 1,
        clip: None,
    }
}

const MODES: [Mode; 4] = [Mode::Relu, Mode::Tanh, Mode::Lstm, Mode::Gru];

#[test]
fn all_cells_with_all_biases_follow_the_equations() {
    for mode in MODES {
        for biases in [[false, false], [true, false], [false, true], [true, true]] {
            compare(Network { biases, ..network(mode) }, false);
        }
    }
}

#[test]
fn directions_and_layers_with_dropout_follow_the_equations() {
    for mode in MODES {
        compare(Network { directions: 2, layers: 2, ..network(mode) }, false);
        compare(Network { directions: 2, layers: 3, ..network(mode) }, true);
    }
}

#[test]
fn input_without_a_matrix_is_added_to_each_gate() {
    for mode in MODES {
        compare(Network { skips: true, input: 3, directions: 2, layers: 2, ..network(mode) }, false);
    }
}

#[test]
fn projections_and_bounds_of_an_lstm_follow_the_equations() {
    compare(Network { state: 2, ..network(Mode::Lstm) }, false);
    compare(Network { state: 2, directions: 2, layers: 2, ..network(Mode::Lstm) }, true);
    let clip = Some(Clip { bounds: [-0.3, 0.25], keeps_nan: true });
    compare(Network { clip, state: 1, directions: 2, layers: 2, ..network(Mode::Lstm) }, false);
}

#[test]
fn nan_becomes_a_bound_only_if_it_is_not_kept() {
    for (keeps_nan, is_nan) in [(true, true), (false, false)] {
        let clip = Some(Clip { bounds: [-1.0, 1.0], keeps_nan });
        let (network, steps) = (Network { clip, ..network(Mode::Lstm) }, Steps::of(&[1]));
        let weights = vec![0.1; network.count()];
        let mut kept = vec![0.0; network.tape_width(false)];
        let mut states = States::zero(&network, 1);
        let mut tape = network.tape(1, false, &mut kept);
        states.cells[0] = f64::NAN;
        let output = forward(&network, &steps, &weights, vec![0.0; 2], &mut states, &mut tape, || 1.0);
        assert_eq!([output[0].is_nan(), output[1].is_nan()], [is_nan, false]);
    }
}

#[test]
fn parameters_fill_the_weight_space_without_gaps() {
    for mode in MODES {
        for (state, skips) in [(3, false), (2, false), (3, true)] {
            let network = Network { state, skips, input: 3, directions: 2, layers: 3, ..network(mode) };
            let all: Vec<_> = (0..network.pseudo_layers()).map(|pseudo| network.parameters(pseudo)).collect();
            let matrices = all.iter().flat_map(|of| [of.input.clone(), Some(of.state.clone()), of.projection.clone()]);
            let biases = all.iter().flat_map(|of| of.biases.clone());
            let end = matrices.chain(biases).flatten().fold(0, |end, range| {
                assert_eq!(range.start, end);
                range.end
            });
            assert_eq!(end, network.count());
        }
    }
}

#[test]
fn steps_rank_sequences_from_the_longest() {
    let steps = Steps::of(&LENGTHS);
    assert_eq!((steps.count(), steps.rows(), &steps.order[..]), (4, 9, &[1, 3, 0, 2][..]));
    assert_eq!((0..4).map(|step| steps.range(step)).collect::<Vec<_>>(), [0..3, 3..6, 6..8, 8..9]);
    assert_eq!([steps.previous(1, 2, false), steps.previous(0, 0, false)], [Some(2), None]);
    assert_eq!(
        [steps.previous(1, 2, true), steps.previous(1, 1, true), steps.previous(3, 0, true)],
        [None, Some(7), None]
    );
    let values: Vec<usize> = (0..16).collect();
    assert_eq!(steps.unranked(&steps.ranked(&values, 2), 2), values);
}
