//! Matrices of level 2 in every layout: the stored rows of each column.

use crate::arguments::Op;
use crate::layout::{Fill, Stored};
use crate::scalar::Scalar;
use cuarray_stream_work::{Block, Region, Rows};
use std::ops::Range;

/// The stored part of a column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    rows: Range<usize>,
    /// The first element in device memory, in elements.
    place: usize,
    /// The first element in what the closure sees.
    start: usize,
}

/// The columns of a matrix, each with its stored rows. The closure sees them one after the other.
#[derive(Clone, Debug)]
pub(crate) enum Columns {
    /// All elements: rows, columns, and the leading dimension.
    General(usize, usize, usize),
    /// The columns, and the number of elements.
    Partial(Vec<Column>, usize),
}

impl Columns {
    fn of(columns: usize, part: impl Fn(usize) -> (Range<usize>, usize)) -> Columns {
        let mut size = 0;
        let column = |index| {
            let (rows, place) = part(index);
            let start = size;
            size += rows.len();
            Column { rows, place, start }
        };
        let columns = (0..columns).map(column).collect();
        Columns::Partial(columns, size)
    }

    /// All elements.
    pub(crate) fn general(rows: usize, columns: usize, leading: usize) -> Columns {
        Columns::General(rows, columns, leading)
    }

    /// A band with `below` and `above` diagonals beside the main one.
    pub(crate) fn band((rows, columns): (usize, usize), (below, above): (usize, usize), leading: usize) -> Columns {
        Columns::of(columns, |column| {
            let end = rows.min(column.saturating_add(below).saturating_add(1));
            let rows = column.saturating_sub(above).min(end)..end;
            let first = above.saturating_add(rows.start).saturating_sub(column);
            (rows, column.saturating_mul(leading).saturating_add(first))
        })
    }

    /// A triangle of order `n`.
    pub(crate) fn triangle(n: usize, fill: Fill, leading: usize) -> Columns {
        Columns::of(n, |column| {
            let rows = fill.rows(column, n);
            let place = column.saturating_mul(leading).saturating_add(rows.start);
            (rows, place)
        })
    }

    /// A triangle of a band with `width` diagonals beside the main one.
    pub(crate) fn triangular_band(n: usize, fill: Fill, width: usize, leading: usize) -> Columns {
        match fill {
            Fill::Lower => Columns::band((n, n), (width, 0), leading),
            Fill::Upper => Columns::band((n, n), (0, width), leading),
        }
    }

    /// A triangle whose columns follow each other without gaps.
    pub(crate) fn packed(n: usize, fill: Fill) -> Columns {
        Columns::of(n, |column| (fill.rows(column, n), fill.packed(column, n)))
    }

    /// Leaves the diagonal of a triangle out.
    pub(crate) fn without_diagonal(self) -> Columns {
        let Columns::Partial(mut columns, _) = self else { return self };
        let mut size = 0;
        for (index, column) in columns.iter_mut().enumerate() {
            if column.rows.start == index && !column.rows.is_empty() {
                column.rows.start += 1;
                column.place += 1;
            } else if column.rows.end == index + 1 {
                column.rows.end -= 1;
            }
            column.start = size;
            size += column.rows.len();
        }
        Columns::Partial(columns, size)
    }

    /// The bytes in device memory.
    pub(crate) fn region<T>(&self, pointer: *const T) -> Region {
        let address = pointer.addr() as u64;
        let bytes = |elements: usize| elements.saturating_mul(size_of::<T>());
        let (columns, size) = match self {
            Columns::General(rows, columns, leading) => {
                return Stored::of(pointer, (*rows, *columns), *leading).region();
            }
            Columns::Partial(columns, size) => (columns, *size),
        };
        let block = |column: &Column| {
            let address = address.wrapping_add(bytes(column.place) as u64);
            let rows = Rows { address, width: bytes(column.rows.len()), height: 1, pitch: 0 };
            Block { rows, offset: bytes(column.start), pitch: 0 }
        };
        Region::new(bytes(size), columns.iter().map(block).collect())
    }

    fn count(&self) -> usize {
        match self {
            Columns::General(_, columns, _) => *columns,
            Columns::Partial(columns, _) => columns.len(),
        }
    }

    /// The rows of a column, and the place of the first one.
    fn column(&self, index: usize) -> (Range<usize>, usize) {
        match self {
            Columns::General(rows, ..) => (0..*rows, index * rows),
            Columns::Partial(columns, _) => {
                columns.get(index).map_or((0..0, 0), |column| (column.rows.clone(), column.start))
            }
        }
    }

    /// Calls `f` with row, column and value of each element.
    pub(crate) fn each<T: Copy>(&self, a: &[T], mut f: impl FnMut(usize, usize, T)) {
        for index in 0..self.count() {
            let (rows, start) = self.column(index);
            rows.zip(&a[start..]).for_each(|(row, value)| f(row, index, *value));
        }
    }

    /// Calls `f` with row, column and place of each element.
    pub(crate) fn update<T>(&self, a: &mut [T], mut f: impl FnMut(usize, usize, &mut T)) {
        for index in 0..self.count() {
            let (rows, start) = self.column(index);
            rows.zip(&mut a[start..]).for_each(|(row, value)| f(row, index, value));
        }
    }

    /// Solves `op(a) * x = x` for a triangular matrix.
    pub(crate) fn solve<T: Scalar>(&self, a: &[T], (fill, op, unit): (Fill, Op, bool), x: &mut [T]) {
        let n = self.count();
        let forward = (fill == Fill::Lower) != op.swaps();
        for step in 0..n {
            let index = if forward { step } else { n - 1 - step };
            let (rows, start) = self.column(index);
            let mut diagonal = T::one();
            let mut value = x[index];
            for (row, element) in rows.zip(&a[start..]) {
                let element = op.element(*element);
                if row == index {
                    diagonal = element;
                } else if op.swaps() {
                    value -= element * x[row];
                }
            }
            x[index] = if unit { value } else { value / diagonal };
            if !op.swaps() {
                let known = x[index];
                let (rows, start) = self.column(index);
                for (row, element) in rows.zip(&a[start..]).filter(|(row, _)| *row != index) {
                    x[row] -= *element * known;
                }
            }
        }
    }
}
