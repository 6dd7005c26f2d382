//! Products of two sparse matrices, in phases: the number of entries is known on the host after the second one.

use crate::accumulator::{Accumulator, Columns};
use crate::call::{Call, Op, WORKSPACE};
use crate::handle::Handle;
use crate::numbers::{Number, Type, add_scaled, with_numbers, write_integers};
use crate::pattern::{Pattern, Sparse};
use crate::sparse_descriptor::{set_count, sparse};
use crate::sparse_matrix::{self as operands, Format, SparseMatrix};
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome, write};
use crate::types::*;
use cuarray_stream_work::{Objects, Rows};
use num_complex::Complex;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most entries of a product: they take 2 to 4 GB on the host until they are copied.
const MOST_ENTRIES: usize = 1 << 27;

/// The result of a computation on the host: the entries of the product, and the number of products of entries.
#[derive(Debug, Default)]
struct Computed {
    product: Sparse<Complex<f64>>,
    products: usize,
    /// Whether the product has too many entries.
    is_too_large: bool,
}

/// The target of `cusparseSpGEMMDescr_t`.
#[derive(Clone, Debug, Default)]
struct Product {
    computed: Arc<Mutex<Computed>>,
    /// The buffer of the last phase that computed, which the library needs until the result is copied.
    buffer: u64,
}

impl Product {
    /// The number of entries, after a phase that has computed them.
    fn count(&self) -> Outcome<usize> {
        let computed = self.computed();
        if computed.is_too_large {
            return Err(cusparseStatus_t::INSUFFICIENT_RESOURCES);
        }
        Ok(computed.product.pattern.count())
    }

    /// Checks that the product is computed, and that the matrix has as many entries.
    fn check_copied_to(&self, c: &SparseMatrix) -> Outcome {
        let counted = self.count()?;
        if self.buffer == 0 || c.count != counted { Err(INVALID_VALUE) } else { Ok(()) }
    }

    fn computed(&self) -> MutexGuard<'_, Computed> {
        self.computed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

static PRODUCTS: Objects<Product, cusparseStatus_t> = Objects::new(0x637e_0000_0000, INVALID_VALUE);

/// Keeps the buffer of a computed product, and gives the result its number of entries.
fn set_counted(
    descriptor: cusparseSpGEMMDescr_t,
    product: &Product,
    buffer: *mut c_void,
    c: cusparseSpMatDescr_t,
) -> Outcome {
    PRODUCTS.change(descriptor, |product| {
        product.buffer = buffer.addr() as u64;
        Ok(())
    })?;
    set_count(c, product.count()?)
}

/// `cusparseSpGEMM_createDescr`.
pub(crate) fn create(to: *mut cusparseSpGEMMDescr_t) -> Outcome {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    write(to, PRODUCTS.add(Product::default()))
}

/// `cusparseSpGEMM_destroyDescr`.
pub(crate) fn destroy(descriptor: cusparseSpGEMMDescr_t) -> Outcome {
    PRODUCTS.remove(descriptor).map(drop)
}

/// The product of two matrices by rows, and the number of products of entries. None if there are too many entries.
fn multiply<W: Number>(a: &Sparse<W>, b: &Sparse<W>) -> Option<(Sparse<W>, usize)> {
    let (of_a, of_b) = (&a.pattern, &b.pattern);
    let columns = Columns::of(&[of_b]);
    let ranks = columns.ranks(of_b);
    let (mut sums, mut products) = (Accumulator::new(columns), 0);
    for row in 0..of_a.lines() {
        for entry in of_a.line(row) {
            let range = of_b.line(of_a.indices[entry]);
            products += range.len();
            range.for_each(|other| sums.add(ranks[other], a.values[entry] * b.values[other]));
        }
        if sums.end_row() > MOST_ENTRIES {
            return None;
        }
    }
    Some((sums.matrix((of_a.rows, of_b.columns)), products))
}

/// The operands of a product.
#[derive(Clone, Copy)]
struct Factors {
    a: SparseMatrix,
    b: SparseMatrix,
    c: SparseMatrix,
}

impl Factors {
    fn of(
        ops: [cusparseOperation_t; 2],
        a: cusparseSpMatDescr_t,
        b: cusparseSpMatDescr_t,
        c: cusparseSpMatDescr_t,
    ) -> Outcome<Factors> {
        let ops = [Op::of(ops[0])?, Op::of(ops[1])?];
        let (a, b, c) = (sparse(a)?, sparse(b)?, sparse(c)?);
        if a.columns != b.rows || (c.rows, c.columns) != (a.rows, b.columns) {
            return Err(INVALID_VALUE);
        }
        if ops != [Op::None; 2] || a.kind != b.kind || a.kind != c.kind || [a.batch, b.batch, c.batch] != [1; 3] {
            return Err(NOT_SUPPORTED);
        }
        [a, b, c].iter().try_for_each(|matrix| matrix.check_format(|format| format == Format::Csr))?;
        Ok(Factors { a, b, c })
    }

    /// The type of the scalars, if the call may compute in it.
    fn compute(&self, compute: cudaDataType) -> Outcome<Type> {
        let compute = Type::of(compute)?;
        let is_supported = match self.a.kind {
            Type::F16 | Type::BF16 => compute == Type::F32,
            Type::C16 | Type::CB16 => compute == Type::C32,
            Type::I8 | Type::I32 => false,
            kind => compute == kind,
        };
        if is_supported { Ok(compute) } else { Err(NOT_SUPPORTED) }
    }
}

/// Whether a phase asks for the size of its buffer, which it gets then.
fn asks(size: *mut usize, buffer: *mut c_void) -> Outcome<bool> {
    if buffer.is_null() {
        write(size, WORKSPACE)?;
        return Ok(true);
    }
    Ok(false)
}

/// Counts the products of entries, for which it waits.
fn estimate(handle: &Handle, factors: Factors, product: &Product, buffer: *mut c_void) -> Outcome {
    let mut call = Call::of(handle);
    call.workspace(buffer, WORKSPACE)?;
    let a = factors.a.reads_positions(&mut call, &operands::A)?;
    let b = factors.b.reads_positions(&mut call, &operands::B)?;
    let product = product.clone();
    call.computes_and_waits(move |data| {
        let (a, b) = (a.get(data), b.get(data));
        let lengths = |b: &Pattern| -> Vec<usize> { (0..b.lines()).map(|line| b.line(line).len()).collect() };
        if let (Some(a), Some(b)) = (a.first(), b.first()) {
            let lengths = lengths(b);
            product.computed().products = a.entries().map(|(_, column, _)| lengths[column]).sum();
        }
    })
}

/// `cusparseSpGEMM_workEstimation`.
pub(crate) fn estimation(
    handle: &Handle,
    op_a: cusparseOperation_t,
    op_b: cusparseOperation_t,
    _: *const c_void,
    a: cusparseSpMatDescr_t,
    b: cusparseSpMatDescr_t,
    _: *const c_void,
    c: cusparseSpMatDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    descriptor: cusparseSpGEMMDescr_t,
    size: *mut usize,
    buffer: *mut c_void,
) -> Outcome {
    let (factors, product) = (Factors::of([op_a, op_b], a, b, c)?, PRODUCTS.get(descriptor)?);
    factors.compute(compute)?;
    if asks(size, buffer)? { Ok(()) } else { estimate(handle, factors, &product, buffer) }
}

/// `cusparseSpGEMM_getNumProducts`.
pub(crate) fn get_products(descriptor: cusparseSpGEMMDescr_t, count: *mut i64) -> Outcome {
    write(count, PRODUCTS.get(descriptor)?.computed().products as i64)
}

/// `cusparseSpGEMM_estimateMemory`: the sizes of two buffers.
pub(crate) fn estimate_memory(
    _: &Handle,
    op_a: cusparseOperation_t,
    op_b: cusparseOperation_t,
    _: *const c_void,
    a: cusparseSpMatDescr_t,
    b: cusparseSpMatDescr_t,
    _: *const c_void,
    c: cusparseSpMatDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    descriptor: cusparseSpGEMMDescr_t,
    chunk: f32,
    size: *mut usize,
    buffer: *mut c_void,
    next_size: *mut usize,
) -> Outcome {
    PRODUCTS.get(descriptor)?;
    Factors::of([op_a, op_b], a, b, c)?.compute(compute)?;
    if !(chunk > 0.0 && chunk <= 1.0) {
        return Err(INVALID_VALUE);
    }
    if asks(size, buffer)? { Ok(()) } else { write(next_size, WORKSPACE) }
}

/// `cusparseSpGEMM_compute`: computes the product, and waits for the number of its entries.
pub(crate) fn compute(
    handle: &Handle,
    op_a: cusparseOperation_t,
    op_b: cusparseOperation_t,
    alpha: *const c_void,
    a: cusparseSpMatDescr_t,
    b: cusparseSpMatDescr_t,
    _: *const c_void,
    c: cusparseSpMatDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    descriptor: cusparseSpGEMMDescr_t,
    size: *mut usize,
    buffer: *mut c_void,
) -> Outcome {
    let (factors, product) = (Factors::of([op_a, op_b], a, b, c)?, PRODUCTS.get(descriptor)?);
    let compute = factors.compute(compute)?;
    if asks(size, buffer)? {
        return Ok(());
    }
    let mut call = Call::of(handle);
    let alpha = call.scalar(c"alpha", alpha, compute)?;
    call.workspace(buffer, WORKSPACE)?;
    let a = factors.a.reads(&mut call, &operands::A)?;
    let b = factors.b.reads(&mut call, &operands::B)?;
    let result = product.clone();
    with_numbers!(compute.is_complex(), W => call.computes_and_waits(move |data| {
        let alpha: W = alpha.get(data);
        let Some((found, products)) = multiply::<W>(&a.one(data), &b.one(data)) else {
            *result.computed() = Computed { is_too_large: true, ..Computed::default() };
            return;
        };
        let complex = |value: &W| {
            let (re, im) = (alpha * *value).parts();
            Complex::new(re, im)
        };
        let values = found.values.iter().map(complex).collect();
        *result.computed() = Computed { product: Sparse { pattern: found.pattern, values }, products, is_too_large: false };
    }))?;
    set_counted(descriptor, &product, buffer, c)
}

/// `cusparseSpGEMM_copy`: writes the product, plus the former values with a factor.
pub(crate) fn copy(
    handle: &Handle,
    op_a: cusparseOperation_t,
    op_b: cusparseOperation_t,
    _: *const c_void,
    a: cusparseSpMatDescr_t,
    b: cusparseSpMatDescr_t,
    beta: *const c_void,
    c: cusparseSpMatDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    descriptor: cusparseSpGEMMDescr_t,
) -> Outcome {
    let (factors, product) = (Factors::of([op_a, op_b], a, b, c)?, PRODUCTS.get(descriptor)?);
    let (compute, c) = (factors.compute(compute)?, factors.c);
    product.check_copied_to(&c)?;
    let mut call = Call::of(handle);
    let beta = call.scalar(c"beta", beta, compute)?;
    call.reads(c"externalBuffer2", Rows::of::<u8>(product.buffer, WORKSPACE).into())?;
    let offsets = c.writes(&mut call, &operands::C, 0)?;
    let indices = c.writes(&mut call, &operands::C, 1)?;
    let (name, region) = c.values(&operands::C);
    let to = call.scaled(name, region, beta)?;
    with_numbers!(compute.is_complex(), W => call.computes(move |data| {
        let beta: W = beta.get(data);
        let computed = product.computed();
        let Sparse { pattern, values } = &computed.product;
        write_integers(data, offsets, c.integers[0], c.base, pattern.offsets.iter().copied());
        write_integers(data, indices, c.integers[1], c.base, pattern.indices.iter().copied());
        let values: Vec<W> = values.iter().map(|value| W::of_parts(value.re, value.im)).collect();
        add_scaled(data, to, c.kind, beta, &values);
    }))
}

/// `cusparseSpGEMMreuse_workEstimation`.
pub(crate) fn reuse_estimation(
    handle: &Handle,
    op_a: cusparseOperation_t,
    op_b: cusparseOperation_t,
    a: cusparseSpMatDescr_t,
    b: cusparseSpMatDescr_t,
    c: cusparseSpMatDescr_t,
    _: cusparseAlg_t,
    descriptor: cusparseSpGEMMDescr_t,
    size: *mut usize,
    buffer: *mut c_void,
) -> Outcome {
    let (factors, product) = (Factors::of([op_a, op_b], a, b, c)?, PRODUCTS.get(descriptor)?);
    if asks(size, buffer)? { Ok(()) } else { estimate(handle, factors, &product, buffer) }
}

/// `cusparseSpGEMMreuse_nnz`: computes the pattern of the product, and waits for the number of its entries.
pub(crate) fn reuse_nnz(
    handle: &Handle,
    op_a: cusparseOperation_t,
    op_b: cusparseOperation_t,
    a: cusparseSpMatDescr_t,
    b: cusparseSpMatDescr_t,
    c: cusparseSpMatDescr_t,
    _: cusparseAlg_t,
    descriptor: cusparseSpGEMMDescr_t,
    size2: *mut usize,
    buffer2: *mut c_void,
    size3: *mut usize,
    buffer3: *mut c_void,
    size4: *mut usize,
    buffer4: *mut c_void,
) -> Outcome {
    let (factors, product) = (Factors::of([op_a, op_b], a, b, c)?, PRODUCTS.get(descriptor)?);
    if buffer2.is_null() && buffer3.is_null() && buffer4.is_null() {
        return [size2, size3, size4].into_iter().try_for_each(|size| write(size, WORKSPACE));
    }
    let mut call = Call::of(handle);
    for buffer in [buffer2, buffer3, buffer4] {
        call.workspace(buffer, WORKSPACE)?;
    }
    let of_a = factors.a.reads_positions(&mut call, &operands::A)?;
    let of_b = factors.b.reads_positions(&mut call, &operands::B)?;
    let result = product.clone();
    call.computes_and_waits(move |data| {
        let ones = |mut patterns: Vec<Pattern>| {
            let pattern = patterns.pop().unwrap_or_default();
            let values = vec![Complex::new(1.0, 0.0); pattern.count()];
            Sparse { pattern, values }
        };
        let found = multiply(&ones(of_a.get(data)), &ones(of_b.get(data)));
        let is_too_large = found.is_none();
        let (product, products) = found.unwrap_or_default();
        *result.computed() = Computed { product, products, is_too_large };
    })?;
    set_counted(descriptor, &product, buffer3, c)
}

/// `cusparseSpGEMMreuse_copy`: writes the offsets and columns of the product.
pub(crate) fn reuse_copy(
    handle: &Handle,
    op_a: cusparseOperation_t,
    op_b: cusparseOperation_t,
    a: cusparseSpMatDescr_t,
    b: cusparseSpMatDescr_t,
    c: cusparseSpMatDescr_t,
    _: cusparseAlg_t,
    descriptor: cusparseSpGEMMDescr_t,
    size: *mut usize,
    buffer: *mut c_void,
) -> Outcome {
    let (factors, product) = (Factors::of([op_a, op_b], a, b, c)?, PRODUCTS.get(descriptor)?);
    if asks(size, buffer)? {
        return Ok(());
    }
    let c = factors.c;
    product.check_copied_to(&c)?;
    let mut call = Call::of(handle);
    call.workspace(buffer, WORKSPACE)?;
    call.reads(c"externalBuffer3", Rows::of::<u8>(product.buffer, WORKSPACE).into())?;
    let offsets = c.writes(&mut call, &operands::C, 0)?;
    let indices = c.writes(&mut call, &operands::C, 1)?;
    call.computes(move |data| {
        let computed = product.computed();
        let pattern = &computed.product.pattern;
        write_integers(data, offsets, c.integers[0], c.base, pattern.offsets.iter().copied());
        write_integers(data, indices, c.integers[1], c.base, pattern.indices.iter().copied());
    })
}

/// `cusparseSpGEMMreuse_compute`: the values of the product, whose pattern is there.
pub(crate) fn reuse_compute(
    handle: &Handle,
    op_a: cusparseOperation_t,
    op_b: cusparseOperation_t,
    alpha: *const c_void,
    a: cusparseSpMatDescr_t,
    b: cusparseSpMatDescr_t,
    beta: *const c_void,
    c: cusparseSpMatDescr_t,
    compute: cudaDataType,
    _: cusparseAlg_t,
    descriptor: cusparseSpGEMMDescr_t,
) -> Outcome {
    let (factors, product) = (Factors::of([op_a, op_b], a, b, c)?, PRODUCTS.get(descriptor)?);
    let (compute, c) = (factors.compute(compute)?, factors.c);
    if product.buffer == 0 {
        return Err(INVALID_VALUE);
    }
    let mut call = Call::of(handle);
    let (alpha, beta) = (call.scalar(c"alpha", alpha, compute)?, call.scalar(c"beta", beta, compute)?);
    let a = factors.a.reads(&mut call, &operands::A)?;
    let b = factors.b.reads(&mut call, &operands::B)?;
    c.reads_positions(&mut call, &operands::C)?;
    let (name, region) = c.values(&operands::C);
    let to = call.scaled(name, region, beta)?;
    with_numbers!(compute.is_complex(), W => call.computes(move |data| {
        let (alpha, beta): (W, W) = (alpha.get(data), beta.get(data));
        let (mut found, _) = multiply::<W>(&a.one(data), &b.one(data)).unwrap_or_default();
        found.values.iter_mut().for_each(|value| *value *= alpha);
        // Other patterns than those of the analysis give another number of entries.
        found.values.resize(c.count, W::default());
        add_scaled(data, to, c.kind, beta, &found.values);
    }))
}
