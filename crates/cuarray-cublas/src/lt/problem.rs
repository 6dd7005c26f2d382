//! A product of matrices as its descriptors have it, and whether it is supported.

use super::descriptors::{FULL, Layout, MATMUL, matmul};
use super::epilogue::{Bias, Epilogue, Function, bias_type};
use super::record::Values;
use crate::arguments::Op;
use crate::general::Compute;
use crate::scalar::DataType;
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome};
use std::ffi::{c_int, c_void};

/// `cublasLtPointerMode_t`: where a factor is, and whether it is a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Factor {
    Host,
    Device,
    DeviceVector,
    Zero,
}

/// A scale of a matrix of 8-bit numbers: its address, and whether it is a vector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) address: u64,
    pub(super) is_vector: bool,
}

/// `D = function(alpha * op(A) * op(B) + beta * C + bias)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem {
    pub(super) values: Values,
    pub(super) compute: Compute,
    /// The type of `alpha` and `beta`.
    pub(super) scale: DataType,
    pub(super) factors: [Factor; 2],
    pub(super) operations: [Op; 2],
    /// The rows and columns of the result, and the length of the sums.
    pub(super) size: [usize; 3],
    pub(super) a: Layout,
    pub(super) b: Layout,
    pub(super) c: Layout,
    pub(super) d: Layout,
    pub(super) epilogue: Epilogue,
    pub(super) bias: DataType,
    pub(super) aux: DataType,
    /// The scales of `A` and `B`.
    pub(super) scales: [Scale; 2],
}

fn is_fp8(data: DataType) -> bool {
    matches!(data, DataType::E4M3 | DataType::E5M2)
}

/// The type of sums, if matrices of these types can be multiplied, by the table of `cublasLtMatmul`.
pub(super) fn types(compute: c_int, scale: DataType, [a, b, c, d]: [DataType; 4]) -> Outcome<Compute> {
    use DataType::{Bf16, C32, C64, CI8, E4M3, E5M2, F16, F32, F64, I8, I32};
    let sums = Compute::of(compute)?;
    let is_fast = matches!(compute, 74 | 75 | 77);
    let is_known = match sums {
        Compute::F16 => (scale, a, b, c, d) == (F16, F16, F16, F16, F16),
        Compute::I32 => a == I8 && b == I8 && c == d && matches!((scale, c), (I32, I32) | (F32, I8)),
        Compute::F64 => a == b && a == c && a == d && a == scale && matches!(a, F64 | C64),
        Compute::F32 if is_fast => a == b && a == c && a == d && a == scale && matches!(a, F32 | C32),
        Compute::F32 if is_fp8(a) || is_fp8(b) => {
            let inputs = matches!((a, b), (E4M3, E4M3 | E5M2) | (E5M2, E4M3));
            let outputs = match d {
                E4M3 => matches!(c, Bf16 | F16),
                E5M2 => matches!(c, Bf16 | F16) && (a, b) != (E4M3, E4M3),
                _ => c == d && matches!(d, Bf16 | F16 | F32),
            };
            scale == F32 && inputs && outputs
        }
        Compute::F32 => {
            let real = matches!((a, c), (Bf16, Bf16 | F32) | (F16, F16 | F32) | (I8 | F32, F32)) && scale == F32;
            a == b && c == d && (real || (matches!((a, c), (CI8 | C32, C32)) && scale == C32))
        }
    };
    if is_known { Ok(sums) } else { Err(NOT_SUPPORTED) }
}

impl Problem {
    /// The problem of these descriptors. It is refused as cublasLt refuses it.
    pub(super) fn open(descriptor: *const c_void, layouts: [*const c_void; 4]) -> Outcome<Problem> {
        let values = MATMUL.open(descriptor)?;
        let [a, b, c, d] = layouts.map(Layout::open);
        let (a, b, c, d) = (a?, b?, c?, d?);
        let number = |attribute: u32| values.get(attribute) as c_int;
        if values.get(matmul::FILL_MODE) != FULL || number(matmul::TRANSC) != 0 {
            return Err(NOT_SUPPORTED);
        }
        let operations = [Op::of(number(matmul::TRANSA))?, Op::of(number(matmul::TRANSB))?];
        let scale = DataType::of(number(matmul::SCALE_TYPE))?;
        let compute = types(number(matmul::COMPUTE_TYPE), scale, [a.data, b.data, c.data, d.data])?;
        let (m, n) = (d.rows, d.columns);
        let (of_a, of_b) = (operations[0].stored(a.rows, a.columns), operations[1].stored(b.rows, b.columns));
        let k = of_a.1;
        if of_a.0 != m || of_b != (k, n) || (c.rows, c.columns) != (m, n) {
            return Err(INVALID_VALUE);
        }
        let all = [a, b, c, d];
        let is_same = |of: &Layout| of.count == d.count && of.by_pointers == d.by_pointers;
        let overlaps = d.count > 1 && !d.by_pointers && d.stride == 0;
        if !all.iter().all(is_same) || overlaps {
            return Err(INVALID_VALUE);
        }
        let factors = match number(matmul::POINTER_MODE) {
            0 => [Factor::Host; 2],
            1 => [Factor::Device; 2],
            2 => [Factor::DeviceVector; 2],
            3 => [Factor::DeviceVector, Factor::Zero],
            4 => [Factor::DeviceVector, Factor::Host],
            _ => return Err(INVALID_VALUE),
        };
        let epilogue = Epilogue::of(values.get(matmul::EPILOGUE))?;
        let is_plain_only = d.data.is_complex() || d.data == DataType::I32;
        if !epilogue.is_default() && (is_plain_only || d.by_pointers || (epilogue.aux && d.by_rows)) {
            return Err(NOT_SUPPORTED);
        }
        let bias = bias_type(values.get(matmul::BIAS_TYPE), [a.data, c.data, d.data], scale)?;
        let aux = match values.get(matmul::AUX_TYPE) {
            -1 => d.data,
            named => DataType::of(named as c_int)?,
        };
        let gelu = matches!(epilogue.function, Function::Gelu | Function::GeluGradient) && epilogue.aux;
        if gelu && aux != d.data && (d.data, aux) != (DataType::E4M3, DataType::F16) {
            return Err(INVALID_VALUE);
        }
        let scales = scales(&values, &all)?;
        let problem = Problem {
            values,
            compute,
            scale,
            factors,
            operations,
            size: [m, n, k],
            a,
            b,
            c,
            d,
            epilogue,
            bias,
            aux,
            scales,
        };
        problem.check_epilogue()?;
        Ok(problem)
    }

    /// Checks the distances of the auxiliary matrix and of the vector.
    fn check_epilogue(&self) -> Outcome {
        let Problem { values, epilogue, d, .. } = self;
        if epilogue.aux {
            let (leading, stride) = (values.get(matmul::AUX_LD), values.get(matmul::AUX_STRIDE));
            let unit = if epilogue.has_bits() { 128 } else { 8 };
            let is_apart = d.count == 1 || epilogue.reads_aux() || stride > 0;
            let covers = usize::try_from(leading).is_ok_and(|leading| leading >= self.size[0]);
            if !covers || leading % unit != 0 || stride < 0 || stride % unit != 0 || !is_apart {
                return Err(INVALID_VALUE);
            }
        }
        let stride = values.get(matmul::BIAS_STRIDE);
        let is_written = !matches!(epilogue.bias, Bias::None | Bias::Added);
        if stride < 0 || (is_written && d.count > 1 && stride == 0) { Err(INVALID_VALUE) } else { Ok(()) }
    }

    /// The number of elements of `bias`.
    pub(super) fn bias_length(&self) -> usize {
        if self.epilogue.bias == Bias::SumsOfB { self.size[1] } else { self.size[0] }
    }
}

/// The scales of `A` and `B`. Those of other types than 8-bit floats are wrong; blocks of scales are not supported.
fn scales(values: &Values, [a, _, _, d]: &[Layout; 4]) -> Outcome<[Scale; 2]> {
    let address = |number: u32| values.get(number) as u64;
    let mode = |number: u32| match values.get(number) {
        0 => Ok(false),
        3 => Ok(true),
        _ => Err(NOT_SUPPORTED),
    };
    let modes = [mode(31)?, mode(32)?];
    if matmul::REFUSED.iter().any(|number| !matches!(number, 31 | 32) && values.get(*number) != 0) {
        return Err(NOT_SUPPORTED);
    }
    let is_plain = !is_fp8(a.data);
    let set_on_plain = is_plain && (address(matmul::A_SCALE) != 0 || address(matmul::B_SCALE) != 0);
    let set_on_result = !is_fp8(d.data) && (address(matmul::D_SCALE) != 0 || address(matmul::AMAX_D) != 0);
    if set_on_plain || set_on_result || address(matmul::C_SCALE) != 0 {
        return Err(INVALID_VALUE);
    }
    if modes[0] != modes[1]
        || (modes[0] && (is_plain || address(matmul::A_SCALE) == 0 || address(matmul::B_SCALE) == 0))
    {
        return Err(NOT_SUPPORTED);
    }
    let scale = |number: u32, is_vector: bool| Scale { address: address(number), is_vector };
    Ok([scale(matmul::A_SCALE, modes[0]), scale(matmul::B_SCALE, modes[1])])
}
