//! Square matrices that are stored as triangles, as full matrices, and equations with triangular ones.

use crate::arguments::Op;
use crate::layout::Fill;
use crate::product::{View, multiply};
use crate::scalar::Scalar;

/// The order of the blocks on the diagonal that are solved element by element.
const BLOCK: usize = 64;

/// The elements that a triangle leaves out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Zero, with ones on the diagonal if it is a unit diagonal.
    Triangular { unit: bool },
    /// Those of the triangle.
    Symmetric,
    /// The conjugates of those of the triangle, and a real diagonal.
    Hermitian,
}

/// Completes a square of order `n` that is stored as a triangle.
pub(crate) fn complete<T: Scalar>(square: &mut [T], n: usize, fill: Fill, rest: Rest) {
    for column in 0..n {
        let diagonal = &mut square[column * n + column];
        match rest {
            Rest::Triangular { unit: true } => *diagonal = T::one(),
            Rest::Hermitian => *diagonal = T::real(diagonal.re()),
            _ => {}
        }
        for row in fill.rows(column, n).filter(|row| *row != column) {
            square[row * n + column] = match rest {
                Rest::Triangular { .. } => T::default(),
                Rest::Symmetric => square[column * n + row],
                Rest::Hermitian => square[column * n + row].conj(),
            };
        }
    }
}

/// Solves `op(a) * x = x` in place for `n` unknowns and `columns` right sides. `a` is a square of order `n` by columns with a triangle
/// `fill`; element (row, column) of `x` is at `row * steps.0 + column * steps.1`.
pub(crate) fn solve<T: Scalar>(
    a: &[T],
    n: usize,
    (fill, op, unit): (Fill, Op, bool),
    x: &mut [T],
    columns: usize,
    steps: (usize, usize),
) {
    let at = |row: usize, column: usize| op.element(if op.swaps() { a[row * n + column] } else { a[column * n + row] });
    let forward = (fill == Fill::Lower) != op.swaps();
    let blocks: Vec<usize> = (0..n).step_by(BLOCK).collect();
    let order: Box<dyn Iterator<Item = usize>> =
        if forward { Box::new(blocks.into_iter()) } else { Box::new(blocks.into_iter().rev()) };
    let mut part = Vec::new();
    let mut solved = Vec::new();
    for start in order {
        let end = n.min(start + BLOCK);
        let size = end - start;
        for column in 0..columns {
            for index in 0..size {
                let row = if forward { start + index } else { end - 1 - index };
                let known = if forward { start..row } else { row + 1..end };
                let mut value = x[row * steps.0 + column * steps.1];
                for other in known {
                    value -= at(row, other) * x[other * steps.0 + column * steps.1];
                }
                x[row * steps.0 + column * steps.1] = if unit { value } else { value / at(row, row) };
            }
        }
        // The other unknowns lose the part of those that are known now.
        let others = if forward { end..n } else { 0..start };
        if others.is_empty() || columns == 0 {
            continue;
        }
        part.clear();
        part.extend(
            (start..end).flat_map(|column| others.clone().map(move |row| (row, column))).map(|(r, c)| at(r, c)),
        );
        solved.clear();
        solved.extend(
            (0..columns).flat_map(|column| (start..end).map(move |row| row * steps.0 + column * steps.1)).map(|i| x[i]),
        );
        let size = [others.len(), columns, size];
        let (part, solved) = (View::columns(&part, size[0]), View::columns(&solved, size[2]));
        multiply(size, -T::one(), part, solved, T::one(), &mut x[others.start * steps.0..], steps);
    }
}
