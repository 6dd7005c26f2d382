//! Products of general matrices as works: the accesses of a call, the types of its sums, and its values.

use crate::arguments::{Call, Given, Op, leading, size};
use crate::elements::{load, store};
use crate::handle::Handle;
use crate::layout::Stored;
use crate::product::{View, multiply};
use crate::scalar::{Complex32, Complex64, DataType, Scalar};
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome};
use crate::types::{cublasComputeType_t, cublasGemmAlgo_t, cublasOperation_t};
use cuarray_stream_work::{Argument, Data, Part};
use half::f16;
use std::ffi::c_void;

/// Matrices at constant distances.
#[derive(Clone, Copy)]
pub(crate) struct Matrices {
    pub(crate) address: u64,
    pub(crate) data: DataType,
    pub(crate) leading: i64,
    pub(crate) stride: i64,
    /// Whether the address is that of an array of pointers.
    pub(crate) by_pointers: bool,
}

/// The type of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compute {
    F16,
    F32,
    F64,
    I32,
}

impl Compute {
    pub(crate) fn of(number: cublasComputeType_t) -> Outcome<Compute> {
        match number {
            64 | 65 => Ok(Compute::F16),
            68 | 69 | 74 | 75 | 77 | 78 => Ok(Compute::F32),
            70 | 71 | 79 => Ok(Compute::F64),
            72 | 73 => Ok(Compute::I32),
            _ => Err(NOT_SUPPORTED),
        }
    }

    /// Whether matrices of these types can be multiplied, by the table of `cublasGemmEx`.
    pub(crate) fn accepts(self, a: DataType, b: DataType, c: DataType) -> bool {
        use DataType::{Bf16, C32, C64, CI8, F16, F32, F64, I8, I32};
        a == b
            && match self {
                Compute::F16 => (a, c) == (F16, F16),
                Compute::I32 => (a, c) == (I8, I32),
                Compute::F32 => {
                    matches!((a, c), (Bf16, Bf16 | F32) | (F16, F16 | F32) | (I8, F32) | (F32, F32) | (CI8 | C32, C32))
                }
                Compute::F64 => matches!((a, c), (F64, F64) | (C64, C64)),
            }
    }
}

/// A product: `c = alpha * op(a) * op(b) + beta * c`.
pub(crate) struct Product {
    pub(crate) operations: [cublasOperation_t; 2],
    pub(crate) size: [i64; 3],
    pub(crate) a: Matrices,
    pub(crate) b: Matrices,
    pub(crate) c: Matrices,
    pub(crate) count: i64,
}

/// The factors of a call, as their type has them.
#[derive(Clone, Copy)]
pub(crate) struct Factors {
    pub(crate) alpha: *const c_void,
    pub(crate) beta: *const c_void,
}

impl Product {
    /// Enqueues the product with factors and sums of type `S`.
    pub(crate) fn enqueue<S: Scalar>(self, handle: &Handle, factors: Factors, factor: FactorType) -> Outcome {
        let mut call = Call::of(handle);
        let [op_a, op_b] = self.operations.map(Op::of);
        let (op_a, op_b) = (op_a?, op_b?);
        let [m, n, k] = self.size.map(size);
        let (m, n, k, count) = (m?, n?, k?, size(self.count)?);
        let (stored_a, stored_b) = (op_a.stored(m, k), op_b.stored(k, n));
        let stored = |of: Matrices, (rows, columns)| -> Outcome<(Stored, usize)> {
            let leading = leading(of.leading, rows)?;
            let stride = size(of.stride)?;
            Ok((Stored::typed(of.address, of.data, (rows, columns), leading), stride))
        };
        let (a, stride_a) = stored(self.a, stored_a)?;
        let (b, stride_b) = stored(self.b, stored_b)?;
        let (c, stride_c) = stored(self.c, (m, n))?;
        if factors.alpha.is_null() || factors.beta.is_null() {
            return Err(INVALID_VALUE);
        }
        if m == 0 || n == 0 || count == 0 {
            return Ok(());
        }
        let by_pointers = self.a.by_pointers;
        let region = |of: Stored, stride: usize| match by_pointers {
            true => of.behind_pointers(count, Part::All),
            false => of.batch(count, stride),
        };
        let alpha = factor.read::<S>(&mut call, c"alpha", factors.alpha)?;
        let beta = factor.read::<S>(&mut call, c"beta", factors.beta)?;
        let is_scaled_only = alpha.is(S::default()) || k == 0;
        if is_scaled_only && beta.is(S::one()) {
            return Ok(());
        }
        let inputs = match is_scaled_only {
            true => None,
            false => {
                let a = call.multiplied(c"A", region(a, stride_a), alpha)?;
                Some((a, call.multiplied(c"B", region(b, stride_b), alpha)?))
            }
        };
        let result = call.scaled(c"C", region(c, stride_c), beta)?;
        let part =
            |stored: (usize, usize), stride: usize| if stride == 0 && !by_pointers { 0 } else { stored.0 * stored.1 };
        let plan = Plan {
            operations: [op_a, op_b],
            size: [m, n, k],
            rows: [stored_a.0, stored_b.0],
            parts: [part(stored_a, stride_a), part(stored_b, stride_b), part((m, n), stride_c)],
            types: [self.a.data, self.b.data, self.c.data],
            count,
        };
        call.computes(move |data| {
            let (alpha, beta) = (factor.value::<S>(alpha, data), factor.value::<S>(beta, data));
            plan.run(alpha, beta, inputs, result, data);
        })
    }
}

/// The type of factors in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FactorType {
    /// The type of the sums.
    Sums,
    /// `__half`, where sums are `float`.
    F16,
    /// `int`, where sums are computed as `double`.
    I32,
}

impl FactorType {
    fn read<S: Scalar>(
        self,
        call: &mut Call<'_>,
        name: &'static std::ffi::CStr,
        pointer: *const c_void,
    ) -> Outcome<Given<S>> {
        let data = match self {
            FactorType::Sums => return call.scalar(name, pointer.cast::<S>()),
            FactorType::F16 => DataType::F16,
            FactorType::I32 => DataType::I32,
        };
        if call.on_device {
            let stored = Stored::typed(pointer.addr() as u64, data, (1, 1), 1);
            return Ok(Given::Device(call.reads(name, stored.region())?));
        }
        let value = match self {
            // SAFETY: in host pointer mode the pointer is that of a factor, by the contract of the C function. Any alignment is read.
            FactorType::F16 => f64::from(unsafe { pointer.cast::<f16>().read_unaligned() }),
            // SAFETY: as above.
            _ => f64::from(unsafe { pointer.cast::<i32>().read_unaligned() }),
        };
        Ok(Given::Host(number(value)))
    }

    fn value<S: Scalar>(self, given: Given<S>, data: &mut Data<'_>) -> S {
        match (self, given) {
            (FactorType::F16, Given::Device(argument)) => number(data.take::<f16>(argument)[0].into()),
            (FactorType::I32, Given::Device(argument)) => number(data.take::<i32>(argument)[0].into()),
            _ => given.value(data),
        }
    }
}

fn number<S: Scalar>(value: f64) -> S {
    S::real(num_traits::NumCast::from(value).unwrap_or_default())
}

/// A product whose arguments are checked.
#[derive(Clone, Copy)]
struct Plan {
    operations: [Op; 2],
    size: [usize; 3],
    /// The rows of the stored factors.
    rows: [usize; 2],
    /// The elements from one matrix of a batch to the next.
    parts: [usize; 3],
    types: [DataType; 3],
    count: usize,
}

impl Plan {
    fn run<S: Scalar>(
        &self,
        alpha: S,
        beta: S,
        inputs: Option<(Argument, Argument)>,
        result: Argument,
        data: &mut Data<'_>,
    ) {
        let [m, n, k] = self.size;
        let (a, b): (&[u8], &[u8]) = match inputs {
            Some((a, b)) => (data.take(a), data.take(b)),
            None => (&[], &[]),
        };
        let size = [m, n, if inputs.is_some() { k } else { 0 }];
        let factor = |bytes, index: usize| {
            let mut numbers = load::<S>(self.types[index], bytes);
            if S::IS_COMPLEX && self.operations[index] == Op::Adjoint {
                numbers.to_mut().iter_mut().for_each(|number| *number = number.conj());
            }
            numbers
        };
        let (a, b) = (factor(a, 0), factor(b, 1));
        let view = |numbers, index: usize| {
            let view = View::columns(numbers, self.rows[index]);
            if self.operations[index].swaps() { view.transposed() } else { view }
        };
        let is_native = self.types[2] == S::TYPE;
        let bytes = data.take::<u8>(result);
        let mut converted = Vec::new();
        let numbers: &mut [S] = if is_native {
            // SAFETY: any bytes are values of a `Plain` type.
            unsafe { bytes.align_to_mut::<S>() }.1
        } else {
            match beta.is_zero() {
                true => converted.resize(bytes.len() / self.types[2].size(), S::default()),
                false => converted.extend_from_slice(&load::<S>(self.types[2], bytes)),
            }
            &mut converted
        };
        for item in 0..self.count {
            let part = |index: usize| item * self.parts[index];
            let (a, b) = (view(a.get(part(0)..).unwrap_or_default(), 0), view(b.get(part(1)..).unwrap_or_default(), 1));
            multiply(size, alpha, a, b, beta, &mut numbers[part(2)..], (1, m));
        }
        if !is_native {
            store(self.types[2], bytes, &converted);
        }
    }
}

impl Product {
    /// Enqueues the product with sums of a type that the call names.
    pub(crate) fn enqueue_typed(
        self,
        handle: &Handle,
        factors: Factors,
        compute: cublasComputeType_t,
        algorithm: cublasGemmAlgo_t,
    ) -> Outcome {
        if !matches!(algorithm, -1..=23 | 99..=115 | 999) {
            return Err(INVALID_VALUE);
        }
        let compute = Compute::of(compute)?;
        if !compute.accepts(self.a.data, self.b.data, self.c.data) {
            return Err(NOT_SUPPORTED);
        }
        match (compute, self.c.data.is_complex()) {
            (Compute::F16, _) => self.enqueue::<f32>(handle, factors, FactorType::F16),
            (Compute::F32, false) => self.enqueue::<f32>(handle, factors, FactorType::Sums),
            (Compute::F32, true) => self.enqueue::<Complex32>(handle, factors, FactorType::Sums),
            (Compute::F64, false) => self.enqueue::<f64>(handle, factors, FactorType::Sums),
            (Compute::F64, true) => self.enqueue::<Complex64>(handle, factors, FactorType::Sums),
            // A `double` holds each sum of products of 8-bit integers exactly.
            (Compute::I32, _) => self.enqueue::<f64>(handle, factors, FactorType::I32),
        }
    }
}
