//! QR factors as LAPACK stores them: reflectors below the diagonal, with their scalars.
//!
//! Q is the product of `H(i) = I - tau(i) * v(i) * v(i)^H`, where `v(i)` has zeros above its element `i`, which is 1. A block of reflectors
//! is `I - V * T * V^H` with an upper triangular `T`.

use crate::scalar::Field;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, Par};

/// The reflectors of a block.
const BLOCK: usize = 32;

/// The norm of a vector.
pub(crate) fn norm<F: Field>(values: &[F]) -> f64 {
    let largest = values.iter().map(|value| value.re().abs().max(value.im().abs())).fold(0.0, f64::max);
    if largest == 0.0 || !largest.is_finite() {
        return if values.iter().any(|value| value.abs1().is_nan()) { f64::NAN } else { largest };
    }
    let square = |part: f64| (part / largest) * (part / largest);
    largest * values.iter().map(|value| square(value.re()) + square(value.im())).sum::<f64>().sqrt()
}

/// Makes the reflector that maps a vector to a multiple of its first unit vector. The vector becomes that multiple and the reflector's
/// elements after the first one. Returns the scalar.
pub(crate) fn reflector<F: Field>(vector: &mut [F]) -> F {
    let Some((first, rest)) = vector.split_first_mut() else { return F::default() };
    let (alpha, below) = (*first, norm(rest));
    if below == 0.0 && alpha.im() == 0.0 {
        return F::default();
    }
    // glibc's `hypot` would ask for glibc 2.35.
    let beta = -norm(&[alpha, F::of_parts(below, 0.0)]).copysign(alpha.re());
    let divisor = alpha - F::of_parts(beta, 0.0);
    rest.iter_mut().for_each(|value| *value /= divisor);
    *first = F::of_parts(beta, 0.0);
    F::of_parts((beta - alpha.re()) / beta, -alpha.im() / beta)
}

/// The sum of `conj(x) * y`.
pub(crate) fn product<F: Field>(x: &[F], y: &[F]) -> F {
    x.iter().zip(y).fold(F::default(), |sum, (x, y)| sum + x.conjugate() * *y)
}

/// A block of reflectors: `V`, and `T`.
struct Block<F: Field> {
    v: Mat<F>,
    t: Mat<F>,
}

impl<F: Field> Block<F> {
    /// The reflectors of the columns from `first` on of a factored matrix with `m` rows. `V` has the rows from `first` on.
    fn of(a: &[F], m: usize, first: usize, tau: &[F]) -> Block<F> {
        let size = tau.len();
        let v = Mat::from_fn(m - first, size, |row, column| match row.cmp(&column) {
            std::cmp::Ordering::Less => F::default(),
            std::cmp::Ordering::Equal => F::of_parts(1.0, 0.0),
            std::cmp::Ordering::Greater => a[(first + column) * m + first + row],
        });
        let mut inner = Mat::<F>::zeros(size, size);
        matmul(inner.as_mut(), Accum::Replace, v.adjoint(), v.as_ref(), F::of_parts(1.0, 0.0), Par::Seq);
        let mut t = Mat::<F>::zeros(size, size);
        for column in 0..size {
            for row in 0..column {
                let sum = (row..column).fold(F::default(), |sum, other| sum + t[(row, other)] * inner[(other, column)]);
                t[(row, column)] = -tau[column] * sum;
            }
            t[(column, column)] = tau[column];
        }
        Block { v, t }
    }

    /// Multiplies the matrix from the left by the block, or by its adjoint.
    fn apply_left(&self, c: MatMut<'_, F>, adjoint: bool) {
        let (size, columns, one) = (self.t.nrows(), c.ncols(), F::of_parts(1.0, 0.0));
        let (mut inner, mut scaled) = (Mat::<F>::zeros(size, columns), Mat::<F>::zeros(size, columns));
        matmul(inner.as_mut(), Accum::Replace, self.v.adjoint(), c.as_ref(), one, Par::Seq);
        if adjoint {
            matmul(scaled.as_mut(), Accum::Replace, self.t.adjoint(), inner.as_ref(), one, Par::Seq);
        } else {
            matmul(scaled.as_mut(), Accum::Replace, self.t.as_ref(), inner.as_ref(), one, Par::Seq);
        }
        matmul(c, Accum::Add, self.v.as_ref(), scaled.as_ref(), -one, Par::Seq);
    }

    /// Multiplies the matrix from the right by the block, or by its adjoint.
    fn apply_right(&self, c: MatMut<'_, F>, adjoint: bool) {
        let (size, rows, one) = (self.t.nrows(), c.nrows(), F::of_parts(1.0, 0.0));
        let (mut inner, mut scaled) = (Mat::<F>::zeros(rows, size), Mat::<F>::zeros(rows, size));
        matmul(inner.as_mut(), Accum::Replace, c.as_ref(), self.v.as_ref(), one, Par::Seq);
        if adjoint {
            matmul(scaled.as_mut(), Accum::Replace, inner.as_ref(), self.t.adjoint(), one, Par::Seq);
        } else {
            matmul(scaled.as_mut(), Accum::Replace, inner.as_ref(), self.t.as_ref(), one, Par::Seq);
        }
        matmul(c, Accum::Add, scaled.as_ref(), self.v.adjoint(), -one, Par::Seq);
    }
}

/// Factors an m×n matrix in place. Returns the scalars of the reflectors.
pub(crate) fn factor<F: Field>(a: &mut [F], m: usize, n: usize) -> Vec<F> {
    let order = m.min(n);
    let mut tau = vec![F::default(); order];
    for first in (0..order).step_by(BLOCK) {
        let end = order.min(first + BLOCK);
        for column in first..end {
            let (known, others) = a.split_at_mut((column + 1) * m);
            let vector = &mut known[column * m + column..];
            tau[column] = reflector(vector);
            let (_, v) = vector.split_at(1);
            for other in others.chunks_mut(m).take(end - column - 1) {
                let (head, rest) = other[column..].split_at_mut(1);
                let sum = (head[0] + product(v, rest)) * tau[column].conjugate();
                head[0] -= sum;
                rest.iter_mut().zip(v).for_each(|(value, v)| *value -= *v * sum);
            }
        }
        if end < n {
            let block = Block::of(a, m, first, &tau[first..end]);
            let rest = MatMut::from_column_major_slice_mut(&mut *a, m, n).submatrix_mut(first, end, m - first, n - end);
            block.apply_left(rest.as_dyn_stride_mut(), true);
        }
    }
    tau
}

/// The blocks of reflectors, from the last one to the first one if they are applied so.
fn blocks(count: usize, backward: bool) -> impl Iterator<Item = std::ops::Range<usize>> {
    let number = count.div_ceil(BLOCK);
    (0..number).map(move |index| {
        let first = BLOCK * if backward { number - 1 - index } else { index };
        first..count.min(first + BLOCK)
    })
}

/// Replaces the reflectors in the first columns of an m×n matrix by the first `n` columns of Q.
pub(crate) fn generate<F: Field>(a: &mut [F], m: usize, n: usize, tau: &[F]) {
    let mut q = vec![F::default(); m * n];
    (0..n.min(m)).for_each(|index| q[index * m + index] = F::of_parts(1.0, 0.0));
    for range in blocks(tau.len(), true) {
        let first = range.start;
        let block = Block::of(a, m, first, &tau[range]);
        let rest = MatMut::from_column_major_slice_mut(&mut q, m, n).submatrix_mut(first, first, m - first, n - first);
        block.apply_left(rest.as_dyn_stride_mut(), false);
    }
    a[..q.len()].copy_from_slice(&q);
}

/// Multiplies an m×n matrix by Q or its adjoint, from the left or from the right. The reflectors have `m` or `n` elements.
pub(crate) fn apply<F: Field>(a: &[F], tau: &[F], (right, adjoint): (bool, bool), c: &mut [F], m: usize, n: usize) {
    let length = if right { n } else { m };
    for range in blocks(tau.len(), right == adjoint) {
        let first = range.start;
        let block = Block::of(a, length, first, &tau[range]);
        let c = MatMut::from_column_major_slice_mut(&mut *c, m, n);
        if right {
            block.apply_right(c.submatrix_mut(0, first, m, n - first).as_dyn_stride_mut(), adjoint);
        } else {
            block.apply_left(c.submatrix_mut(first, 0, m - first, n).as_dyn_stride_mut(), adjoint);
        }
    }
}
