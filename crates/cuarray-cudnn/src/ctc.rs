//! The loss of connectionist temporal classification and its gradient, with labels on the host or on the device.

use crate::call::Call;
use crate::ctc_paths::{Sample, logarithms, paths};
use crate::descriptor_table::descriptors;
use crate::handle::Handle;
use crate::layout::{Layout, packed};
use crate::numbers::{Factors, Type};
use crate::status::{BAD_PARAM, NOT_SUPPORTED, Outcome, cudnnStatus_t, write};
use crate::tensor_descriptor::tensor;
use crate::types::*;
use cuarray_stream_work::{Counted, Data, Integers, read};
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

/// The largest number of labels of a sample.
const MOST_LABELS: usize = 256;

/// The samples of a call.
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
    let (lengths, inputs) = (sizes(label_lengths, MOST_LABELS)?, sizes(input_lengths, steps)?);
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
    let tensors = Tensors::of(probabilities, Some(gradients).filter(|number| *number != 0), algorithm)?;
    samples(&tensors.probs, labels, label_lengths, input_lengths)?;
    LOSSES.get(loss)?;
    write(to, 0)
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
    let tensors = Tensors::of(probs_desc, Some(gradients_desc).filter(|_| !gradients.is_null()), algorithm)?;
    let (loss, samples) = (LOSSES.get(descriptor)?, samples(&tensors.probs, labels, label_lengths, input_lengths)?);
    let samples: Vec<_> = samples.into_iter().map(Some).collect();
    tensors.enqueue(Call::of(handle), loss, probs, costs, gradients, move |_| samples.clone())
}

/// The bytes of the workspace of a loss with labels on the device, for the number of all labels.
const WORKSPACE: usize = 4;

/// `cudnnGetCTCLossWorkspaceSize_v8`.
pub(crate) fn workspace_size_8(
    _: &Handle,
    algorithm: c_int,
    loss: cudnnCTCLossDescriptor_t,
    probabilities: cudnnTensorDescriptor_t,
    gradients: cudnnTensorDescriptor_t,
    to: *mut usize,
) -> Outcome {
    Tensors::of(probabilities, Some(gradients).filter(|number| *number != 0), algorithm)?;
    LOSSES.get(loss)?;
    write(to, WORKSPACE)
}

/// `cudnnCTCLoss_v8`: labels and lengths are on the device. A sample that these describe wrongly has no numbers as its results.
pub(crate) fn loss_8(
    handle: &Handle,
    algorithm: c_int,
    descriptor: cudnnCTCLossDescriptor_t,
    probs_desc: cudnnTensorDescriptor_t,
    probs: *const c_void,
    labels: *const c_int,
    label_lengths: *const c_int,
    input_lengths: *const c_int,
    costs: *mut c_void,
    gradients_desc: cudnnTensorDescriptor_t,
    gradients: *mut c_void,
    bytes: usize,
    workspace: *mut c_void,
) -> Outcome {
    let tensors = Tensors::of(probs_desc, Some(gradients_desc).filter(|_| !gradients.is_null()), algorithm)?;
    let (loss, count) = (LOSSES.get(descriptor)?, tensors.count());
    let longest = usize::try_from(loss.longest).map_err(|_| BAD_PARAM)?.min(MOST_LABELS);
    if longest == 0 || bytes < WORKSPACE {
        return Err(BAD_PARAM);
    }
    let lengths = size_of::<c_int>() * count;
    // The number of labels is in the workspace before the labels are read.
    let mut counts = Call::of(handle);
    let known = counts.reads_bytes(c"labelLengths", label_lengths.cast(), lengths)?;
    let total = counts.writes_bytes(c"workspace", workspace, WORKSPACE)?;
    let (most, length) =
        (count * longest, move |length: &c_int| usize::try_from(*length).ok().filter(|length| *length <= longest));
    let mut call = Call::of(handle);
    let all = Counted {
        count: workspace.addr() as u64,
        integers: Integers::I32,
        less: 0,
        address: labels.addr() as u64,
        element: size_of::<c_int>(),
        at_most: most,
    };
    let labels = call.reads_region(c"labels", all.into())?;
    let of_labels = call.reads_bytes(c"labelLengths", label_lengths.cast(), lengths)?;
    let of_inputs = call.reads_bytes(c"inputLengths", input_lengths.cast(), lengths)?;
    counts.computes(move |data| {
        let known = data.take::<c_int>(known);
        // One wrong length hides where the labels of the samples after it are.
        let all = known.iter().map_while(length).sum::<usize>();
        data.take::<c_int>(total)[0] = c_int::try_from(all).unwrap_or(0);
    })?;
    let (steps, alphabet) = (tensors.probs.dims[0], tensors.probs.dims[2]);
    tensors.enqueue(call, loss, probs, costs, gradients, move |data| {
        let (labels, of_labels) = (data.take::<c_int>(labels), data.take::<c_int>(of_labels));
        let (mut rest, mut is_known) = (&labels[..], true);
        let sample = |(of_labels, of_inputs): (&c_int, &c_int)| {
            let own = length(of_labels).filter(|_| is_known);
            is_known = own.is_some();
            let (own, others) = rest.split_at_checked(own?)?;
            rest = others;
            let label = |label: &c_int| usize::try_from(*label).ok().filter(|label| (1..alphabet).contains(label));
            let labels = own.iter().map(label).collect::<Option<Vec<_>>>()?;
            Some(Sample { labels, steps: usize::try_from(*of_inputs).ok().filter(|own| *own <= steps)? })
        };
        of_labels.iter().zip(data.take::<c_int>(of_inputs).iter()).map(sample).collect()
    })
}

/// The tensors of a call, checked.
struct Tensors {
    probs: Layout,
    gradients: Option<Layout>,
}

impl Tensors {
    /// The tensors, with gradients if there are any.
    fn of(
        probs: cudnnTensorDescriptor_t,
        gradients: Option<cudnnTensorDescriptor_t>,
        algorithm: c_int,
    ) -> Outcome<Tensors> {
        let tensors = Tensors { gradients: gradients.map(tensor).transpose()?, probs: tensor(probs)? };
        let Tensors { probs, gradients } = &tensors;
        let is_right = probs.dims.len() == 3 && (0..=1).contains(&algorithm);
        if !is_right || gradients.as_ref().is_some_and(|gradients| gradients.dims != probs.dims) {
            return Err(BAD_PARAM);
        }
        let is_single = |layout: &Layout| layout.kind == Type::Float;
        if is_single(probs) && gradients.as_ref().is_none_or(is_single) { Ok(tensors) } else { Err(NOT_SUPPORTED) }
    }

    /// The number of samples.
    fn count(&self) -> usize {
        self.probs.dims[1]
    }

    /// Enqueues a loss with the samples that a function returns.
    fn enqueue(
        self,
        mut call: Call<'_>,
        loss: Loss,
        probs: *const c_void,
        costs: *mut c_void,
        gradients: *mut c_void,
        samples: impl Fn(&mut Data<'_>) -> Vec<Option<Sample>> + Send + Sync + 'static,
    ) -> Outcome {
        let [steps, count, alphabet] = self.probs.dims[..] else { return Err(BAD_PARAM) };
        let of_costs = Layout::new(Type::Float, vec![count], packed(&[count]))?;
        let probs = call.reads(c"probs", &self.probs, probs)?;
        let costs = call.writes(c"costs", &of_costs, costs, Factors::<f32>::result())?;
        let (mut before, mut results) = (None, None);
        if let Some(layout) = &self.gradients {
            // Gradients of a sample without any path may stay as they are.
            if loss.gradients == 1 {
                before = Some(call.may_read(c"gradients", layout, gradients)?);
            }
            results = Some(call.writes(c"gradients", layout, gradients, Factors::<f32>::result())?);
        }
        call.computes(move |data| {
            let logs = logarithms(&probs.values::<f32>(data), alphabet, loss.normalization == 1);
            let kept = before.as_ref().map(|before| before.values::<f32>(data));
            let (mut all_costs, mut all_gradients) = (vec![0.0_f32; count], vec![0.0_f32; steps * count * alphabet]);
            for (number, sample) in samples(data).iter().enumerate() {
                let at = |step: usize, symbol: usize| (step * count + number) * alphabet + symbol;
                let places = || (0..steps).flat_map(|step| (0..alphabet).map(move |symbol| at(step, symbol)));
                let Some(sample) = sample else {
                    all_costs[number] = f32::NAN;
                    places().for_each(|place| all_gradients[place] = f32::NAN);
                    continue;
                };
                let (cost, expected) = paths(sample, alphabet, |step, symbol| logs[at(step, symbol)]);
                all_costs[number] = cost as f32;
                if sample.has_path() {
                    for (index, expected) in expected.iter().enumerate() {
                        let at = at(index / alphabet, index % alphabet);
                        all_gradients[at] = (logs[at].exp() - expected) as f32;
                    }
                } else if let Some(kept) = &kept {
                    places().for_each(|place| all_gradients[place] = kept[place]);
                }
            }
            costs.store::<f32>(data, &all_costs);
            if let Some(results) = &results {
                results.store::<f32>(data, &all_gradients);
            }
        })
    }
}
