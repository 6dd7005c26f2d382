//! Sparse matrices with their factors.

use crate::scalar::Field;
use crate::status::Outcome;
use crate::types::cusolverStatus_t;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::perm::{PermRef, permute_rows_in_place_scratch};
use faer::sparse::linalg::cholesky::simplicial as cholesky;
use faer::sparse::linalg::lu::simplicial as lu;
use faer::sparse::linalg::{LuError, amd, colamd};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par};
use std::ffi::c_int;

/// The factors with which equations are solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Lu,
    /// The lower triangle is that of a Hermitian matrix.
    Cholesky,
}

/// A square matrix by rows, whose indices are checked.
pub(crate) struct Csr<F> {
    n: usize,
    /// Row, column and value of each entry.
    entries: Vec<(usize, usize, F)>,
}

impl<F: Field> Csr<F> {
    /// The matrix of the arrays of a call. None if they describe no matrix.
    pub(crate) fn of(n: usize, base: usize, rows: &[c_int], columns: &[c_int], values: Vec<F>) -> Option<Csr<F>> {
        let index = |number: c_int| usize::try_from(number).ok()?.checked_sub(base);
        let mut entries = Vec::with_capacity(values.len());
        for (row, ends) in rows.windows(2).enumerate() {
            let (start, end) = (index(ends[0])?, index(ends[1])?);
            for (column, value) in columns.get(start..end)?.iter().zip(values.get(start..end)?) {
                entries.push((row, index(*column).filter(|column| *column < n)?, *value));
            }
        }
        Some(Csr { n, entries })
    }

    /// The matrix less a multiple of the unit matrix.
    pub(crate) fn less(&self, shift: F) -> Csr<F> {
        let mut entries = self.entries.clone();
        entries.extend((0..self.n).map(|index| (index, index, -shift)));
        Csr { n: self.n, entries }
    }

    /// The product with a vector.
    pub(crate) fn times(&self, x: &[F]) -> Vec<F> {
        let mut product = vec![F::default(); self.n];
        self.entries.iter().for_each(|(row, column, value)| product[*row] += *value * x[*column]);
        product
    }
}

/// A matrix by columns, without duplicates.
struct Columns<F> {
    starts: Vec<usize>,
    rows: Vec<usize>,
    values: Vec<F>,
}

impl<F: Field> Columns<F> {
    /// The matrix with these entries: row, column and value. Duplicates are added.
    fn of(n: usize, mut entries: Vec<(usize, usize, F)>) -> Columns<F> {
        entries.sort_by_key(|(row, column, _)| (*column, *row));
        let mut made = Columns { starts: vec![0; n + 1], rows: Vec::new(), values: Vec::new() };
        let mut last = None;
        for (row, column, value) in entries {
            if last == Some((row, column)) {
                if let Some(known) = made.values.last_mut() {
                    *known += value;
                }
                continue;
            }
            last = Some((row, column));
            made.rows.push(row);
            made.values.push(value);
            made.starts[column + 1] = made.rows.len();
        }
        // Columns without entries end where the one before ends.
        for column in 0..n {
            made.starts[column + 1] = made.starts[column + 1].max(made.starts[column]);
        }
        made
    }

    fn symbolic(&self) -> SymbolicSparseColMatRef<'_, usize> {
        let n = self.starts.len() - 1;
        SymbolicSparseColMatRef::new_checked(n, n, &self.starts, None, &self.rows)
    }
}

fn memory(need: StackReq) -> Outcome<MemBuffer> {
    MemBuffer::try_new(need).map_err(|_| cusolverStatus_t::ALLOC_FAILED)
}

/// Solves equations in place. Returns the first column whose pivot is not larger than the tolerance. Such a matrix has a solution all the same
/// unless the pivot is 0: `lsqr` of CuPy passes a tolerance of 1, and uses the solution.
pub(crate) fn solve<F: Field>(matrix: &Csr<F>, method: Method, tolerance: f64, b: &mut [F]) -> Outcome<Option<usize>> {
    if matrix.n == 0 {
        return Ok(None);
    }
    match method {
        Method::Lu => by_lu(matrix, tolerance, b),
        Method::Cholesky => by_cholesky(matrix, tolerance, b),
    }
}

fn by_lu<F: Field>(matrix: &Csr<F>, tolerance: f64, b: &mut [F]) -> Outcome<Option<usize>> {
    match Lu::of(matrix)? {
        Ok(factors) => {
            factors.solve(b)?;
            Ok(factors.singular(tolerance))
        }
        Err(singular) => {
            b.fill(F::nan());
            Ok(singular)
        }
    }
}

/// The factors of a matrix with row exchanges, whose columns are ordered.
pub(crate) struct Lu<F: Field> {
    factors: lu::SimplicialLu<usize, F>,
    /// The order of the columns and of the rows, both with their inverses.
    columns: [Vec<usize>; 2],
    rows: [Vec<usize>; 2],
}

impl<F: Field> Lu<F> {
    /// The factors. A matrix whose places of entries make it singular has none, and a column that may be known.
    pub(crate) fn of(matrix: &Csr<F>) -> Outcome<Result<Lu<F>, Option<usize>>> {
        let n = matrix.n;
        let columns = Columns::of(n, matrix.entries.clone());
        let symbolic = columns.symbolic();
        let (mut forward, mut inverse) = (vec![0; n], vec![0; n]);
        let mut buffer = memory(colamd::order_scratch::<usize>(n, n, columns.rows.len()))?;
        colamd::order(&mut forward, &mut inverse, symbolic, Default::default(), MemStack::new(&mut buffer))
            .map_err(|_| cusolverStatus_t::ALLOC_FAILED)?;
        let order = PermRef::new_checked(&forward, &inverse, n);
        let mut factors = lu::SimplicialLu::<usize, F>::new();
        let (mut rows, mut of_rows) = (vec![0; n], vec![0; n]);
        let mut buffer = memory(lu::factorize_simplicial_numeric_lu_scratch::<usize, F>(n, n))?;
        let stack = MemStack::new(&mut buffer);
        let values = SparseColMatRef::new(symbolic, &columns.values);
        match lu::factorize_simplicial_numeric_lu(&mut rows, &mut of_rows, &mut factors, values, order, stack) {
            Ok(()) => Ok(Ok(Lu { factors, columns: [forward, inverse], rows: [rows, of_rows] })),
            Err(LuError::SymbolicSingular { index }) => Ok(Err(forward.get(index).copied())),
            Err(LuError::Generic(_)) => Err(cusolverStatus_t::ALLOC_FAILED),
        }
    }

    /// The first column whose pivot is not larger than the tolerance.
    fn singular(&self, tolerance: f64) -> Option<usize> {
        let (u, [forward, _]) = (self.factors.u_factor_unsorted(), &self.columns);
        // A column of U ends with its pivot. No number is no pivot either.
        let is_pivot = |column: usize| u.val_of_col(column).last().is_some_and(|pivot| pivot.abs1() > tolerance);
        (0..forward.len()).find(|column| !is_pivot(*column)).and_then(|column| forward.get(column).copied())
    }

    /// Solves equations in place.
    pub(crate) fn solve(&self, b: &mut [F]) -> Outcome {
        let n = b.len();
        let [(rows, of_rows), (columns, of_columns)] = [&self.rows, &self.columns].map(|[one, two]| (one, two));
        let (rows, columns) = (PermRef::new_checked(rows, of_rows, n), PermRef::new_checked(columns, of_columns, n));
        let mut buffer = memory(permute_rows_in_place_scratch::<usize, F>(n, 1))?;
        let b = MatMut::from_column_major_slice_mut(b, n, 1).as_dyn_stride_mut();
        self.factors.solve_in_place_with_conj(rows, columns, Conj::No, b, Par::Seq, MemStack::new(&mut buffer));
        Ok(())
    }
}

fn by_cholesky<F: Field>(matrix: &Csr<F>, tolerance: f64, b: &mut [F]) -> Outcome<Option<usize>> {
    let n = matrix.n;
    let failed = |_| cusolverStatus_t::ALLOC_FAILED;
    let lower = || matrix.entries.iter().copied().filter(|(row, column, _)| row >= column);
    // The upper triangle of a Hermitian matrix by columns is the conjugate of the lower one by rows.
    let columns = Columns::of(n, lower().map(|(row, column, value)| (column, row, value)).collect());
    let (mut forward, mut inverse) = (vec![0; n], vec![0; n]);
    let mut buffer = memory(amd::order_scratch::<usize>(n, columns.rows.len()))?;
    amd::order(&mut forward, &mut inverse, columns.symbolic(), Default::default(), MemStack::new(&mut buffer))
        .map_err(failed)?;
    let ordered = lower().map(|(row, column, value)| match (inverse[row], inverse[column]) {
        (row, column) if row >= column => (column, row, value.conjugate()),
        (row, column) => (row, column, value),
    });
    let columns = Columns::of(n, ordered.collect());
    let symbolic = columns.symbolic();
    let mut buffer = memory(StackReq::any_of(&[
        cholesky::prefactorize_symbolic_cholesky_scratch::<usize>(n, columns.rows.len()),
        cholesky::factorize_simplicial_symbolic_cholesky_scratch::<usize>(n),
        cholesky::factorize_simplicial_numeric_llt_scratch::<usize, F>(n),
        permute_rows_in_place_scratch::<usize, F>(n, 1),
    ]))?;
    let stack = MemStack::new(&mut buffer);
    let (mut tree, mut counts) = (vec![0_isize; n], vec![0; n]);
    let tree = cholesky::prefactorize_symbolic_cholesky::<usize>(&mut tree, &mut counts, symbolic, stack);
    let plan = cholesky::factorize_simplicial_symbolic_cholesky(symbolic, tree, &counts, stack).map_err(failed)?;
    let mut factor = vec![F::default(); plan.len_val()];
    let values = SparseColMatRef::new(symbolic, &columns.values);
    match cholesky::factorize_simplicial_numeric_llt(&mut factor, values, Default::default(), &plan, stack) {
        Ok(_) => {}
        // Counted from 1.
        Err(faer::linalg::cholesky::llt::factor::LltError::NonPositivePivot { index }) => {
            b.fill(F::nan());
            return Ok(forward.get(index.saturating_sub(1)).copied());
        }
    }
    // The first value of a column of the factor is its pivot.
    let is_pivot = |column: usize| {
        let start = plan.col_ptr().get(column).and_then(|start| factor.get(*start));
        start.is_some_and(|pivot| pivot.re() > tolerance)
    };
    let singular = (0..n).find(|column| !is_pivot(*column)).and_then(|column| forward.get(column).copied());
    let mut x: Vec<F> = forward.iter().map(|row| b[*row]).collect();
    let factor = cholesky::SimplicialLltRef::<'_, usize, F>::new(&plan, &factor);
    let right = MatMut::from_column_major_slice_mut(&mut x, n, 1).as_dyn_stride_mut();
    factor.solve_in_place_with_conj(Conj::No, right, Par::Seq, stack);
    forward.iter().zip(x).for_each(|(row, value)| b[*row] = value);
    Ok(singular)
}
