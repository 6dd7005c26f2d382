//! `cublasLtMatmul`: the accesses of a product, and its values.

use super::algorithms;
use super::descriptors::matmul;
use super::epilogue::Bias;
use super::problem::{Factor, Problem, Scale};
use super::values::Arguments;
use crate::arguments::Call;
use crate::elements::load;
use crate::general::Compute;
use crate::handle::{self, Handle};
use crate::layout::Stored;
use crate::scalar::{Complex32, Complex64, DataType, Scalar};
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::{cublasHandle_t, cublasStatus_t, cudaStream_t};
use cuarray_abi::CUstream;
use cuarray_stream_work::{Argument, Data};
use std::ffi::{CStr, c_int, c_void};

/// The first bytes of the workspace, which a product overwrites. It needs none, but programs may not use one workspace in two streams at once.
const WORKSPACE: usize = 256;

/// A factor of the call.
#[derive(Clone, Copy)]
pub(super) enum Given<S> {
    Known(S),
    /// Numbers in device memory: their type, and the distances of the numbers of rows and of matrices.
    Device(Argument, DataType, usize, usize),
}

/// The numbers of a factor, when the work runs.
pub(super) struct Numbers<S> {
    values: Vec<S>,
    row: usize,
    item: usize,
}

impl<S: Scalar> Given<S> {
    /// Reads a factor in host memory, or adds it to the work.
    pub(super) fn read(
        call: &mut Call<'_>,
        name: &'static CStr,
        (factor, data): (Factor, DataType),
        pointer: *const c_void,
        (rows, count, stride): (usize, usize, usize),
    ) -> Outcome<Given<S>> {
        if factor == Factor::Zero {
            return Ok(Given::Known(S::default()));
        }
        if pointer.is_null() {
            return Err(INVALID_VALUE);
        }
        let address = pointer.addr() as u64;
        match factor {
            Factor::DeviceVector => {
                let region = Stored::typed(address, data, (rows, 1), rows).batch(count, stride);
                Ok(Given::Device(call.reads(name, region)?, data, 1, if stride == 0 { 0 } else { rows }))
            }
            Factor::Device => {
                let region = Stored::typed(address, data, (1, 1), 1).region();
                Ok(Given::Device(call.reads(name, region)?, data, 0, 0))
            }
            Factor::Host | Factor::Zero => {
                // The numbers of a type lie in memory with its alignment.
                let mut bytes = [0_u64; 2];
                let to = bytes.as_mut_ptr().cast::<u8>();
                // SAFETY: the pointer is that of a factor of this type, by the contract of the C function. The largest type has 16 bytes.
                unsafe { pointer.cast::<u8>().copy_to_nonoverlapping(to, data.size()) };
                // SAFETY: the array has these bytes.
                let bytes = unsafe { std::slice::from_raw_parts(to, data.size()) };
                Ok(Given::Known(load::<S>(data, bytes).first().copied().unwrap_or_default()))
            }
        }
    }

    /// Whether the call knows that the factor is 0.
    pub(super) fn is_zero(self) -> bool {
        matches!(self, Given::Known(value) if value.is_zero())
    }

    pub(super) fn numbers(self, data: &mut Data<'_>) -> Numbers<S> {
        match self {
            Given::Known(value) => Numbers { values: vec![value], row: 0, item: 0 },
            Given::Device(argument, of, row, item) => {
                let bytes: &[u8] = data.take(argument);
                Numbers { values: load::<S>(of, bytes).into_owned(), row, item }
            }
        }
    }
}

impl<S: Scalar> Numbers<S> {
    /// The number of a row of a matrix.
    pub(super) fn at(&self, item: usize, row: usize) -> S {
        self.values[item * self.item + row * self.row]
    }
}

/// The addresses of the matrices.
struct Addresses {
    a: u64,
    b: u64,
    c: u64,
    d: u64,
}

/// The factors of a call, as pointers.
struct Pointers {
    alpha: *const c_void,
    beta: *const c_void,
}

/// The matrices of an argument of 32-bit scales.
fn scale(call: &mut Call<'_>, name: &'static CStr, scale: Scale, rows: usize) -> Outcome<Option<Argument>> {
    if scale.address == 0 {
        return Ok(None);
    }
    let length = if scale.is_vector { rows } else { 1 };
    let stored = Stored::typed(scale.address, DataType::F32, (length, 1), length);
    call.reads(name, stored.region()).map(Some)
}

impl Problem {
    /// The auxiliary matrix as bytes: that of bits has the rows of its bytes.
    fn aux_stored(&self) -> (Stored, usize) {
        let size = |attribute: u32| usize::try_from(self.values.get(attribute)).unwrap_or_default();
        let (address, [m, n, _]) = (self.values.get(matmul::AUX_POINTER) as u64, self.size);
        let (leading, stride) = (size(matmul::AUX_LD), size(matmul::AUX_STRIDE));
        if self.epilogue.has_bits() {
            let stored = Stored { address, element: 1, rows: m.div_ceil(8), columns: n, leading: leading / 8 };
            return (stored, stride / 8);
        }
        (Stored::typed(address, self.aux, (m, n), leading), stride)
    }

    /// Adds the arguments to the work.
    fn arguments<S: Scalar>(
        &self,
        call: &mut Call<'_>,
        at: &Addresses,
        (alpha, beta): (Given<S>, Given<S>),
    ) -> Outcome<Arguments> {
        let [m, n, k] = self.size;
        let sums_inputs = matches!(self.epilogue.bias, Bias::SumsOfA | Bias::SumsOfB);
        let inputs = match (alpha.is_zero() || k == 0) && !sums_inputs {
            true => None,
            false => Some([call.reads(c"A", self.a.region(at.a))?, call.reads(c"B", self.b.region(at.b))?]),
        };
        let c = match beta {
            Given::Known(value) if value.is_zero() => None,
            Given::Known(_) => Some(call.reads(c"C", self.c.region(at.c))?),
            Given::Device(..) => Some(call.may_read(c"C", self.c.region(at.c))?),
        };
        let stride = usize::try_from(self.values.get(matmul::BIAS_STRIDE)).map_err(|_| INVALID_VALUE)?;
        let length = self.bias_length();
        let vector = Stored::typed(self.values.get(matmul::BIAS_POINTER) as u64, self.bias, (length, 1), length);
        let region = vector.batch(self.d.count, stride);
        let bias = match self.epilogue.bias {
            Bias::None => None,
            Bias::Added => Some(call.reads(c"bias", region)?),
            _ => Some(call.writes(c"bias", region)?),
        };
        let (stored, stride) = self.aux_stored();
        let aux = match (self.epilogue.aux, self.epilogue.reads_aux()) {
            (false, _) => None,
            (true, true) => Some(call.reads(c"aux", stored.batch(self.d.count, stride))?),
            (true, false) => Some(call.writes(c"aux", stored.batch(self.d.count, stride))?),
        };
        let of_d = Scale { address: self.values.get(matmul::D_SCALE) as u64, is_vector: false };
        let scales = [
            scale(call, c"A scale", self.scales[0], m)?,
            scale(call, c"B scale", self.scales[1], n)?,
            scale(call, c"D scale", of_d, 1)?,
        ];
        let amax = match self.values.get(matmul::AMAX_D) as u64 {
            0 => None,
            address => Some(call.writes(c"D amax", Stored::typed(address, DataType::F32, (1, 1), 1).region())?),
        };
        let d = call.writes(c"D", self.d.region(at.d))?;
        Ok(Arguments { inputs, c, d, bias, aux, scales, amax })
    }

    /// Enqueues the product with sums of type `S`.
    fn enqueue<S: Scalar>(self, mut call: Call<'_>, at: &Addresses, factors: &Pointers) -> Outcome {
        let stride = usize::try_from(self.values.get(matmul::ALPHA_STRIDE)).map_err(|_| INVALID_VALUE)?;
        let shape = |stride: usize| (self.size[0], self.d.count, stride);
        let alpha = Given::<S>::read(&mut call, c"alpha", (self.factors[0], self.scale), factors.alpha, shape(stride))?;
        let beta = Given::<S>::read(&mut call, c"beta", (self.factors[1], self.scale), factors.beta, shape(0))?;
        let arguments = self.arguments(&mut call, at, (alpha, beta))?;
        call.computes(move |data| {
            let (alpha, beta) = (alpha.numbers(data), beta.numbers(data));
            self.run(&arguments, [alpha, beta], data);
        })
    }
}

fn matmul_of(
    handle: &Handle,
    problem: Problem,
    at: &Addresses,
    factors: &Pointers,
    workspace: (u64, usize),
    stream: cudaStream_t,
) -> Outcome {
    if problem.size[0] == 0 || problem.size[1] == 0 {
        return Ok(());
    }
    let mut call = Call::in_stream(handle, CUstream(stream.addr()));
    if !workspace.0.is_multiple_of(256) {
        return Err(INVALID_VALUE);
    }
    if workspace.0 != 0 {
        call.work.scratch(c"workspace", workspace.0, workspace.1.min(WORKSPACE));
    }
    let is_complex = problem.d.data.is_complex();
    match (problem.compute, is_complex) {
        (Compute::F16, _) | (Compute::F32, false) => problem.enqueue::<f32>(call, at, factors),
        (Compute::F32, true) => problem.enqueue::<Complex32>(call, at, factors),
        // A `double` holds each sum of products of 8-bit integers exactly.
        (Compute::F64, false) | (Compute::I32, _) => problem.enqueue::<f64>(call, at, factors),
        (Compute::F64, true) => problem.enqueue::<Complex64>(call, at, factors),
    }
}

/// `cublasLtMatmul`.
///
/// # Safety
/// The descriptors, the algorithm and the factors in host memory are null or valid.
pub unsafe extern "C" fn cublasLtMatmul(
    _: c_int,
    handle: cublasHandle_t,
    descriptor: *const c_void,
    alpha: *const c_void,
    a: *const c_void,
    a_layout: *const c_void,
    b: *const c_void,
    b_layout: *const c_void,
    beta: *const c_void,
    c: *const c_void,
    c_layout: *const c_void,
    d: *mut c_void,
    d_layout: *const c_void,
    algorithm: *const c_void,
    workspace: *mut c_void,
    workspace_size: usize,
    stream: cudaStream_t,
) -> cublasStatus_t {
    cuarray_stream_work::guarded(c"cublasLtMatmul", || {
        let handle = handle::find_or_adopt(handle)?;
        let problem = Problem::open(descriptor, [a_layout, b_layout, c_layout, d_layout])?;
        if !algorithm.is_null() {
            algorithms::check(algorithm)?;
        }
        let address = |pointer: *const c_void| pointer.addr() as u64;
        let at = Addresses { a: address(a), b: address(b), c: address(c), d: address(d) };
        let factors = Pointers { alpha, beta };
        matmul_of(&handle, problem, &at, &factors, (address(workspace), workspace_size), stream)
    })
}
