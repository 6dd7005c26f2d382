//! The functions, vectors and auxiliary matrices that a product applies to its values before it stores them.

use crate::scalar::DataType;
use crate::status::{INVALID_VALUE, Outcome};

/// The function of each value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Identity,
    Relu,
    Gelu,
    /// The gradient of the value, where the function had the input that the auxiliary matrix tells.
    ReluGradient,
    GeluGradient,
}

/// The role of the vector `bias`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bias {
    None,
    /// It is added to each column.
    Added,
    /// It becomes the sums of the rows of the result.
    SumsOfResult,
    /// It becomes the sums of the rows of `op(A)`.
    SumsOfA,
    /// It becomes the sums of the columns of `op(B)`.
    SumsOfB,
}

/// `cublasLtEpilogue_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Epilogue {
    pub(super) function: Function,
    pub(super) bias: Bias,
    /// Whether there is an auxiliary matrix.
    pub(super) aux: bool,
}

impl Epilogue {
    pub(super) fn of(number: i64) -> Outcome<Epilogue> {
        let (function, bias, aux) = match number {
            1 => (Function::Identity, Bias::None, false),
            2 => (Function::Relu, Bias::None, false),
            4 => (Function::Identity, Bias::Added, false),
            6 => (Function::Relu, Bias::Added, false),
            32 => (Function::Gelu, Bias::None, false),
            36 => (Function::Gelu, Bias::Added, false),
            130 => (Function::Relu, Bias::None, true),
            134 => (Function::Relu, Bias::Added, true),
            136 => (Function::ReluGradient, Bias::None, true),
            152 => (Function::ReluGradient, Bias::SumsOfResult, true),
            160 => (Function::Gelu, Bias::None, true),
            164 => (Function::Gelu, Bias::Added, true),
            192 => (Function::GeluGradient, Bias::None, true),
            208 => (Function::GeluGradient, Bias::SumsOfResult, true),
            256 => (Function::Identity, Bias::SumsOfA, false),
            512 => (Function::Identity, Bias::SumsOfB, false),
            _ => return Err(INVALID_VALUE),
        };
        Ok(Epilogue { function, bias, aux })
    }

    pub(super) fn is_default(self) -> bool {
        self == Epilogue { function: Function::Identity, bias: Bias::None, aux: false }
    }

    /// Whether the auxiliary matrix is read; otherwise it is written.
    pub(super) fn reads_aux(self) -> bool {
        matches!(self.function, Function::ReluGradient | Function::GeluGradient)
    }

    /// Whether the auxiliary matrix has bits.
    pub(super) fn has_bits(self) -> bool {
        matches!(self.function, Function::Relu | Function::ReluGradient)
    }
}

/// The type of the vector `bias`: the one that the descriptor names, or that of the result with the documented exceptions.
pub(super) fn bias_type(named: i64, [a, c, d]: [DataType; 3], scale: DataType) -> Outcome<DataType> {
    use DataType::{Bf16, E4M3, E5M2, F16, F32, I8};
    let is_fp8 = matches!(a, E4M3 | E5M2);
    let usual = match d {
        I8 => scale,
        F32 if is_fp8 => Bf16,
        E4M3 | E5M2 => c,
        other => other,
    };
    if named == -1 {
        return Ok(usual);
    }
    let named = DataType::of(named as i32)?;
    let is_allowed =
        named == usual || (scale == F32 && matches!(named, F32 | F16 | Bf16) && (named == F32 || named == a));
    if is_allowed { Ok(named) } else { Err(INVALID_VALUE) }
}

/// `sqrt(2 / pi)` and the factor of the cube, in the approximation by a hyperbolic tangent that cuBLAS has.
const GELU: (f64, f64) = (0.797_884_560_802_865_4, 0.044_715);

pub(super) fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + (GELU.0 * (x + GELU.1 * x * x * x)).tanh())
}

/// The derivative of [`gelu`].
pub(super) fn gelu_slope(x: f64) -> f64 {
    let tangent = (GELU.0 * (x + GELU.1 * x * x * x)).tanh();
    let inner = GELU.0 * (1.0 + 3.0 * GELU.1 * x * x);
    0.5 * (1.0 + tangent) + 0.5 * x * (1.0 - tangent * tangent) * inner
}
