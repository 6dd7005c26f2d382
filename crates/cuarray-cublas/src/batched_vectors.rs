//! Products of batches of matrices with vectors, and groups of batches of products.

use crate::arguments::{Call, Op, leading, size};
use crate::elements::{load, store};
use crate::general::{Factors, Matrices, Product};
use crate::handle::Handle;
use crate::layout::{Order, Stored, Vector};
use crate::scalar::{DataType, Scalar};
use crate::status::{INVALID_VALUE, Outcome};
use crate::types::{cublasComputeType_t, cublasOperation_t, cudaDataType};
use cuarray_stream_work::{Part, Region};
use std::ffi::{c_int, c_void};

/// The vectors or matrices of a batch.
#[derive(Clone, Copy)]
struct Batch {
    address: u64,
    data: DataType,
    /// The leading dimension, or the increment.
    step: i64,
    /// The distance of the parts; none if the address is that of an array of pointers.
    stride: Option<i64>,
}

impl Batch {
    fn region(&self, stored: Stored, count: usize) -> Outcome<Region> {
        Ok(match self.stride {
            Some(stride) => stored.batch(count, size(stride)?),
            None => stored.behind_pointers(count, Part::All),
        })
    }

    /// The distance of the parts in what the closure sees.
    fn part(&self, elements: usize) -> usize {
        if self.stride == Some(0) { 0 } else { elements }
    }

    /// The vectors of a batch, each of `n` elements.
    fn vectors(&self, n: usize, count: usize) -> Outcome<(Region, Order)> {
        if self.step == 0 {
            return Err(INVALID_VALUE);
        }
        let vector = Vector { address: self.address, element: self.data.size(), n, increment: self.step };
        let increment = usize::try_from(self.step.unsigned_abs()).map_err(|_| INVALID_VALUE)?;
        let shape = if increment == 1 { (n, 1, n.max(1)) } else { (1, n, increment) };
        let stored = Stored::typed(self.address, self.data, (shape.0, shape.1), shape.2);
        Ok((self.region(stored, count)?, vector.order()))
    }
}

/// Enqueues `y = alpha * op(a) * x + beta * y` for each part of a batch.
fn multiply<S: Scalar>(
    handle: &Handle,
    (trans, m, n): (cublasOperation_t, i64, i64),
    (alpha, beta): (*const S, *const S),
    [a, x, y]: [Batch; 3],
    count: i64,
) -> Outcome {
    let mut call = Call::of(handle);
    let (op, m, n, count) = (Op::of(trans)?, size(m)?, size(n)?, size(count)?);
    let (rows, columns) = op.stored(m, n);
    let matrix = a.region(Stored::typed(a.address, a.data, (m, n), leading(a.step, m)?), count)?;
    let ((of_x, order_x), (of_y, order_y)) = (x.vectors(columns, count)?, y.vectors(rows, count)?);
    let (alpha, beta) = (call.scalar(c"alpha", alpha)?, call.scalar(c"beta", beta)?);
    if m == 0 || n == 0 || count == 0 || (alpha.is(S::zero()) && beta.is(S::one())) {
        return Ok(());
    }
    let inputs = match alpha.is(S::zero()) {
        true => None,
        false => Some((call.multiplied(c"A", matrix, alpha)?, call.multiplied(c"x", of_x, alpha)?)),
    };
    let result = call.scaled(c"y", of_y, beta)?;
    call.computes(move |data| {
        let (alpha, beta) = (alpha.value(data), beta.value(data));
        let inputs = inputs.filter(|_| !alpha.is_zero());
        let (matrix, vector): (&[u8], &[u8]) = match inputs {
            Some((matrix, vector)) => (data.take(matrix), data.take(vector)),
            None => (&[], &[]),
        };
        let (matrix, vector) = (load::<S>(a.data, matrix), load::<S>(x.data, vector));
        let bytes = data.take::<u8>(result);
        let mut values = load::<S>(y.data, bytes).into_owned();
        for item in 0..count {
            let (of_a, of_x) = (item * a.part(m * n), item * x.part(columns));
            for row in 0..rows {
                let mut sum = S::zero();
                if inputs.is_some() {
                    for column in 0..columns {
                        let place = if op.swaps() { row * m + column } else { column * m + row };
                        sum += op.element(matrix[of_a + place]) * vector[of_x + order_x.place(column)];
                    }
                }
                let y = &mut values[item * y.part(rows) + order_y.place(row)];
                *y = if beta.is_zero() { alpha * sum } else { alpha * sum + beta * *y };
            }
        }
        store(y.data, bytes, &values);
    })
}

/// `cublas<t>gemvBatched` with the types of `A` and `x`, of `y`, and of the scalars.
macro_rules! gemv {
    ($($batched:ident $strided:ident $scalar:ident <$input:ident $output:ident>;)*) => {$(
        /// `cublas<t>gemvBatched`.
        pub(crate) fn $batched(
            handle: &Handle, trans: cublasOperation_t, m: i64, n: i64, alpha: *const $scalar, a: *const *const c_void, lda: i64,
            x: *const *const c_void, incx: i64, beta: *const $scalar, y: *const *mut c_void, incy: i64, count: i64,
        ) -> Outcome {
            let of = |address: usize, data, step| Batch { address: address as u64, data, step, stride: None };
            let (input, output) = (DataType::$input, DataType::$output);
            let batches = [of(a.addr(), input, lda), of(x.addr(), input, incx), of(y.addr(), output, incy)];
            multiply::<$scalar>(handle, (trans, m, n), (alpha, beta), batches, count)
        }

        /// `cublas<t>gemvStridedBatched`.
        pub(crate) fn $strided(
            handle: &Handle, trans: cublasOperation_t, m: i64, n: i64, alpha: *const $scalar, a: *const c_void, lda: i64, stride_a: i64,
            x: *const c_void, incx: i64, stride_x: i64, beta: *const $scalar, y: *mut c_void, incy: i64, stride_y: i64, count: i64,
        ) -> Outcome {
            let of = |address: usize, data, step, stride| Batch { address: address as u64, data, step, stride: Some(stride) };
            let (input, output) = (DataType::$input, DataType::$output);
            let batches = [
                of(a.addr(), input, lda, stride_a),
                of(x.addr(), input, incx, stride_x),
                of(y.addr(), output, incy, stride_y),
            ];
            multiply::<$scalar>(handle, (trans, m, n), (alpha, beta), batches, count)
        }
    )*};
}

gemv! {
    hsh_gemv hsh_gemv_strided f32 <F16 F16>;
    hss_gemv hss_gemv_strided f32 <F16 F32>;
    tst_gemv tst_gemv_strided f32 <Bf16 Bf16>;
    tss_gemv tss_gemv_strided f32 <Bf16 F32>;
}

/// `cublas<t>gemvBatched`.
pub(crate) fn gemv<T: Scalar>(
    handle: &Handle,
    trans: cublasOperation_t,
    m: i64,
    n: i64,
    alpha: *const T,
    a: *const *const T,
    lda: i64,
    x: *const *const T,
    incx: i64,
    beta: *const T,
    y: *const *mut T,
    incy: i64,
    count: i64,
) -> Outcome {
    let of = |address: usize, step| Batch { address: address as u64, data: T::TYPE, step, stride: None };
    let batches = [of(a.addr(), lda), of(x.addr(), incx), of(y.addr(), incy)];
    multiply::<T>(handle, (trans, m, n), (alpha, beta), batches, count)
}

/// `cublas<t>gemvStridedBatched`.
pub(crate) fn gemv_strided<T: Scalar>(
    handle: &Handle,
    trans: cublasOperation_t,
    m: i64,
    n: i64,
    alpha: *const T,
    a: *const T,
    lda: i64,
    stride_a: i64,
    x: *const T,
    incx: i64,
    stride_x: i64,
    beta: *const T,
    y: *mut T,
    incy: i64,
    stride_y: i64,
    count: i64,
) -> Outcome {
    let of =
        |address: usize, step, stride| Batch { address: address as u64, data: T::TYPE, step, stride: Some(stride) };
    let batches = [of(a.addr(), lda, stride_a), of(x.addr(), incx, stride_x), of(y.addr(), incy, stride_y)];
    multiply::<T>(handle, (trans, m, n), (alpha, beta), batches, count)
}

/// An array of the host with 32-bit or 64-bit numbers.
#[derive(Clone, Copy)]
pub(crate) enum Numbers {
    Narrow(*const c_int),
    Wide(*const i64),
}

impl From<*const c_int> for Numbers {
    fn from(pointer: *const c_int) -> Numbers {
        Numbers::Narrow(pointer)
    }
}

impl From<*const i64> for Numbers {
    fn from(pointer: *const i64) -> Numbers {
        Numbers::Wide(pointer)
    }
}

impl Numbers {
    fn at(self, index: usize) -> Outcome<i64> {
        match self {
            Numbers::Narrow(pointer) if !pointer.is_null() => {
                // SAFETY: by the contract of the C function the array of the host has a number for each group.
                Ok(unsafe { pointer.add(index).read_unaligned() }.into())
            }
            // SAFETY: as above.
            Numbers::Wide(pointer) if !pointer.is_null() => Ok(unsafe { pointer.add(index).read_unaligned() }),
            _ => Err(INVALID_VALUE),
        }
    }
}

/// `cublasGemmGroupedBatchedEx`: batches of products, each group with its own sizes. The arrays of pointers are in device memory.
pub(crate) fn gemm_grouped_ex(
    handle: &Handle,
    transa: *const cublasOperation_t,
    transb: *const cublasOperation_t,
    m: Numbers,
    n: Numbers,
    k: Numbers,
    alpha: *const c_void,
    a: *const *const c_void,
    a_type: cudaDataType,
    lda: Numbers,
    b: *const *const c_void,
    b_type: cudaDataType,
    ldb: Numbers,
    beta: *const c_void,
    c: *const *mut c_void,
    c_type: cudaDataType,
    ldc: Numbers,
    groups: i64,
    sizes: Numbers,
    compute: cublasComputeType_t,
) -> Outcome {
    let types = [DataType::of(a_type)?, DataType::of(b_type)?, DataType::of(c_type)?];
    if alpha.is_null() || beta.is_null() || handle.settings().on_device {
        // The factors of groups are an array of the host in each pointer mode.
        return Err(if alpha.is_null() || beta.is_null() { INVALID_VALUE } else { crate::status::NOT_SUPPORTED });
    }
    if !matches!(compute, 68..=71 | 74 | 75 | 77) {
        return Err(crate::status::NOT_SUPPORTED);
    }
    // Factors have the type of the sums: `double` for those, else `float`.
    let factor = if types[2] == DataType::F64 { size_of::<f64>() } else { size_of::<f32>() };
    let mut products = Vec::new();
    let mut first = 0_u64;
    for group in 0..size(groups)? {
        let count = sizes.at(group)?;
        let of = |address: usize, data, leading: Numbers| -> Outcome<Matrices> {
            let address = (address as u64).wrapping_add(if address == 0 { 0 } else { first * 8 });
            Ok(Matrices { address, data, leading: leading.at(group)?, stride: 0, by_pointers: true })
        };
        let operation =
            |array: *const cublasOperation_t| Numbers::Narrow(array).at(group).map(|number| number as c_int);
        let product = Product {
            operations: [operation(transa)?, operation(transb)?],
            size: [m.at(group)?, n.at(group)?, k.at(group)?],
            a: of(a.addr(), types[0], lda)?,
            b: of(b.addr(), types[1], ldb)?,
            c: of(c.addr(), types[2], ldc)?,
            count,
        };
        let factors =
            Factors { alpha: alpha.wrapping_byte_add(group * factor), beta: beta.wrapping_byte_add(group * factor) };
        products.push((product, factors));
        first += size(count)? as u64;
    }
    products.into_iter().try_for_each(|(product, factors)| product.enqueue_typed(handle, factors, compute, -1))
}

/// `cublas<t>gemmGroupedBatched`.
pub(crate) fn gemm_grouped<T: Scalar>(
    handle: &Handle,
    transa: *const cublasOperation_t,
    transb: *const cublasOperation_t,
    m: Numbers,
    n: Numbers,
    k: Numbers,
    alpha: *const T,
    a: *const *const T,
    lda: Numbers,
    b: *const *const T,
    ldb: Numbers,
    beta: *const T,
    c: *const *mut T,
    ldc: Numbers,
    groups: i64,
    sizes: Numbers,
) -> Outcome {
    let (kind, compute) = if T::TYPE == DataType::F64 { (1, 70) } else { (0, 68) };
    gemm_grouped_ex(
        handle,
        transa,
        transb,
        m,
        n,
        k,
        alpha.cast(),
        a.cast(),
        kind,
        lda,
        b.cast(),
        kind,
        ldb,
        beta.cast(),
        c.cast(),
        kind,
        ldc,
        groups,
        sizes,
        compute,
    )
}
