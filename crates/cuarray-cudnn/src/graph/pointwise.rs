//! Pointwise operations on values in the order of the dimensions of the result.

use crate::activation::Curve;
use crate::numbers::Real;
use crate::status::{BAD_PARAM, Outcome};
use crate::types::cudnnPointwiseMode_t;

/// The settings of a pointwise operation.
#[derive(Clone, Debug)]
pub(super) struct Pointwise {
    pub(super) mode: cudnnPointwiseMode_t,
    /// The bounds of a ReLU, and its slope below the lower one.
    pub(super) clips: (Option<f64>, Option<f64>, f64),
    pub(super) elu: f64,
    pub(super) softplus: f64,
    pub(super) swish: f64,
    /// The dimension whose indices are the result of [`INDEX`].
    pub(super) axis: Option<usize>,
}

impl Pointwise {
    /// An operation without settings.
    pub(super) fn plain(mode: cudnnPointwiseMode_t) -> Pointwise {
        Pointwise { mode, clips: (None, None, 0.0), elu: 1.0, softplus: 1.0, swish: 1.0, axis: None }
    }
}

/// `CUDNN_POINTWISE_ADD`.
pub(super) const ADD: cudnnPointwiseMode_t = 0;
/// `CUDNN_POINTWISE_MUL`.
pub(super) const MUL: cudnnPointwiseMode_t = 1;
/// `CUDNN_POINTWISE_GEN_INDEX`.
pub(super) const INDEX: cudnnPointwiseMode_t = 501;
/// `CUDNN_POINTWISE_SUB`.
pub(super) const SUB: cudnnPointwiseMode_t = 9;

/// The operands of a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operands {
    One,
    Two,
    /// Two, and a third that chooses between them.
    Selected,
    /// The gradient of the result, and the input.
    Gradient,
}

/// The operands of a `cudnnPointwiseMode_t`.
pub(super) fn operands(mode: cudnnPointwiseMode_t) -> Outcome<Operands> {
    match mode {
        4 | 10..=22 | 100..=107 | 402 | INDEX => Ok(Operands::One),
        0..=3 | 5..=9 | 23 | 24 | 300..=305 | 400 | 401 => Ok(Operands::Two),
        601 => Ok(Operands::Selected),
        200..=207 => Ok(Operands::Gradient),
        _ => Err(BAD_PARAM),
    }
}

/// The curve of an activation that the other interface has too.
fn curve<W: Real>(of: &Pointwise) -> Option<Curve<W>> {
    match of.mode % 100 {
        1 => Some(Curve::Tanh),
        2 => Some(Curve::Sigmoid),
        3 => Some(Curve::Elu(W::of(of.elu))),
        6 => Some(Curve::Swish(W::of(of.swish))),
        _ => None,
    }
}

/// The ReLU with bounds.
fn relu<W: Real>(of: &Pointwise, x: W) -> W {
    let (lower, upper, slope) = of.clips;
    let lower = W::of(lower.unwrap_or(0.0));
    match upper.map(W::of) {
        Some(upper) if x > upper => upper,
        _ if x < lower => lower + W::of(slope) * (x - lower),
        _ => x,
    }
}

/// The error function.
fn erf<W: Real>(x: W) -> W {
    W::of(libm::erf(x.double()))
}

/// The GELU by the error function, and its derivative.
fn exact_gelu<W: Real>(x: W) -> (W, W) {
    let (half, one) = (W::of(0.5), W::one());
    let below = half * (one + erf(x * W::of(std::f64::consts::FRAC_1_SQRT_2)));
    let density = W::of((2.0 * std::f64::consts::PI).sqrt().recip()) * (-half * x * x).exp();
    (x * below, below + x * density)
}

/// The GELU by a hyperbolic tangent, and its derivative.
fn gelu<W: Real>(x: W) -> (W, W) {
    let (factor, cube) = (W::of((2.0 / std::f64::consts::PI).sqrt()), W::of(0.044_715));
    let (half, one, three) = (W::of(0.5), W::one(), W::of(3.0));
    let tanh = (factor * (x + cube * x * x * x)).tanh();
    let slope = factor * (one + three * cube * x * x) * (one - tanh * tanh);
    (half * x * (one + tanh), half * (one + tanh) + half * x * slope)
}

/// A truth value as a number.
fn truth<W: Real>(is_so: bool) -> W {
    if is_so { W::one() } else { W::zero() }
}

/// The value of an operation with one operand.
fn one<W: Real>(of: &Pointwise, x: W) -> W {
    match of.mode {
        4 => x.sqrt(),
        10 => x.abs(),
        11 => x.ceil(),
        12 => x.cos(),
        13 => x.exp(),
        14 => x.floor(),
        15 => x.ln(),
        16 => -x,
        17 => x.sqrt().recip(),
        18 => x.sin(),
        19 => x.tan(),
        20 => erf(x),
        22 => x.recip(),
        100 => relu(of, x),
        105 => {
            let beta = W::of(of.softplus);
            (beta * x).exp().ln_1p() / beta
        }
        104 => exact_gelu(x).0,
        107 => gelu(x).0,
        402 => truth(x.is_zero()),
        101..=103 | 106 => curve(of).map_or(x, |curve| curve.value(x)),
        _ => x,
    }
}

/// The value of an operation with two operands.
pub(super) fn two<W: Real>(mode: cudnnPointwiseMode_t, x: W, b: W) -> W {
    match mode {
        1 => x * b,
        2 => x.min(b),
        3 => x.max(b),
        5 => x + b * b,
        6 => x / b,
        7 => x % b,
        8 => x.powf(b),
        9 => x - b,
        23 => x.atan2(b),
        24 => x - (x / b).floor() * b,
        300 => truth(x == b),
        301 => truth(x != b),
        302 => truth(x > b),
        303 => truth(x >= b),
        304 => truth(x < b),
        305 => truth(x <= b),
        400 => truth(!x.is_zero() && !b.is_zero()),
        401 => truth(!x.is_zero() || !b.is_zero()),
        _ => x + b,
    }
}

/// The derivative of an activation.
fn slope<W: Real>(of: &Pointwise, x: W) -> W {
    match of.mode {
        200 => {
            let (lower, upper, slope) = of.clips;
            if x <= W::of(lower.unwrap_or(0.0)) {
                W::of(slope)
            } else if upper.is_some_and(|upper| x >= W::of(upper)) {
                W::zero()
            } else {
                W::one()
            }
        }
        205 => W::one() / (W::one() + (-(W::of(of.softplus) * x)).exp()),
        204 => exact_gelu(x).1,
        207 => gelu(x).1,
        _ => curve(of).map_or(W::one(), |curve| curve.slope(x, curve.value(x))),
    }
}

/// The results of an operation. Each input has as many values as the result.
pub(super) fn compute<W: Real>(of: &Pointwise, alpha1: W, alpha2: W, inputs: &[Vec<W>]) -> Vec<W> {
    match inputs {
        [x] => x.iter().map(|x| one(of, alpha1 * *x)).collect(),
        [dy, x] if (200..300).contains(&of.mode) => {
            dy.iter().zip(x).map(|(dy, x)| alpha1 * *dy * slope(of, *x)).collect()
        }
        [x, b] => x.iter().zip(b).map(|(x, b)| two(of.mode, alpha1 * *x, alpha2 * *b)).collect(),
        [x, b, t] => {
            x.iter().zip(b).zip(t).map(|((x, b), t)| if t.is_zero() { alpha2 * *b } else { alpha1 * *x }).collect()
        }
        _ => Vec::new(),
    }
}
