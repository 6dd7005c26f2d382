//! Incomplete factors with the pattern of the matrix: LU (`csrilu02`) and Cholesky (`csric02`).

use crate::call::{Call, WORKSPACE, size};
use crate::handle::Handle;
use crate::matrix_descriptor::general;
use crate::numbers::{Number, Scalar, update, with_numbers};
use crate::pattern::Pattern;
use crate::sparse_matrix::{Operand, SparseMatrix};
use crate::status::{INVALID_VALUE, Outcome, write};
use crate::types::*;
use cuarray_stream_work::{Objects, Rows, read};
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// The replacement of small pivots: the largest absolute value that is replaced, and the new value.
#[derive(Clone, Copy, Debug)]
struct Boost {
    tolerance: f64,
    value: (f64, f64),
}

/// The target of `csrilu02Info_t`, `csric02Info_t`, `bsrsv2Info_t` and `bsrsm2Info_t`.
#[derive(Clone, Debug)]
pub(crate) struct Info {
    /// The first row whose pivot is absent or 0, with the index base; -1 if there is none.
    pub(crate) pivot: Arc<AtomicI32>,
    boost: Option<Boost>,
    is_analyzed: bool,
}

static INFOS: Objects<Info, cusparseStatus_t> = Objects::new(0x637b_0000_0000, INVALID_VALUE);

/// Creates an object that keeps what functions find out about a matrix.
pub(crate) fn create(to: *mut info_t) -> Outcome {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    let pivot = Arc::new(AtomicI32::new(-1));
    write(to, INFOS.add(Info { pivot, boost: None, is_analyzed: false }))
}

/// Ends such an object.
pub(crate) fn destroy(info: info_t) -> Outcome {
    if info == 0 { Ok(()) } else { INFOS.remove(info).map(drop) }
}

/// The object of an analyzed matrix.
pub(crate) fn analyzed(info: info_t) -> Outcome<Info> {
    let info = INFOS.get(info)?;
    if info.is_analyzed { Ok(info) } else { Err(INVALID_VALUE) }
}

/// The object for an analysis, which has happened from now on.
pub(crate) fn analyzing(info: info_t) -> Outcome<Info> {
    INFOS.change(info, |info| {
        info.is_analyzed = true;
        info.pivot = Arc::new(AtomicI32::new(-1));
        Ok(info.clone())
    })
}

/// `cusparseX<name>_zeroPivot`: the first pivot that is absent or 0, for which the call waits.
pub(crate) fn zero_pivot(handle: &Handle, info: info_t, position: *mut c_int) -> Outcome {
    let pivot = INFOS.get(info)?.pivot;
    if position.is_null() {
        return Err(INVALID_VALUE);
    }
    let on_device = handle.settings().on_device;
    let mut call = Call::of(handle);
    let known = Arc::clone(&pivot);
    if on_device {
        let to = call.writes(c"position", Rows::of::<c_int>(position.addr() as u64, 1).into())?;
        call.computes_and_waits(move |data| data.take::<c_int>(to).fill(known.load(Ordering::Acquire)))?;
    } else {
        call.computes_and_waits(|_| ())?;
        write(position, known.load(Ordering::Acquire))?;
    }
    if pivot.load(Ordering::Acquire) < 0 { Ok(()) } else { Err(cusparseStatus_t::ZERO_PIVOT) }
}

/// `cusparse<t>csrilu02_numericBoost`. Both values are on the host.
pub(crate) fn boost<T: Scalar>(
    handle: &Handle,
    info: info_t,
    enable: c_int,
    tolerance: *mut f64,
    value: *mut T,
) -> Outcome {
    if handle.settings().on_device {
        return Err(crate::status::NOT_SUPPORTED);
    }
    let boost = if enable == 0 {
        None
    } else {
        let tolerance = read::<f64, cusparseStatus_t>(tolerance, 1)?.first().copied().unwrap_or_default();
        let value = read::<T, cusparseStatus_t>(value, 1)?.first().map(|value| value.parts()).unwrap_or_default();
        Some(Boost { tolerance, value })
    };
    INFOS.change(info, |info| {
        info.boost = boost;
        Ok(())
    })
}

const A: Operand = Operand::named([c"csrSortedRowPtrA", c"csrSortedColIndA", c"csrSortedValA_valM"]);

/// A square matrix of a call.
fn matrix<T: Scalar>(
    m: c_int,
    nnz: c_int,
    descriptor: cusparseMatDescr_t,
    arrays: [*const c_void; 3],
) -> Outcome<SparseMatrix> {
    let (n, base) = (size(m)?, general(descriptor)?.base());
    Ok(SparseMatrix::csr((n, n), size(nnz)?, arrays.map(|array| array.addr()), base, T::TYPE))
}

/// The size of the workspace as a 32-bit number.
pub(crate) fn needed<T: Scalar>(
    _: &Handle,
    m: c_int,
    nnz: c_int,
    descriptor: cusparseMatDescr_t,
    _: *mut T,
    _: *const c_int,
    _: *const c_int,
    info: info_t,
    bytes: *mut c_int,
) -> Outcome {
    [m, nnz].into_iter().try_for_each(|number| size(number).map(drop))?;
    general(descriptor)?;
    INFOS.get(info)?;
    write(bytes, WORKSPACE as c_int)
}

/// The size of the workspace.
pub(crate) fn needed_ext<T: Scalar>(
    _: &Handle,
    m: c_int,
    nnz: c_int,
    descriptor: cusparseMatDescr_t,
    _: *mut T,
    _: *const c_int,
    _: *const c_int,
    info: info_t,
    bytes: *mut usize,
) -> Outcome {
    [m, nnz].into_iter().try_for_each(|number| size(number).map(drop))?;
    general(descriptor)?;
    INFOS.get(info)?;
    write(bytes, WORKSPACE)
}

/// The places of the diagonal entries.
fn diagonal(pattern: &Pattern) -> Vec<Option<usize>> {
    (0..pattern.lines()).map(|row| pattern.line(row).find(|entry| pattern.indices[*entry] == row)).collect()
}

/// `cusparse<t>csrilu02_analysis` and `cusparse<t>csric02_analysis`: finds the first absent pivot.
pub(crate) fn analysis<T: Scalar>(
    handle: &Handle,
    m: c_int,
    nnz: c_int,
    descriptor: cusparseMatDescr_t,
    val: *const T,
    row: *const c_int,
    col: *const c_int,
    info: info_t,
    _: cusparseSolvePolicy_t,
    buffer: *mut c_void,
) -> Outcome {
    let a = matrix::<T>(m, nnz, descriptor, [row.cast(), col.cast(), val.cast()])?;
    analyze(handle, &a, (&A, 1), info, buffer)
}

/// Enqueues the search for the first absent pivot. Its number is that of its row of blocks with `block` rows.
pub(crate) fn analyze(
    handle: &Handle,
    a: &SparseMatrix,
    (names, block): (&Operand, usize),
    info: info_t,
    buffer: *mut c_void,
) -> Outcome {
    let base = a.base;
    let mut call = Call::of(handle);
    call.workspace(buffer, WORKSPACE)?;
    let positions = a.reads_positions(&mut call, names)?;
    let info = analyzing(info)?;
    call.computes(move |data| {
        let pattern = positions.get(data).pop().unwrap_or_default();
        if let Some(row) = diagonal(&pattern).iter().position(Option::is_none) {
            info.pivot.store((row / block + base) as c_int, Ordering::Release);
        }
    })
}

/// Computes factors in place.
type Algorithm<W> = fn(&Pattern, &mut [W], Option<Boost>) -> Option<usize>;

/// A kind of factors.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Factors {
    Lu,
    Cholesky,
}

impl Factors {
    fn algorithm<W: Number>(self) -> Algorithm<W> {
        match self {
            Factors::Lu => lu,
            Factors::Cholesky => cholesky,
        }
    }
}

/// Enqueues the computation of factors in place. The number of a pivot is that of its row of blocks with `block` rows.
pub(crate) fn factor<T: Scalar>(
    handle: &Handle,
    a: &SparseMatrix,
    (names, block): (&Operand, usize),
    info: info_t,
    buffer: *mut c_void,
    factors: Factors,
) -> Outcome {
    let (base, info) = (a.base, analyzed(info)?);
    let mut call = Call::of(handle);
    call.workspace(buffer, WORKSPACE)?;
    let positions = a.reads_positions(&mut call, names)?;
    let (name, region) = a.values(names);
    let values = call.updates(name, region)?;
    let boost = info.boost;
    with_numbers!(T::TYPE.is_complex(), W => call.computes(move |data| {
        let pattern = positions.get(data).pop().unwrap_or_default();
        update::<W>(data, values, T::TYPE, |memory| {
            // A place beyond the values is one of an offset that was reported.
            let place = |entry: usize| pattern.place(entry).min(memory.len().saturating_sub(1));
            let places: Vec<usize> = (0..pattern.count()).map(place).collect();
            let mut values: Vec<W> = places.iter().map(|place| memory[*place]).collect();
            if let Some(row) = factors.algorithm()(&pattern, &mut values, boost) {
                // The first one stays: of the analysis, if a pivot is absent.
                let row = (row / block + base) as c_int;
                let _ = info.pivot.compare_exchange(-1, row, Ordering::AcqRel, Ordering::Acquire);
            }
            places.iter().zip(&values).for_each(|(place, value)| memory[*place] = *value);
        });
    }))
}

/// LU factors: `L` has a unit diagonal. Returns the first row with a pivot of 0.
fn lu<W: Number>(pattern: &Pattern, values: &mut [W], boost: Option<Boost>) -> Option<usize> {
    let diagonal = diagonal(pattern);
    let mut places = vec![usize::MAX; pattern.columns];
    let mut zero = None;
    for row in 0..pattern.lines() {
        for entry in pattern.line(row) {
            places[pattern.indices[entry]] = entry;
        }
        for entry in pattern.line(row) {
            let column = pattern.indices[entry];
            let Some(pivot) = diagonal.get(column).copied().flatten().filter(|_| column < row) else { continue };
            let factor = values[entry] / values[pivot];
            values[entry] = factor;
            for other in pattern.line(column) {
                let index = pattern.indices[other];
                if index > column && places[index] != usize::MAX {
                    let product = factor * values[other];
                    values[places[index]] -= product;
                }
            }
        }
        for entry in pattern.line(row) {
            places[pattern.indices[entry]] = usize::MAX;
        }
        if let Some(pivot) = diagonal[row] {
            match boost {
                Some(boost) if values[pivot].magnitude() <= boost.tolerance => {
                    values[pivot] = W::of_parts(boost.value.0, boost.value.1);
                }
                _ if values[pivot] == W::default() => zero = zero.or(Some(row)),
                _ => {}
            }
        }
    }
    zero
}

/// The lower Cholesky factor; entries above the diagonal are unchanged. Returns the first row whose pivot is not positive.
fn cholesky<W: Number>(pattern: &Pattern, values: &mut [W], _: Option<Boost>) -> Option<usize> {
    let diagonal = diagonal(pattern);
    let mut zero = None;
    for row in 0..pattern.lines() {
        for entry in pattern.line(row) {
            let column = pattern.indices[entry];
            if column > row {
                continue;
            }
            // The inner product of the rows so far, by the common columns.
            let mut sum = values[entry];
            for left in pattern.line(row).filter(|left| pattern.indices[*left] < column) {
                let index = pattern.indices[left];
                let right = pattern.line(column).find(|right| pattern.indices[*right] == index);
                if let Some(right) = right {
                    sum -= values[left] * values[right].conj();
                }
            }
            if column < row {
                if let Some(pivot) = diagonal[column] {
                    values[entry] = sum / values[pivot].conj();
                }
            } else {
                let (re, _) = sum.parts();
                if re <= 0.0 || re.is_nan() {
                    zero = zero.or(Some(row));
                }
                values[entry] = W::of_parts(re.sqrt(), 0.0);
            }
        }
    }
    zero
}

/// `cusparse<t>csrilu02`.
pub(crate) fn csrilu02<T: Scalar>(
    handle: &Handle,
    m: c_int,
    nnz: c_int,
    descriptor: cusparseMatDescr_t,
    val: *mut T,
    row: *const c_int,
    col: *const c_int,
    info: info_t,
    _: cusparseSolvePolicy_t,
    buffer: *mut c_void,
) -> Outcome {
    let a = matrix::<T>(m, nnz, descriptor, [row.cast(), col.cast(), val.cast_const().cast()])?;
    factor::<T>(handle, &a, (&A, 1), info, buffer, Factors::Lu)
}

/// `cusparse<t>csric02`.
pub(crate) fn csric02<T: Scalar>(
    handle: &Handle,
    m: c_int,
    nnz: c_int,
    descriptor: cusparseMatDescr_t,
    val: *mut T,
    row: *const c_int,
    col: *const c_int,
    info: info_t,
    _: cusparseSolvePolicy_t,
    buffer: *mut c_void,
) -> Outcome {
    let a = matrix::<T>(m, nnz, descriptor, [row.cast(), col.cast(), val.cast_const().cast()])?;
    factor::<T>(handle, &a, (&A, 1), info, buffer, Factors::Cholesky)
}
