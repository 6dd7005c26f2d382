//! The loss of connectionist temporal classification and its gradient, with labels on the host.

use crate::call::Call;
use crate::descriptor_table::descriptors;
use crate::handle::Handle;
use crate::layout::{Layout, packed};
use crate::numbers::{Factors, Type};
use crate::status::{BAD_PARAM, NOT_SUPPORTED, Outcome, cudnnStatus_t, write};
use crate::tensor_descriptor::tensor;
use crate::types::*;
use cuarray_stream_work::read;
use std::ffi::{c_int, c_void};

/// The settings of a loss.
#[derive(Clone, Copy, Debug)]
struct Loss {
    compute: cudnnDataType_t,
    /// `cudnnLossNormalizationMode_t`: 1 for a softmax of what is given.
    normalization: c_int,
    nan: cudnnNanPropagation_t,
    /// `cudnnCTCGradMode_t`: 1 to leave the gradients of a sample without any path as they are.
    gradients: c_int,
    longest: c_int,
}

descriptors!(CtcLoss LOSSES: Loss = Loss { compute: 0, normalization: 0, nan: 0, gradients: 0, longest: 0 }, create destroy);

fn describe(number: cudnnCTCLossDescriptor_t, loss: Loss) -> Outcome {
    LOSSES.get(number)?;
    let choices = [loss.normalization, loss.nan, loss.gradients];
    if choices.iter().any(|choice| !(0..=1).contains(choice)) || loss.longest < 0 {
        return Err(BAD_PARAM);
    }
    match Type::of(loss.compute)? {
        Type::Float => LOSSES.set(number, loss),
        _ => Err(NOT_SUPPORTED),
    }
}

/// `cudnnSetCTCLossDescriptor`.
pub(crate) fn set(number: cudnnCTCLossDescriptor_t, compute: cudnnDataType_t) -> Outcome {
    describe(number, Loss { compute, normalization: 0, nan: 0, gradients: 0, longest: 0 })
}

/// `cudnnSetCTCLossDescriptorEx`.
pub(crate) fn set_extended(
    number: cudnnCTCLossDescriptor_t,
    compute: cudnnDataType_t,
    normalization: c_int,
    nan: cudnnNanPropagation_t,
) -> Outcome {
    describe(number, Loss { compute, normalization, nan, gradients: 0, longest: 0 })
}

/// `cudnnSetCTCLossDescriptor_v8`.
pub(crate) fn set_8(
    number: cudnnCTCLossDescriptor_t,
    compute: cudnnDataType_t,
    normalization: c_int,
    nan: cudnnNanPropagation_t,
    longest: c_int,
) -> Outcome {
    describe(number, Loss { compute, normalization, nan, gradients: 0, longest })
}

/// `cudnnSetCTCLossDescriptor_v9`.
pub(crate) fn set_9(
    number: cudnnCTCLossDescriptor_t,
    compute: cudnnDataType_t,
    normalization: c_int,
    gradients: c_int,
    longest: c_int,
) -> Outcome {
    describe(number, Loss { compute, normalization, nan: 0, gradients, longest })
}

/// `cudnnGetCTCLossDescriptor`.
pub(crate) fn get(number: cudnnCTCLossDescriptor_t, compute: *mut cudnnDataType_t) -> Outcome {
    write(compute, LOSSES.get(number)?.compute)
}

/// `cudnnGetCTCLossDescriptorEx`.
pub(crate) fn get_extended(
    number: cudnnCTCLossDescriptor_t,
    compute: *mut cudnnDataType_t,
    normalization: *mut c_int,
    nan: *mut cudnnNanPropagation_t,
) -> Outcome {
    let known = LOSSES.get(number)?;
    write(compute, known.compute)?;
    write(normalization, known.normalization)?;
    write(nan, known.nan)
}

/// `cudnnGetCTCLossDescriptor_v8`.
pub(crate) fn get_8(
    number: cudnnCTCLossDescriptor_t,
    compute: *mut cudnnDataType_t,
    normalization: *mut c_int,
    nan: *mut cudnnNanPropagation_t,
    longest: *mut c_int,
) -> Outcome {
    get_extended(number, compute, normalization, nan)?;
    write(longest, LOSSES.get(number)?.longest)
}

/// `cudnnGetCTCLossDescriptor_v9`.
pub(crate) fn get_9(
    number: cudnnCTCLossDescriptor_t,
    compute: *mut cudnnDataType_t,
    normalization: *mut c_int,
    gradients: *mut c_int,
    longest: *mut c_int,
) -> Outcome {
    let known = LOSSES.get(number)?;
    write(compute, known.compute)?;
    write(normalization, known.normalization)?;
    write(gradients, known.gradients)?;
    write(longest, known.longest)
}

/// A sample: its labels, and the number of its time steps.
#[derive(Clone, Debug)]
struct Sample {
    labels: Vec<usize>,
    steps: usize,
}

impl Sample {
    /// Whether there is a path: equal labels need a blank between them.
    fn has_path(&self) -> bool {
        let repeats = self.labels.windows(2).filter(|pair| pair[0] == pair[1]).count();
        self.labels.len() + repeats <= self.steps
    }
}

/// The sizes of a call, and its samples.
fn samples(
    probabilities: &Layout,
    labels: *const c_int,
    label_lengths: *const c_int,
    input_lengths: *const c_int,
) -> Outcome<Vec<Sample>> {
    let [steps, count, alphabet] = probabilities.dims[..] else { return Err(BAD_PARAM) };
    let sizes = |at: *const c_int, most: usize| -> Outcome<Vec<usize>> {
        let size = |size: c_int| usize::try_from(size).ok().filter(|size| *size <= most).ok_or(BAD_PARAM);
        read::<c_int, cudnnStatus_t>(at, count)?.into_iter().map(size).collect()
    };
    // cuDNN's limit of labels is 256.
    let (lengths, inputs) = (sizes(label_lengths, 256)?, sizes(input_lengths, steps)?);
    let all = lengths.iter().sum();
    let labels = if all == 0 { Vec::new() } else { read::<c_int, cudnnStatus_t>(labels, all)? };
    let label =
        |label: &c_int| usize::try_from(*label).ok().filter(|label| (1..alphabet).contains(label)).ok_or(BAD_PARAM);
    let labels = labels.iter().map(label).collect::<Outcome<Vec<_>>>()?;
    let mut rest = &labels[..];
    let sample = |(length, steps): (usize, usize)| {
        let (labels, others) = rest.split_at(length);
        rest = others;
        Sample { labels: labels.to_vec(), steps }
    };
    Ok(lengths.into_iter().zip(inputs).map(sample).collect())
}

/// The checked arguments of a call.
fn checked(
    probabilities: &Layout,
    gradients: Option<&Layout>,
    algorithm: c_int,
    loss: Loss,
    samples: &[Sample],
) -> Outcome {
    if !(0..=1).contains(&algorithm) || gradients.is_some_and(|gradients| gradients.dims != probabilities.dims) {
        return Err(BAD_PARAM);
    }
    let all = [Some(probabilities), gradients];
    let is_single = all.iter().flatten().all(|layout| layout.kind == Type::Float);
    // A call writes all gradients or none.
    let keeps = loss.gradients == 1 && samples.iter().any(|sample| !sample.has_path());
    if !is_single || keeps { Err(NOT_SUPPORTED) } else { Ok(()) }
}

/// `cudnnGetCTCLossWorkspaceSize`: none is needed.
pub(crate) fn workspace_size(
    _: &Handle,
    probabilities: cudnnTensorDescriptor_t,
    gradients: cudnnTensorDescriptor_t,
    labels: *const c_int,
    label_lengths: *const c_int,
    input_lengths: *const c_int,
    algorithm: c_int,
    loss: cudnnCTCLossDescriptor_t,
    to: *mut usize,
) -> Outcome {
    let of_probabilities = tensor(probabilities)?;
    let of_gradients = if gradients == 0 { None } else { Some(tensor(gradients)?) };
    let samples = samples(&of_probabilities, labels, label_lengths, input_lengths)?;
    checked(&of_probabilities, of_gradients.as_ref(), algorithm, LOSSES.get(loss)?, &samples)?;
    write(to, 0)
}

/// The logarithm of a sum of two numbers, from their logarithms.
fn sum(a: f64, b: f64) -> f64 {
    let (small, large) = (a.min(b), a.max(b));
    if small == f64::NEG_INFINITY { large } else { large + (small - large).exp().ln_1p() }
}

/// The cost of a sample, and the expected number of each symbol at each step. `log` is the logarithm of the probability of a symbol at a step.
fn paths(sample: &Sample, alphabet: usize, log: impl Fn(usize, usize) -> f64) -> (f64, Vec<f64>) {
    let (steps, states) = (sample.steps, 2 * sample.labels.len() + 1);
    let mut expected = vec![0.0; steps * alphabet];
    if steps == 0 {
        return (if sample.labels.is_empty() { 0.0 } else { f64::INFINITY }, expected);
    }
    // Between the labels and around them there are blanks, which are symbol 0.
    let symbol = |state: usize| if state.is_multiple_of(2) { 0 } else { sample.labels[state / 2] };
    // A blank between labels that differ can be left out.
    let skips = |state: usize| state >= 2 && symbol(state) != 0 && symbol(state) != symbol(state - 2);
    let none = f64::NEG_INFINITY;
    let (mut before, mut after) = (vec![none; steps * states], vec![none; steps * states]);
    for state in 0..states.min(2) {
        before[state] = log(0, symbol(state));
        after[steps * states - 1 - state] = 0.0;
    }
    for step in 1..steps {
        let (known, next) = before.split_at_mut(step * states);
        let known = &known[(step - 1) * states..];
        for state in 0..states {
            let mut all = known[state];
            if state >= 1 {
                all = sum(all, known[state - 1]);
            }
            if skips(state) {
                all = sum(all, known[state - 2]);
            }
            next[state] = all + log(step, symbol(state));
        }
    }
    for step in (0..steps - 1).rev() {
        for state in 0..states {
            let follows = |to: usize| after[(step + 1) * states + to] + log(step + 1, symbol(to));
            let mut all = follows(state);
            if state + 1 < states {
                all = sum(all, follows(state + 1));
            }
            if state + 2 < states && skips(state + 2) {
                all = sum(all, follows(state + 2));
            }
            after[step * states + state] = all;
        }
    }
    let last = &before[(steps - 1) * states..];
    let total = last[states.saturating_sub(2)..].iter().copied().fold(none, sum);
    if total > none {
        for (index, (before, after)) in before.iter().zip(&after).enumerate() {
            expected[index / states * alphabet + symbol(index % states)] += (before + after - total).exp();
        }
    }
    (-total, expected)
}

/// `cudnnCTCLoss`. The gradients are those of the values before the softmax, with both normalizations.
pub(crate) fn loss(
    handle: &Handle,
    probs_desc: cudnnTensorDescriptor_t,
    probs: *const c_void,
    labels: *const c_int,
    label_lengths: *const c_int,
    input_lengths: *const c_int,
    costs: *mut c_void,
    gradients_desc: cudnnTensorDescriptor_t,
    gradients: *mut c_void,
    algorithm: c_int,
    descriptor: cudnnCTCLossDescriptor_t,
    _: *mut c_void,
    _: usize,
) -> Outcome {
    let (loss, of_probs) = (LOSSES.get(descriptor)?, tensor(probs_desc)?);
    let of_gradients = if gradients.is_null() { None } else { Some(tensor(gradients_desc)?) };
    let samples = samples(&of_probs, labels, label_lengths, input_lengths)?;
    checked(&of_probs, of_gradients.as_ref(), algorithm, loss, &samples)?;
    let [steps, count, alphabet] = of_probs.dims[..] else { return Err(BAD_PARAM) };
    let of_costs = Layout::new(Type::Float, vec![count], packed(&[count]))?;
    let mut call = Call::of(handle);
    let probs = call.reads(c"probs", &of_probs, probs)?;
    let costs = call.writes(c"costs", &of_costs, costs, Factors::<f32>::result())?;
    let gradients = match &of_gradients {
        Some(layout) => Some(call.writes(c"gradients", layout, gradients, Factors::<f32>::result())?),
        None => None,
    };
    call.computes(move |data| {
        let mut logs: Vec<f64> = probs.values::<f32>(data).into_iter().map(f64::from).collect();
        for row in logs.chunks_mut(alphabet) {
            if loss.normalization == 1 {
                let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let total = largest + row.iter().map(|value| (value - largest).exp()).sum::<f64>().ln();
                row.iter_mut().for_each(|value| *value -= total);
            } else {
                row.iter_mut().for_each(|value| *value = value.ln());
            }
        }
        let (mut all_costs, mut all_gradients) = (vec![0.0_f32; count], vec![0.0_f32; steps * count * alphabet]);
        for (number, sample) in samples.iter().enumerate() {
            let at = |step: usize, symbol: usize| (step * count + number) * alphabet + symbol;
            let (cost, expected) = paths(sample, alphabet, |step, symbol| logs[at(step, symbol)]);
            all_costs[number] = cost as f32;
            if sample.has_path() {
                for (index, expected) in expected.iter().enumerate() {
                    let at = at(index / alphabet, index % alphabet);
                    all_gradients[at] = (logs[at].exp() - expected) as f32;
                }
            }
        }
        costs.store::<f32>(data, &all_costs);
        if let Some(gradients) = &gradients {
            gradients.store::<f32>(data, &all_gradients);
        }
    })
}
