//! Dropout. The states on the device are a seed and the number of values that were drawn, so that each call draws others in stream order.

use crate::call::Call;
use crate::descriptor_table::descriptors;
use crate::handle::{Handle, find};
use crate::layout::Layout;
use crate::numbers::{Factors, Real, of_type};
use crate::status::{BAD_PARAM, Outcome, write};
use crate::tensor_descriptor::tensor;
use crate::types::*;
use cuarray_stream_work::Argument;
use std::ffi::c_void;

/// The bytes of the states.
const STATES: usize = 16;

/// A dropout. The states are an address on the device, or 0 without one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dropout {
    probability: f32,
    states: usize,
    seed: u64,
}

impl Dropout {
    /// Whether any element may be dropped.
    pub(crate) fn drops(&self) -> bool {
        self.probability > 0.0
    }

    /// The states, which a call reads and changes.
    pub(crate) fn updates(self, call: &mut Call<'_>) -> Outcome<Argument> {
        call.updates_bytes(c"states", std::ptr::without_provenance(self.states), STATES)
    }

    /// Draws for each element whether it is kept, and counts the draws in the states.
    fn draws(self, states: &mut [u64]) -> impl FnMut() -> bool {
        move || match states {
            [seed, drawn] => {
                let keeps = uniform(*seed, *drawn) >= f64::from(self.probability);
                *drawn = drawn.wrapping_add(1);
                keeps
            }
            _ => true,
        }
    }

    /// Draws the factor of each element.
    pub(crate) fn factors<W: Real>(self, states: &mut [u64]) -> impl FnMut() -> W {
        let mut keeps = self.draws(states);
        move || self.apply(W::one(), keeps())
    }

    /// A value that is kept, with the factor that keeps the sum, or 0.
    fn apply<W: Real>(self, value: W, keeps: bool) -> W {
        if keeps { W::of(value.double() / (1.0 - f64::from(self.probability))) } else { W::of(0.0) }
    }
}

descriptors!(Dropout DROPOUTS: Dropout = Dropout { probability: 0.0, states: 0, seed: 0 }, create destroy);

/// The dropout of a descriptor.
pub(crate) fn described(number: cudnnDropoutDescriptor_t) -> Outcome<Dropout> {
    DROPOUTS.get(number)
}

/// `cudnnDropoutGetStatesSize`.
pub(crate) fn states_size(_: &Handle, to: *mut usize) -> Outcome {
    write(to, STATES)
}

/// `cudnnDropoutGetReserveSpaceSize`: one bit for each element.
pub(crate) fn reserve_size(x_desc: cudnnTensorDescriptor_t, to: *mut usize) -> Outcome {
    write(to, tensor(x_desc)?.count().div_ceil(8))
}

/// Describes a dropout, whose states are right already or are written in the stream of the handle.
fn describe(
    number: cudnnDropoutDescriptor_t,
    handle: cudnnHandle_t,
    probability: f32,
    (states, bytes): (*mut c_void, usize),
    seed: u64,
    writes: bool,
) -> Outcome {
    let handle = find(handle)?;
    described(number)?;
    if !(0.0..=1.0).contains(&probability) || (!states.is_null() && bytes < STATES) {
        return Err(BAD_PARAM);
    }
    if writes && !states.is_null() {
        let mut call = Call::of(&handle);
        let states = call.writes_bytes(c"states", states, STATES)?;
        call.computes(move |data| data.take::<u64>(states).copy_from_slice(&[seed, 0]))?;
    }
    DROPOUTS.set(number, Dropout { probability, states: states.addr(), seed })
}

/// `cudnnSetDropoutDescriptor`. It writes the states in stream order.
pub(crate) fn set(
    number: cudnnDropoutDescriptor_t,
    handle: cudnnHandle_t,
    probability: f32,
    states: *mut c_void,
    bytes: usize,
    seed: u64,
) -> Outcome {
    describe(number, handle, probability, (states, bytes), seed, true)
}

/// `cudnnRestoreDropoutDescriptor`: the states are those of an earlier descriptor.
pub(crate) fn restore(
    number: cudnnDropoutDescriptor_t,
    handle: cudnnHandle_t,
    probability: f32,
    states: *mut c_void,
    bytes: usize,
    seed: u64,
) -> Outcome {
    describe(number, handle, probability, (states, bytes), seed, false)
}

/// `cudnnGetDropoutDescriptor`.
pub(crate) fn get(
    number: cudnnDropoutDescriptor_t,
    _: cudnnHandle_t,
    probability: *mut f32,
    states: *mut *mut c_void,
    seed: *mut u64,
) -> Outcome {
    let known = described(number)?;
    write(probability, known.probability)?;
    write(states, std::ptr::without_provenance_mut(known.states))?;
    write(seed, known.seed)
}

/// Number `index` of the sequence of a seed, between 0 and 1: the finalizer of the generator SplitMix64.
pub(crate) fn uniform(seed: u64, index: u64) -> f64 {
    let mut bits = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// The bytes of the reserve space, which has a bit for each element, after the checks of both tensors and of the `given` bytes.
fn reserved(from: &Layout, to: &Layout, given: usize) -> Outcome<usize> {
    let needed = from.count().div_ceil(8);
    if from.is_like(to) && given >= needed { Ok(needed) } else { Err(BAD_PARAM) }
}

/// `cudnnDropoutForward`.
pub(crate) fn forward(
    handle: &Handle,
    number: cudnnDropoutDescriptor_t,
    x_desc: cudnnTensorDescriptor_t,
    x: *const c_void,
    y_desc: cudnnTensorDescriptor_t,
    y: *mut c_void,
    reserve: *mut c_void,
    given: usize,
) -> Outcome {
    let (dropout, of_x, of_y) = (described(number)?, tensor(x_desc)?, tensor(y_desc)?);
    let needed = reserved(&of_x, &of_y, given)?;
    of_type!(of_x.kind, T => {
        let mut call = Call::of(handle);
        let x = call.reads(c"x", &of_x, x)?;
        let y = call.writes(c"y", &of_y, y, Factors::result())?;
        let reserve = call.writes_bytes(c"reserveSpace", reserve, needed)?;
        let states = dropout.updates(&mut call)?;
        call.computes(move |data| {
            let (mut values, kept) = (x.values::<T>(data), data.take::<u8>(reserve));
            kept.fill(0);
            let mut draw = dropout.draws(data.take(states));
            for (index, value) in values.iter_mut().enumerate() {
                let keeps = draw();
                kept[index / 8] |= u8::from(keeps) << (index % 8);
                *value = dropout.apply(*value, keeps);
            }
            y.store::<T>(data, &values);
        })
    })
}

/// `cudnnDropoutBackward`.
pub(crate) fn backward(
    handle: &Handle,
    number: cudnnDropoutDescriptor_t,
    dy_desc: cudnnTensorDescriptor_t,
    dy: *const c_void,
    dx_desc: cudnnTensorDescriptor_t,
    dx: *mut c_void,
    reserve: *mut c_void,
    given: usize,
) -> Outcome {
    let (dropout, of_dy, of_dx) = (described(number)?, tensor(dy_desc)?, tensor(dx_desc)?);
    let needed = reserved(&of_dy, &of_dx, given)?;
    of_type!(of_dy.kind, T => {
        let mut call = Call::of(handle);
        let dy = call.reads(c"dy", &of_dy, dy)?;
        let reserve = call.reads_bytes(c"reserveSpace", reserve, needed)?;
        let dx = call.writes(c"dx", &of_dx, dx, Factors::result())?;
        call.computes(move |data| {
            let (mut values, kept) = (dy.values::<T>(data), data.take::<u8>(reserve));
            for (index, value) in values.iter_mut().enumerate() {
                let keeps = kept[index / 8] >> (index % 8) & 1 == 1;
                *value = dropout.apply(*value, keeps);
            }
            dx.store::<T>(data, &values);
        })
    })
}
