//! The bytes of vectors and matrices in the layouts of BLAS.

use crate::scalar::DataType;
use cuarray_stream_work::{Block, Part, Pointers, Region, Rows};

/// The triangle that a matrix has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    Lower,
    Upper,
}

impl Fill {
    /// The rows of column `column` that lie in the triangle of order `n`.
    pub(crate) fn rows(self, column: usize, n: usize) -> std::ops::Range<usize> {
        match self {
            Fill::Lower => column..n,
            Fill::Upper => 0..column + 1,
        }
    }

    /// The place of a column's first element in a triangle whose columns follow each other without gaps.
    pub(crate) fn packed(self, column: usize, n: usize) -> usize {
        match self {
            Fill::Lower => column * n - column * column.saturating_sub(1) / 2,
            Fill::Upper => column * (column + 1) / 2,
        }
    }
}

/// A stored matrix: `rows` × `columns` elements of `element` bytes by columns, `leading` elements apart. The closure sees it without gaps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored {
    pub(crate) address: u64,
    pub(crate) element: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) leading: usize,
}

impl Stored {
    /// Matrices behind an array of pointers.
    pub(crate) fn array<P, T>(array: *const P, shape: (usize, usize), leading: usize) -> Stored {
        Stored { address: array.addr() as u64, ..Stored::of::<T>(std::ptr::null(), shape, leading) }
    }

    pub(crate) fn of<T>(pointer: *const T, (rows, columns): (usize, usize), leading: usize) -> Stored {
        Stored { address: pointer.addr() as u64, element: size_of::<T>(), rows, columns, leading }
    }

    /// A matrix whose type a call names.
    pub(crate) fn typed(address: u64, data: DataType, (rows, columns): (usize, usize), leading: usize) -> Stored {
        Stored { address, element: data.size(), rows, columns, leading }
    }

    fn bytes(&self, elements: usize) -> usize {
        elements.saturating_mul(self.element)
    }

    pub(crate) fn region(self) -> Region {
        self.batch(1, 0)
    }

    /// `count` matrices, `stride` elements apart. The closure sees one after the other; only one if the stride is 0.
    pub(crate) fn batch(self, count: usize, stride: usize) -> Region {
        let Stored { address, rows, columns, leading, .. } = self;
        let (width, pitch) = (self.bytes(rows), self.bytes(leading));
        let items = if stride == 0 { count.min(1) } else { count };
        if items <= 1 || stride == leading.saturating_mul(columns) {
            return Rows { address, width, height: columns.saturating_mul(items), pitch }.into();
        }
        let size = width.saturating_mul(columns);
        let block = |item: usize| {
            let offset = (item as u64).wrapping_mul(self.bytes(stride) as u64);
            let rows = Rows { address: address.wrapping_add(offset), width, height: columns, pitch };
            Block { rows, offset: item.saturating_mul(size), pitch: width }
        };
        let blocks = if rows == 0 || columns == 0 { Vec::new() } else { (0..items).map(block).collect() };
        Region::new(size.saturating_mul(items), blocks)
    }

    /// A matrix behind each of `count` pointers in device memory, whose array is at the address.
    pub(crate) fn behind_pointers(self, count: usize, part: Part) -> Region {
        let (width, pitch) = (self.bytes(self.rows), self.bytes(self.leading));
        Pointers { array: self.address, count, width, height: self.columns, pitch, element: self.element, part }.into()
    }

    /// A triangle of a square matrix, in a square without gaps; without its diagonal, if that is not `with_diagonal`.
    pub(crate) fn triangle(self, fill: Fill, with_diagonal: bool) -> Region {
        self.triangle_at(fill, with_diagonal, |column| column.saturating_mul(self.leading))
    }

    /// As [`Stored::triangle`], for a triangle whose columns follow each other without gaps.
    pub(crate) fn packed(self, fill: Fill) -> Region {
        let n = self.columns;
        self.triangle_at(fill, true, |column| fill.packed(column, n) - fill.rows(column, n).start)
    }

    /// A triangle, by the place of row 0 of each column in memory.
    fn triangle_at(self, fill: Fill, with_diagonal: bool, first: impl Fn(usize) -> usize) -> Region {
        let n = self.columns;
        let column = |column: usize| {
            let mut rows = fill.rows(column, n);
            if !with_diagonal {
                match fill {
                    Fill::Lower => rows.start += 1,
                    Fill::Upper => rows.end -= 1,
                }
            }
            let place = |first: usize| self.bytes(first.saturating_add(rows.start));
            let address = self.address.wrapping_add(place(first(column)) as u64);
            let width = self.bytes(rows.len());
            Block {
                rows: Rows { address, width, height: 1, pitch: 0 },
                offset: place(column.saturating_mul(n)),
                pitch: 0,
            }
        };
        Region::new(self.bytes(n.saturating_mul(n)), (0..n).map(column).collect())
    }
}

/// A vector of `n` elements, `increment` elements apart. A negative increment means that the first element is the last one in memory. The
/// closure sees the elements in the order of memory; with the increment 0, one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vector {
    pub(crate) address: u64,
    pub(crate) element: usize,
    pub(crate) n: usize,
    pub(crate) increment: i64,
}

impl Vector {
    pub(crate) fn of<T>(pointer: *const T, n: usize, increment: i64) -> Vector {
        Vector { address: pointer.addr() as u64, element: size_of::<T>(), n, increment }
    }

    pub(crate) fn region(self) -> Region {
        self.batch(1, 0)
    }

    /// `count` vectors, `stride` elements apart.
    pub(crate) fn batch(self, count: usize, stride: usize) -> Region {
        let Vector { address, element, n, increment } = self;
        let step = usize::try_from(increment.unsigned_abs()).unwrap_or(usize::MAX);
        let seen = if step == 0 { n.min(1) } else { n };
        let rows = if step == 1 { (seen, 1) } else { (1, seen) };
        let (stored, leading) = (rows, if step == 1 { seen.max(1) } else { step });
        Stored { address, element, rows: stored.0, columns: stored.1, leading }.batch(count, stride)
    }

    /// The places of the elements in what the closure sees.
    pub(crate) fn order(self) -> Order {
        Order { n: self.n, increment: self.increment.signum() as isize }
    }
}

/// The order of a vector's elements in staging memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    n: usize,
    increment: isize,
}

impl Order {
    /// The place of element `index`.
    pub(crate) fn place(self, index: usize) -> usize {
        match self.increment {
            0 => 0,
            1.. => index,
            _ => self.n - 1 - index,
        }
    }

    /// The elements in their order.
    pub(crate) fn read<T: Copy>(self, memory: &[T]) -> Vec<T> {
        (0..self.n).map(|index| memory[self.place(index)]).collect()
    }

    /// Writes the elements in their order.
    pub(crate) fn write<T: Copy>(self, memory: &mut [T], values: &[T]) {
        for (index, value) in values.iter().enumerate() {
            memory[self.place(index)] = *value;
        }
    }
}
