//! Eigenvalues of general matrices, with right eigenvectors.

use crate::arguments::{Call, choice, elements, leading, order, tell};
use crate::matrix::{Stored, narrow, widen};
use crate::scalar::{Complex64, Field, Scalar};
use crate::status::{NOT_SUPPORTED, Outcome};
use crate::types::cusolverEigMode_t;
use faer::MatRef;
use std::ffi::c_int;

/// The elements of the workspace for a matrix of order `n`.
pub(crate) fn needed(n: usize) -> c_int {
    elements(n.saturating_mul(n).saturating_add(n.saturating_mul(8)))
}

/// Whether a call wants right eigenvectors. Left ones are refused.
pub(crate) fn wanted(left: cusolverEigMode_t, right: cusolverEigMode_t) -> Outcome<bool> {
    if choice(left)? {
        return Err(NOT_SUPPORTED);
    }
    choice(right)
}

/// Eigenvalues with their vectors. The conjugate pairs of a real matrix are neighbours, the value above the real axis first.
type Pairs = Vec<(Complex64, Vec<Complex64>)>;

/// The eigenvalues, and the eigenvectors if they are wanted. None if the iteration does not converge.
fn decompose<F: Field>(square: &[F], n: usize, vectors: bool) -> Option<Pairs> {
    if n == 0 {
        return Some(Vec::new());
    }
    if square.iter().any(|value| !value.abs1().is_finite()) {
        return None;
    }
    let matrix = MatRef::from_column_major_slice(square, n, n);
    if vectors {
        let found = matrix.eigen().ok()?;
        let vector = |column: usize| (0..n).map(|row| found.U()[(row, column)]).collect();
        Some((0..n).map(|index| (found.S()[index], normalized(vector(index)))).collect())
    } else {
        Some(matrix.eigenvalues().ok()?.into_iter().map(|value| (value, Vec::new())).collect())
    }
}

/// The vector with Euclidean norm 1, whose largest element is real.
fn normalized(mut vector: Vec<Complex64>) -> Vec<Complex64> {
    let norm = vector.iter().map(Complex64::norm_sqr).sum::<f64>().sqrt();
    let largest = (0..vector.len()).max_by(|one, other| vector[*one].norm_sqr().total_cmp(&vector[*other].norm_sqr()));
    let Some(index) = largest else { return vector };
    let factor = vector[index].conj() / (vector[index].norm() * norm);
    vector.iter_mut().for_each(|value| *value *= factor);
    vector[index].im = 0.0;
    vector
}

/// The eigenvectors as a call stores them: the real and the imaginary part of a pair's first vector are two columns of a real matrix.
fn columns<F: Field>(pairs: &Pairs) -> Vec<F> {
    let of_pair = |(index, (value, vector)): (usize, &(Complex64, Vec<Complex64>))| -> Vec<F> {
        if F::IS_COMPLEX || value.im == 0.0 {
            vector.iter().map(|value| F::of_parts(value.re, value.im)).collect()
        } else if value.im > 0.0 {
            vector.iter().map(|value| F::of_parts(value.re, 0.0)).collect()
        } else {
            pairs[index - 1].1.iter().map(|value| F::of_parts(value.im, 0.0)).collect()
        }
    };
    pairs.iter().enumerate().flat_map(of_pair).collect()
}

/// `cusolverDnXgeev` after its workspace is described. `w` has the real parts and then the imaginary ones, or complex numbers if they are
/// `paired`.
pub(crate) fn geev_of<T: Scalar>(
    mut call: Call<'_>,
    (left, right): (cusolverEigMode_t, cusolverEigMode_t),
    n: i64,
    (a, lda): (*mut T, i64),
    (w, paired): (*mut T::Real, bool),
    (vectors, ld): (*mut T, i64),
    info: *mut c_int,
) -> Outcome {
    let (wants, n) = (wanted(left, right)?, order(n)?);
    let a = Stored::of(a, (n, n), leading(lda, n)?);
    let a = call.updates(c"A", a.region())?;
    let w = call.writes_vector(c"W", w, 2 * n)?;
    let vectors =
        wants.then(|| call.writes(c"VR", Stored::of(vectors, (n, n), leading(ld, n)?).region())).transpose()?;
    let info = call.info(info)?;
    call.computes(move |data| {
        let (a, w) = (data.take::<T>(a), data.take::<T::Real>(w));
        let found = decompose(&widen(a), n, wants);
        let failed = found.is_none();
        let pairs = found.unwrap_or_default();
        // Values that are documented as destroyed or unknown are no numbers.
        let lost = T::narrow(T::Wide::nan());
        a.fill(lost);
        w.fill(T::Real::narrow(f64::NAN));
        for (index, (value, _)) in pairs.iter().enumerate() {
            let (re, im) = if paired { (2 * index, 2 * index + 1) } else { (index, n + index) };
            (w[re], w[im]) = (T::Real::narrow(value.re), T::Real::narrow(value.im));
        }
        if let Some(vectors) = vectors {
            let vectors = data.take::<T>(vectors);
            vectors.fill(lost);
            narrow(vectors, &columns(&pairs));
        }
        tell(data, info, failed.into());
    })
}
