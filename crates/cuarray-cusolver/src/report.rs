//! The report of a call by Jacobi's method, which the program reads through its object of parameters.

use crate::scalar::Field;
use crate::status::{NOT_SUPPORTED, Outcome};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The norm of the residual of a call, computed when the program asks for it. It holds the matrix of the call.
type Norm = Box<dyn FnOnce() -> f64 + Send>;

#[derive(Default)]
enum State {
    /// There was no call, or its work has not run.
    #[default]
    None,
    /// The work has run, and the program has not asked for the norm.
    Done(Norm),
    Norm(f64),
    /// The call had a batch, for which no report is defined.
    Batch,
}

/// The report of the last call with an object of parameters, which the work of the call writes.
#[derive(Clone, Default)]
pub(crate) struct Report(Arc<Mutex<State>>);

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Report")
    }
}

impl Report {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a call, which reports nothing if it has a batch.
    pub(crate) fn begin(self, is_batch: bool) -> Option<Report> {
        *self.state() = if is_batch { State::Batch } else { State::None };
        (!is_batch).then_some(self)
    }

    /// Ends a call whose work has run.
    pub(crate) fn end(&self, norm: impl FnOnce() -> f64 + Send + 'static) {
        *self.state() = State::Done(Box::new(norm));
    }

    /// Whether the work of a call has run.
    pub(crate) fn has_run(&self) -> Outcome<bool> {
        match *self.state() {
            State::None => Ok(false),
            State::Done(_) | State::Norm(_) => Ok(true),
            State::Batch => Err(NOT_SUPPORTED),
        }
    }

    /// The norm of the residual; 0 before a work has run.
    pub(crate) fn norm(&self) -> Outcome<f64> {
        let mut state = self.state();
        if let State::Done(_) = *state
            && let State::Done(norm) = std::mem::take(&mut *state)
        {
            *state = State::Norm(norm());
        }
        match *state {
            State::Norm(norm) => Ok(norm),
            State::Batch => Err(NOT_SUPPORTED),
            State::None | State::Done(_) => Ok(0.0),
        }
    }
}

/// The Frobenius norm of what the first `rank` singular values leave of an m×n matrix.
pub(crate) fn residual<F: Field>(a: &[F], (m, n): (usize, usize), s: &[f64], u: &[F], v: &[F], rank: usize) -> f64 {
    let v = MatRef::from_column_major_slice(&v[..n * rank], n, rank);
    let scaled = Mat::from_fn(m, rank, |row, index| u[index * m + row] * F::of_parts(s[index], 0.0));
    let mut rest = MatRef::from_column_major_slice(a, m, n).to_owned();
    matmul(rest.as_mut(), Accum::Add, scaled.as_ref(), v.adjoint(), -F::of_parts(1.0, 0.0), Par::Seq);
    rest.norm_l2()
}
