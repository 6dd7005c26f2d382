//! The bytes of matrices by columns, and their values as the algorithms have them.

use crate::scalar::{Field, Scalar};
use cuarray_stream_work::{Block, Part, Pointers, Region, Rows};
use std::ops::Range;

/// The triangle of a symmetric or Hermitian matrix that a call reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    Lower,
    Upper,
}

impl Fill {
    /// The rows of column `column` that lie in the triangle of order `n`.
    pub(crate) fn rows(self, column: usize, n: usize) -> Range<usize> {
        match self {
            Fill::Lower => column..n,
            Fill::Upper => 0..column + 1,
        }
    }

    fn part(self) -> Part {
        match self {
            Fill::Lower => Part::Lower,
            Fill::Upper => Part::Upper,
        }
    }
}

/// The address of a matrix with `rows` × `columns` elements, whose columns are `leading` elements apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored {
    address: u64,
    element: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    leading: usize,
}

impl Stored {
    pub(crate) fn of<T>(pointer: *const T, (rows, columns): (usize, usize), leading: usize) -> Stored {
        Stored { address: pointer.addr() as u64, element: size_of::<T>(), rows, columns, leading }
    }

    fn bytes(&self, elements: usize) -> usize {
        elements.saturating_mul(self.element)
    }

    /// All elements. The closure sees the columns without gaps.
    pub(crate) fn region(self) -> Region {
        let (width, pitch) = (self.bytes(self.rows), self.bytes(self.leading));
        Rows { address: self.address, width, height: self.columns, pitch }.into()
    }

    /// A triangle with its diagonal. The closure sees a square without gaps, whose other elements have any value.
    pub(crate) fn triangle(self, fill: Fill) -> Region {
        self.triangles(fill, 1)
    }

    /// `count` triangles, each of as many columns as the matrix has rows. The closure sees their squares one after the other.
    pub(crate) fn triangles(self, fill: Fill, count: usize) -> Region {
        let n = self.rows;
        let column = |column: usize| {
            let rows = fill.rows(column % n, n);
            let place = |leading: usize| self.bytes(column.saturating_mul(leading).saturating_add(rows.start));
            let address = self.address.wrapping_add(place(self.leading) as u64);
            let rows = Rows { address, width: self.bytes(rows.len()), height: 1, pitch: 0 };
            Block { rows, offset: place(n), pitch: 0 }
        };
        let columns = n.saturating_mul(count);
        Region::new(self.bytes(n.saturating_mul(columns)), (0..columns).map(column).collect())
    }

    /// `count` matrices that are `stride` elements apart. The closure sees them one after the other without gaps.
    pub(crate) fn batch(self, count: usize, stride: usize) -> Region {
        let size = self.bytes(self.rows.saturating_mul(self.columns));
        let matrix = |index: usize| {
            let address = self.address.wrapping_add(self.bytes(stride.saturating_mul(index)) as u64);
            let (width, pitch) = (self.bytes(self.rows), self.bytes(self.leading));
            let rows = Rows { address, width, height: self.columns, pitch };
            Block { rows, offset: size.saturating_mul(index), pitch: width }
        };
        Region::new(size.saturating_mul(count), (0..count).map(matrix).collect())
    }

    /// The triangle, or all elements, of a matrix behind each of `count` pointers. Their array in device memory is at the address.
    pub(crate) fn behind_pointers<T>(self, count: usize, fill: Option<Fill>) -> Region {
        let element = size_of::<T>();
        Pointers {
            array: self.address,
            count,
            width: self.rows.saturating_mul(element),
            height: self.columns,
            pitch: self.leading.saturating_mul(element),
            element,
            part: fill.map_or(Part::All, Fill::part),
        }
        .into()
    }
}

/// The values in double precision.
pub(crate) fn widen<T: Scalar>(values: &[T]) -> Vec<T::Wide> {
    values.iter().map(|value| value.widen()).collect()
}

/// Writes values, rounded to the type of the call.
pub(crate) fn narrow<T: Scalar>(to: &mut [T], values: &[T::Wide]) {
    to.iter_mut().zip(values).for_each(|(to, value)| *to = T::narrow(*value));
}

/// The identity of order `n`.
pub(crate) fn identity<F: Field>(n: usize) -> Vec<F> {
    let mut square = vec![F::default(); n * n];
    (0..n).for_each(|index| square[index * n + index] = F::of_parts(1.0, 0.0));
    square
}
