//! The functions that compute.

use super::data::{Sequences, sequences};
use super::descriptor::{Rnn, rnn};
use super::engine::{self, States};
use super::network::Mode;
use super::steps::Steps;
use crate::call::{Call, Input, Output};
use crate::convolution::WORKSPACE;
use crate::descriptors::check;
use crate::dropout::Dropout;
use crate::handle::Handle;
use crate::layout::{Layout, packed};
use crate::numbers::{Element, Factors, Real, of_type};
use crate::status::{BAD_PARAM, NOT_SUPPORTED, Outcome, write_if_wanted};
use crate::tensor_descriptor::tensor;
use crate::types::*;
use cuarray_stream_work::{Argument, Data};
use std::ffi::{CStr, c_int, c_void};

/// `cudnnGetRNNTempSpaceSizes`. Both pointers may be null, as documented.
pub(crate) fn temporary_sizes(
    _: &Handle,
    number: cudnnRNNDescriptor_t,
    mode: c_int,
    x_desc: cudnnRNNDataDescriptor_t,
    workspace: *mut usize,
    reserve: *mut usize,
) -> Outcome {
    check(mode, 1)?;
    let problem = Problem::of(number, x_desc, None)?;
    write_if_wanted(workspace, WORKSPACE)?;
    write_if_wanted(reserve, if mode == 1 { problem.reserve_size()? } else { 0 })
}

/// A network, its sequences, and its dropout.
#[derive(Clone, Debug)]
struct Problem {
    rnn: Rnn,
    x: Sequences,
    y: Sequences,
    dropout: Option<Dropout>,
}

impl Problem {
    fn of(
        number: cudnnRNNDescriptor_t,
        x: cudnnRNNDataDescriptor_t,
        y: Option<cudnnRNNDataDescriptor_t>,
    ) -> Outcome<Problem> {
        let (rnn, x) = (rnn(number)?, sequences(x)?);
        let y = match y {
            Some(y) => {
                rnn.check_algorithm(x.batch(), x.lengths.windows(2).all(|pair| pair[0] == pair[1]))?;
                sequences(y)?
            }
            None => x.with_vectors(rnn.network.width()),
        };
        let fit = x.is_like(&y) && x.vector == rnn.network.input && y.vector == rnn.network.width();
        if !fit || x.kind != rnn.kind || !(x.is_packed() || rnn.allows_padding()) {
            return Err(BAD_PARAM);
        }
        Ok(Problem { rnn, x, y, dropout: rnn.dropout()? })
    }

    /// The bytes of a number of the reserve space.
    fn number(&self) -> usize {
        self.rnn.kind.size().max(size_of::<f32>())
    }

    /// The bytes of a row that a forward pass keeps, and those that the gradients of the data keep.
    fn kept(&self) -> [usize; 2] {
        let widths = [self.rnn.network.tape_width(self.dropout.is_some()), self.rnn.network.gradient_width()];
        widths.map(|width| width.saturating_mul(self.number()))
    }

    /// The bytes of the reserve space, for sequences of any length.
    fn reserve_size(&self) -> Outcome<usize> {
        let [forward, backward] = self.kept();
        let rows = self.x.longest.checked_mul(self.x.batch());
        rows.and_then(|rows| rows.checked_mul(forward.checked_add(backward)?)).ok_or(NOT_SUPPORTED)
    }

    /// The bytes of both parts of the reserve space, after the check of its size.
    fn parts(&self, given: usize) -> Outcome<[usize; 2]> {
        if given < self.reserve_size()? {
            return Err(BAD_PARAM);
        }
        Ok(self.kept().map(|width| width * self.x.vectors()))
    }

    /// The bytes of the weights, after the check of their space.
    fn weight_bytes(&self, given: usize) -> Outcome<usize> {
        let bytes = self.rnn.network.count() * self.rnn.kind.size();
        if given < bytes { Err(BAD_PARAM) } else { Ok(bytes) }
    }

    /// The layout of states of this size, if any of the pointers is used.
    fn layout(&self, number: cudnnTensorDescriptor_t, size: usize, used: &[*const c_void]) -> Outcome<Option<Layout>> {
        if used.iter().all(|at| at.is_null()) {
            return Ok(None);
        }
        let (layout, sizes) = (tensor(number)?, [self.rnn.network.pseudo_layers(), self.x.batch(), size]);
        let full = packed(&layout.dims);
        let is_packed = (0..layout.dims.len()).all(|axis| layout.dims[axis] == 1 || layout.strides[axis] == full[axis]);
        let fits = layout.dims.len() >= 3 && layout.dims[..3] == sizes && layout.dims[3..].iter().all(|dim| *dim == 1);
        if fits && is_packed && layout.kind == self.rnn.kind { Ok(Some(layout)) } else { Err(BAD_PARAM) }
    }

    /// The layout of hidden states.
    fn hidden(&self, number: cudnnTensorDescriptor_t, used: &[*const c_void]) -> Outcome<Option<Layout>> {
        self.layout(number, self.rnn.network.state, used)
    }

    /// The layout of the states of cells, which an LSTM alone has.
    fn cells(&self, number: cudnnTensorDescriptor_t, used: &[*const c_void]) -> Outcome<Option<Layout>> {
        if self.rnn.network.mode == Mode::Lstm { self.layout(number, self.rnn.network.hidden, used) } else { Ok(None) }
    }
}

/// A state that is read, if there is one.
fn reads(
    call: &mut Call<'_>,
    name: &'static CStr,
    layout: Option<&Layout>,
    at: *const c_void,
) -> Outcome<Option<Input>> {
    layout.filter(|_| !at.is_null()).map(|layout| call.reads(name, layout, at)).transpose()
}

/// A state that is written, if the program wants it.
fn writes<W: Real>(
    call: &mut Call<'_>,
    name: &'static CStr,
    layout: Option<&Layout>,
    at: *mut c_void,
) -> Outcome<Option<Output<W>>> {
    layout.filter(|_| !at.is_null()).map(|layout| call.writes(name, layout, at, Factors::result())).transpose()
}

/// The states of a call by rank; those that the program does not give are zero.
fn states<T: Element>(
    problem: &Problem,
    steps: &Steps,
    data: &mut Data<'_>,
    [hidden, cells]: [&Option<Input>; 2],
) -> States<T::Wide> {
    let mut states = States::zero(&problem.rnn.network, problem.x.batch());
    if let Some(input) = hidden {
        states.hidden = steps.ranked(&input.values::<T>(data), problem.rnn.network.state);
    }
    if let Some(input) = cells {
        states.cells = steps.ranked(&input.values::<T>(data), problem.rnn.network.hidden);
    }
    states
}

/// Stores the states that the program wants.
fn store<T: Element>(
    problem: &Problem,
    steps: &Steps,
    data: &mut Data<'_>,
    [hidden, cells]: [&Option<Output<T::Wide>>; 2],
    states: &States<T::Wide>,
) {
    if let Some(output) = hidden {
        output.store::<T>(data, &steps.unranked(&states.hidden, problem.rnn.network.state));
    }
    if let Some(output) = cells {
        output.store::<T>(data, &steps.unranked(&states.cells, problem.rnn.network.hidden));
    }
}

fn widened<T: Element>(data: &mut Data<'_>, argument: Argument) -> Vec<T::Wide> {
    data.take::<T>(argument).iter().map(|value| value.widen()).collect()
}

/// `cudnnRNNForward`. The lengths on the device are not read: those of the descriptors are the same.
pub(crate) fn forward(
    handle: &Handle,
    number: cudnnRNNDescriptor_t,
    mode: c_int,
    _: *const c_int,
    x_desc: cudnnRNNDataDescriptor_t,
    x: *const c_void,
    y_desc: cudnnRNNDataDescriptor_t,
    y: *mut c_void,
    h_desc: cudnnTensorDescriptor_t,
    hx: *const c_void,
    hy: *mut c_void,
    c_desc: cudnnTensorDescriptor_t,
    cx: *const c_void,
    cy: *mut c_void,
    weight_bytes: usize,
    weights: *const c_void,
    work_bytes: usize,
    workspace: *mut c_void,
    reserve_bytes: usize,
    reserve: *mut c_void,
) -> Outcome {
    check(mode, 1)?;
    let mut problem = Problem::of(number, x_desc, Some(y_desc))?;
    if mode == 0 {
        problem.dropout = None;
    }
    let (of_h, of_c) = (problem.hidden(h_desc, &[hx, hy])?, problem.cells(c_desc, &[cx, cy])?);
    let bytes = problem.weight_bytes(weight_bytes)?;
    let kept = if mode == 1 { Some(problem.parts(reserve_bytes)?[0]) } else { None };
    of_type!(problem.rnn.kind, T => {
        type Wide = <T as Element>::Wide;
        let mut call = Call::of(handle);
        let x = call.reads_region(c"x", problem.x.region(x.addr() as u64, false))?;
        let hx = reads(&mut call, c"hx", of_h.as_ref(), hx)?;
        let cx = reads(&mut call, c"cx", of_c.as_ref(), cx)?;
        let weights = call.reads_bytes(c"weightSpace", weights, bytes)?;
        call.workspace(workspace, work_bytes, WORKSPACE)?;
        let y = call.writes_region(c"y", problem.y.region(y.addr() as u64, problem.y.is_filled()))?;
        let hy = writes(&mut call, c"hy", of_h.as_ref(), hy)?;
        let cy = writes(&mut call, c"cy", of_c.as_ref(), cy)?;
        let reserve = kept.map(|kept| call.writes_bytes(c"reserveSpace", reserve, kept)).transpose()?;
        let states_of_dropout = problem.dropout.map(|dropout| dropout.updates(&mut call)).transpose()?;
        let draws = problem.dropout.zip(states_of_dropout);
        call.computes(move |data| {
            let (network, steps) = (&problem.rnn.network, Steps::of(&problem.x.lengths));
            let rows = problem.x.rows::<T>(&steps, data.take(x));
            let mut states = states::<T>(&problem, &steps, data, [&hx, &cx]);
            let parameters = widened::<T>(data, weights);
            let mut own = Vec::new();
            let memory = match reserve {
                Some(reserve) => data.take::<Wide>(reserve),
                None => {
                    own.resize(network.tape_width(false) * steps.rows(), Wide::default());
                    &mut own[..]
                }
            };
            let mut tape = network.tape(steps.rows(), draws.is_some(), memory);
            let factor: &mut dyn FnMut() -> Wide = match draws {
                Some((dropout, states)) => &mut dropout.factors(data.take(states)),
                None => &mut || 1.0,
            };
            let output = engine::forward(network, &steps, &parameters, rows, &mut states, &mut tape, factor);
            problem.y.store::<T>(&steps, data.take(y), &output);
            store::<T>(&problem, &steps, data, [&hy, &cy], &states);
        })
    })
}

/// `cudnnRNNBackwardData_v8`. The padding of `dx` becomes zero.
pub(crate) fn backward_data(
    handle: &Handle,
    number: cudnnRNNDescriptor_t,
    _: *const c_int,
    y_desc: cudnnRNNDataDescriptor_t,
    y: *const c_void,
    dy: *const c_void,
    x_desc: cudnnRNNDataDescriptor_t,
    dx: *mut c_void,
    h_desc: cudnnTensorDescriptor_t,
    hx: *const c_void,
    dhy: *const c_void,
    dhx: *mut c_void,
    c_desc: cudnnTensorDescriptor_t,
    cx: *const c_void,
    dcy: *const c_void,
    dcx: *mut c_void,
    weight_bytes: usize,
    weights: *const c_void,
    work_bytes: usize,
    workspace: *mut c_void,
    reserve_bytes: usize,
    reserve: *mut c_void,
) -> Outcome {
    let mut problem = Problem::of(number, x_desc, Some(y_desc))?;
    problem.x.fill_with_zero();
    let (of_h, of_c) = (problem.hidden(h_desc, &[hx, dhy, dhx])?, problem.cells(c_desc, &[cx, dcy, dcx])?);
    let bytes = problem.weight_bytes(weight_bytes)?;
    let [kept, added] = problem.parts(reserve_bytes)?;
    of_type!(problem.rnn.kind, T => {
        type Wide = <T as Element>::Wide;
        let mut call = Call::of(handle);
        let y = call.reads_region(c"y", problem.y.region(y.addr() as u64, false))?;
        let dy = call.reads_region(c"dy", problem.y.region(dy.addr() as u64, false))?;
        let hx = reads(&mut call, c"hx", of_h.as_ref(), hx)?;
        let dhy = reads(&mut call, c"dhy", of_h.as_ref(), dhy)?;
        let cx = reads(&mut call, c"cx", of_c.as_ref(), cx)?;
        let dcy = reads(&mut call, c"dcy", of_c.as_ref(), dcy)?;
        let weights = call.reads_bytes(c"weightSpace", weights, bytes)?;
        let tape = call.reads_bytes(c"reserveSpace", reserve, kept)?;
        call.workspace(workspace, work_bytes, WORKSPACE)?;
        let dx = call.writes_region(c"dx", problem.x.region(dx.addr() as u64, true))?;
        let dhx = writes(&mut call, c"dhx", of_h.as_ref(), dhx)?;
        let dcx = writes(&mut call, c"dcx", of_c.as_ref(), dcx)?;
        let gradients = call.writes_bytes(c"reserveSpace", reserve.wrapping_byte_add(kept), added)?;
        call.computes(move |data| {
            let (network, steps) = (&problem.rnn.network, Steps::of(&problem.x.lengths));
            let output = problem.y.rows::<T>(&steps, data.take(y));
            let change = problem.y.rows::<T>(&steps, data.take(dy));
            let initial = states::<T>(&problem, &steps, data, [&hx, &cx]);
            let mut changes = states::<T>(&problem, &steps, data, [&dhy, &dcy]);
            let parameters = widened::<T>(data, weights);
            let tape = network.tape(steps.rows(), problem.dropout.is_some(), data.take::<Wide>(tape));
            let mut gradients = network.gradients(steps.rows(), data.take::<Wide>(gradients));
            let outputs = (&output[..], change);
            let result = engine::backward_data(
                network, &steps, &parameters, outputs, &initial, &mut changes, &tape, &mut gradients,
            );
            problem.x.store::<T>(&steps, data.take(dx), &result);
            store::<T>(&problem, &steps, data, [&dhx, &dcx], &changes);
        })
    })
}

/// `cudnnRNNBackwardWeights_v8`.
pub(crate) fn backward_weights(
    handle: &Handle,
    number: cudnnRNNDescriptor_t,
    mode: c_int,
    _: *const c_int,
    x_desc: cudnnRNNDataDescriptor_t,
    x: *const c_void,
    h_desc: cudnnTensorDescriptor_t,
    hx: *const c_void,
    y_desc: cudnnRNNDataDescriptor_t,
    y: *const c_void,
    weight_bytes: usize,
    gradients: *mut c_void,
    work_bytes: usize,
    workspace: *mut c_void,
    reserve_bytes: usize,
    reserve: *mut c_void,
) -> Outcome {
    check(mode, 1)?;
    let problem = Problem::of(number, x_desc, Some(y_desc))?;
    let of_h = problem.hidden(h_desc, &[hx])?;
    let (bytes, parts) = (problem.weight_bytes(weight_bytes)?, problem.parts(reserve_bytes)?);
    of_type!(problem.rnn.kind, T => {
        type Wide = <T as Element>::Wide;
        let mut call = Call::of(handle);
        let x = call.reads_region(c"x", problem.x.region(x.addr() as u64, false))?;
        let hx = reads(&mut call, c"hx", of_h.as_ref(), hx)?;
        let y = call.reads_region(c"y", problem.y.region(y.addr() as u64, false))?;
        let reserve = call.reads_bytes(c"reserveSpace", reserve, parts[0] + parts[1])?;
        call.workspace(workspace, work_bytes, WORKSPACE)?;
        // `CUDNN_WGRAD_MODE_ADD` is 0.
        let sums = match mode {
            0 => call.updates_bytes(c"dweightSpace", gradients, bytes)?,
            _ => call.writes_bytes(c"dweightSpace", gradients, bytes)?,
        };
        call.computes(move |data| {
            let (network, steps) = (&problem.rnn.network, Steps::of(&problem.x.lengths));
            let input = problem.x.rows::<T>(&steps, data.take(x));
            let output = problem.y.rows::<T>(&steps, data.take(y));
            let hidden = states::<T>(&problem, &steps, data, [&hx, &None]).hidden;
            let (kept, added) = data.take::<Wide>(reserve).split_at_mut(parts[0] / size_of::<Wide>());
            let tape = network.tape(steps.rows(), problem.dropout.is_some(), kept);
            let gradients = network.gradients(steps.rows(), added);
            let memory = data.take::<T>(sums);
            let mut result: Vec<Wide> = match mode {
                0 => memory.iter().map(|value| value.widen()).collect(),
                _ => vec![Wide::default(); memory.len()],
            };
            let known = (input, &output[..], &hidden[..]);
            engine::backward_weights(network, &steps, known, &tape, &gradients, &mut result);
            memory.iter_mut().zip(&result).for_each(|(to, value)| *to = T::narrow(*value));
        })
    })
}
