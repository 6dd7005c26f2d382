//! Descriptors of networks, and the places of their parameters.

use super::network::{Clip, Mode, Network};
use crate::convolution_descriptor::check_compute;
use crate::descriptor_table::descriptors;
use crate::descriptors::check;
use crate::dropout::{self, Dropout};
use crate::handle::Handle;
use crate::layout::{Layout, packed};
use crate::numbers::Type;
use crate::status::{BAD_PARAM, NOT_SUPPORTED, Outcome, write, write_if_wanted};
use crate::tensor_descriptor::{describe, sizes};
use crate::types::*;
use std::ffi::{c_int, c_uint, c_void};

/// `CUDNN_RNN_ALGO_PERSIST_STATIC` and `CUDNN_RNN_ALGO_PERSIST_DYNAMIC`.
const PERSIST: [c_int; 2] = [1, 2];

/// A network that a program has described.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rnn {
    pub(super) network: Network,
    pub(super) kind: Type,
    /// The numbers of `cudnnSetRNNDescriptor_v8`, from the algorithm to the layers.
    numbers: [c_int; 12],
    dropout: cudnnDropoutDescriptor_t,
    flags: c_uint,
    clip: (c_int, cudnnNanPropagation_t, [f64; 2]),
    /// The batch for which the algorithm was built.
    built: Option<c_int>,
}

descriptors!(Rnn RNNS: Option<Rnn> = None, create destroy);

/// The network of a descriptor.
pub(super) fn rnn(number: cudnnRNNDescriptor_t) -> Outcome<Rnn> {
    RNNS.described(number)
}

impl Rnn {
    /// The dropout between layers, if there is one.
    pub(super) fn dropout(&self) -> Outcome<Option<Dropout>> {
        if self.dropout == 0 || self.network.layers == 1 {
            return Ok(None);
        }
        Ok(Some(dropout::described(self.dropout)?).filter(Dropout::drops))
    }

    pub(super) fn allows_padding(&self) -> bool {
        self.flags & 1 == 1
    }

    /// Checks what an algorithm requires of a call, as documented.
    pub(super) fn check_algorithm(&self, batch: usize, has_equal_lengths: bool) -> Outcome {
        let [static_algorithm, dynamic] = PERSIST.map(|algorithm| self.numbers[0] == algorithm);
        if (static_algorithm || dynamic) && !has_equal_lengths || static_algorithm && self.kind == Type::Double {
            return Err(NOT_SUPPORTED);
        }
        let is_built = self.built.is_some_and(|built| usize::try_from(built) == Ok(batch));
        if dynamic && !is_built { Err(BAD_PARAM) } else { Ok(()) }
    }
}

/// `cudnnSetRNNDescriptor_v8`. A later call of `cudnnRNNSetClip` limits the cells.
pub(crate) fn set(
    number: cudnnRNNDescriptor_t,
    algorithm: c_int,
    cell: c_int,
    bias: c_int,
    direction: c_int,
    input_mode: c_int,
    kind: cudnnDataType_t,
    compute: cudnnDataType_t,
    math: cudnnMathType_t,
    input: c_int,
    hidden: c_int,
    projected: c_int,
    layers: c_int,
    dropout: cudnnDropoutDescriptor_t,
    flags: c_uint,
) -> Outcome {
    let choices = [(algorithm, 3), (cell, 3), (bias, 3), (direction, 1), (input_mode, 1), (math, 3)];
    choices.into_iter().try_for_each(|(choice, last)| check(choice, last))?;
    let (of_elements, of_sums) = (Type::of(kind)?, compute);
    check_compute(of_elements, of_sums)?;
    let [inputs, units, projection, count] = sizes([input, hidden, projected, layers].as_ptr(), 4)?[..] else {
        return Err(BAD_PARAM);
    };
    let mode = [Mode::Relu, Mode::Tanh, Mode::Lstm, Mode::Gru][cell as usize];
    let skips = input_mode == 1;
    if inputs == 0 || units == 0 || count == 0 || projection > units || (skips && inputs != units) || flags > 1 {
        return Err(BAD_PARAM);
    }
    let state = if projection == 0 { units } else { projection };
    // A projection of the full size is none, as documented.
    if state != units && (mode != Mode::Lstm || algorithm != 0) {
        return Err(NOT_SUPPORTED);
    }
    if dropout != 0 {
        dropout::described(dropout)?;
    }
    let network = Network {
        mode,
        biases: [matches!(bias, 1 | 2), matches!(bias, 2 | 3)],
        directions: if direction == 1 { 2 } else { 1 },
        skips,
        input: inputs,
        hidden: units,
        state,
        layers: count,
        clip: None,
    };
    network.check()?;
    let numbers = [algorithm, cell, bias, direction, input_mode, kind, compute, math, input, hidden, projected, layers];
    let clip = (0, 0, [0.0; 2]);
    RNNS.set(number, Rnn { network, kind: of_elements, numbers, dropout, flags, clip, built: None })
}

/// `cudnnGetRNNDescriptor_v8`.
pub(crate) fn get(
    number: cudnnRNNDescriptor_t,
    algorithm: *mut c_int,
    cell: *mut c_int,
    bias: *mut c_int,
    direction: *mut c_int,
    input_mode: *mut c_int,
    kind: *mut cudnnDataType_t,
    compute: *mut cudnnDataType_t,
    math: *mut cudnnMathType_t,
    input: *mut c_int,
    hidden: *mut c_int,
    projected: *mut c_int,
    layers: *mut c_int,
    dropout: *mut cudnnDropoutDescriptor_t,
    flags: *mut c_uint,
) -> Outcome {
    let known = rnn(number)?;
    let places = [algorithm, cell, bias, direction, input_mode, kind, compute, math, input, hidden, projected, layers];
    places.into_iter().zip(known.numbers).try_for_each(|(to, value)| write(to, value))?;
    write(dropout, known.dropout)?;
    write(flags, known.flags)
}

/// `cudnnRNNSetClip_v8`.
pub(crate) fn set_clip(
    number: cudnnRNNDescriptor_t,
    mode: c_int,
    nan: cudnnNanPropagation_t,
    left: f64,
    right: f64,
) -> Outcome {
    check(mode, 1)?;
    check(nan, 1)?;
    if !left.is_finite() || !right.is_finite() || left > right {
        return Err(BAD_PARAM);
    }
    let mut known = rnn(number)?;
    known.clip = (mode, nan, [left, right]);
    known.network.clip = (mode == 1).then_some(Clip { bounds: [left, right], keeps_nan: nan == 1 });
    RNNS.set(number, known)
}

/// `cudnnRNNSetClip_v9`. NaN stays.
pub(crate) fn set_clip_9(number: cudnnRNNDescriptor_t, mode: c_int, left: f64, right: f64) -> Outcome {
    set_clip(number, mode, 1, left, right)
}

/// `cudnnRNNGetClip_v8`. Each pointer may be null, as documented.
pub(crate) fn get_clip(
    number: cudnnRNNDescriptor_t,
    mode: *mut c_int,
    nan: *mut cudnnNanPropagation_t,
    left: *mut f64,
    right: *mut f64,
) -> Outcome {
    let (known_mode, known_nan, bounds) = rnn(number)?.clip;
    write_if_wanted(mode, known_mode)?;
    write_if_wanted(nan, known_nan)?;
    [left, right].into_iter().zip(bounds).try_for_each(|(to, bound)| write_if_wanted(to, bound))
}

/// `cudnnRNNGetClip_v9`.
pub(crate) fn get_clip_9(number: cudnnRNNDescriptor_t, mode: *mut c_int, left: *mut f64, right: *mut f64) -> Outcome {
    get_clip(number, mode, std::ptr::null_mut(), left, right)
}

/// `cudnnBuildRNNDynamic`. Nothing is compiled.
pub(crate) fn build(_: &Handle, number: cudnnRNNDescriptor_t, batch: c_int) -> Outcome {
    let known = rnn(number)?;
    if known.numbers[0] != PERSIST[1] || batch < 1 {
        return Err(BAD_PARAM);
    }
    RNNS.set(number, Rnn { built: Some(batch), ..known })
}

/// `cudnnGetRNNWeightSpaceSize`.
pub(crate) fn weight_size(_: &Handle, number: cudnnRNNDescriptor_t, to: *mut usize) -> Outcome {
    let known = rnn(number)?;
    write(to, known.network.count() * known.kind.size())
}

/// `cudnnGetRNNWeightParams`. A parameter that the network does not have is a null pointer and a tensor without dimensions, as documented.
pub(crate) fn weight_parameters(
    _: &Handle,
    number: cudnnRNNDescriptor_t,
    pseudo: c_int,
    given: usize,
    weights: *const c_void,
    id: c_int,
    matrix_desc: cudnnTensorDescriptor_t,
    matrix: *mut *mut c_void,
    bias_desc: cudnnTensorDescriptor_t,
    bias: *mut *mut c_void,
) -> Outcome {
    let Rnn { network, kind, .. } = rnn(number)?;
    let [pseudo, id] = sizes([pseudo, id].as_ptr(), 2)?[..] else { return Err(BAD_PARAM) };
    // The largest number is that of the projection of an LSTM.
    if pseudo >= network.pseudo_layers() || id > 8 || given < network.count() * kind.size() {
        return Err(BAD_PARAM);
    }
    let (parameters, gates) = (network.parameters(pseudo), network.gates());
    let columns = network.input_of(pseudo / network.directions);
    let (of_matrix, [rows, columns], of_bias) = match id {
        8 if network.mode == Mode::Lstm => (parameters.projection, [network.state, network.hidden], None),
        id if id < gates => (parameters.input, [network.hidden, columns], parameters.biases[0].clone()),
        id if id < 2 * gates => (Some(parameters.state), [network.hidden, network.state], parameters.biases[1].clone()),
        _ => (None, [0, 0], None),
    };
    // All gates of a matrix and of a bias lie one after the other.
    let gate = if id == 8 { 0 } else { id % gates };
    let tell = |start: Option<usize>, [rows, columns]: [usize; 2], descriptor, address: *mut *mut c_void| {
        let dims = if start.is_some() { vec![1, rows, columns] } else { Vec::new() };
        if descriptor != 0 {
            describe(descriptor, Layout::new(kind, dims.clone(), packed(&dims))?)?;
        }
        let at = start.map(|start| weights.wrapping_byte_add((start + gate * rows * columns) * kind.size()));
        write_if_wanted(address, at.unwrap_or(std::ptr::null()).cast_mut())
    };
    tell(of_matrix.map(|range| range.start), [rows, columns], matrix_desc, matrix)?;
    tell(of_bias.map(|range| range.start), [network.hidden, 1], bias_desc, bias)
}
