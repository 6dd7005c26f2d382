//! Products of matrices, on all cores.

use crate::scalar::{Scalar, Strided};
use std::thread;

/// The number of multiplications below which one thread computes a product: starting another takes as long as those.
const FEW: usize = 1 << 21;

/// A matrix within a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a, T> {
    pub(crate) data: &'a [T],
    /// The distances of rows and of columns.
    pub(crate) steps: (usize, usize),
}

impl<'a, T: Copy> View<'a, T> {
    /// A matrix by columns without gaps.
    pub(crate) fn columns(data: &'a [T], rows: usize) -> View<'a, T> {
        View { data, steps: (1, rows) }
    }

    pub(crate) fn transposed(self) -> View<'a, T> {
        View { steps: (self.steps.1, self.steps.0), ..self }
    }

    fn holds(&self, rows: usize, columns: usize) -> bool {
        holds(self.data.len(), self.steps, rows, columns)
    }

    fn strided(&self) -> Strided<*const T> {
        Strided { start: self.data.as_ptr(), row: self.steps.0 as isize, column: self.steps.1 as isize }
    }
}

fn holds(length: usize, steps: (usize, usize), rows: usize, columns: usize) -> bool {
    rows == 0 || columns == 0 || (rows - 1) * steps.0 + (columns - 1) * steps.1 < length
}

/// `c = alpha * a * b + beta * c` for an m×k and a k×n matrix. `c` has the distances `steps` of rows and columns, and no element twice. If
/// `beta` is 0, `c` is not read.
///
/// # Panics
/// A matrix is larger than its slice.
pub(crate) fn multiply<T: Scalar>(
    [m, n, k]: [usize; 3],
    alpha: T,
    a: View<'_, T>,
    b: View<'_, T>,
    beta: T,
    c: &mut [T],
    steps: (usize, usize),
) {
    if m == 0 || n == 0 {
        return;
    }
    assert!(a.holds(m, k) && b.holds(k, n) && holds(c.len(), steps, m, n), "a matrix is larger than its slice");
    if k == 0 || alpha.is_zero() {
        for index in (0..n).flat_map(|column| (0..m).map(move |row| row * steps.0 + column * steps.1)) {
            c[index] = if beta.is_zero() { T::default() } else { beta * c[index] };
        }
        return;
    }
    let target = Target { start: c.as_mut_ptr(), row: steps.0, column: steps.1 };
    let part = |rows: std::ops::Range<usize>, columns: std::ops::Range<usize>| {
        let (left, right) = (a.strided(), b.strided());
        let (start, row, column) = target.place();
        // SAFETY: the matrices lie in their slices, which was checked, and the parts of `c` that threads write are apart.
        unsafe {
            let a = Strided { start: left.start.offset(rows.start as isize * left.row), ..left };
            let b = Strided { start: right.start.offset(columns.start as isize * right.column), ..right };
            let start = start.add(rows.start * row + columns.start * column);
            let c = Strided { start, row: row as isize, column: column as isize };
            T::multiply([rows.len(), columns.len(), k], alpha, a, b, beta, c);
        }
    };
    let threads = threads(m.saturating_mul(n).saturating_mul(k));
    if threads == 1 {
        return part(0..m, 0..n);
    }
    let (long, by_columns) = if n >= m { (n, true) } else { (m, false) };
    let chunk = long.div_ceil(threads).next_multiple_of(8);
    thread::scope(|scope| {
        for start in (0..long).step_by(chunk) {
            let range = start..long.min(start + chunk);
            // Borrowed: each thread has another part.
            let part = &part;
            let work = move || if by_columns { part(0..m, range) } else { part(range, 0..n) };
            if thread::Builder::new().spawn_scoped(scope, work.clone()).is_err() {
                work();
            }
        }
    });
}

/// The matrix that threads write, each another part.
#[derive(Clone, Copy)]
struct Target<T> {
    start: *mut T,
    row: usize,
    column: usize,
}

impl<T> Target<T> {
    /// The first element, and the distances. A closure that calls this holds the whole value, which may be sent.
    fn place(&self) -> (*mut T, usize, usize) {
        (self.start, self.row, self.column)
    }
}

// SAFETY: the threads write different elements.
unsafe impl<T: Send> Send for Target<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Target<T> {}

/// The number of threads for a number of multiplications.
pub(crate) fn threads(multiplications: usize) -> usize {
    if multiplications < FEW {
        return 1;
    }
    thread::available_parallelism().map_or(1, usize::from).min(multiplications / FEW).max(1)
}
