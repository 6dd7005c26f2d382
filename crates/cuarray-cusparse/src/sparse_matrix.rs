//! Sparse matrices: their descriptors, the bytes of their arrays, and their entries in the memory of a work.

use crate::call::{Call, numbers, values};
use crate::numbers::{Number, Type, integers, widen};
use crate::pattern::{Names, Pattern, Sparse};
use crate::status::{INVALID_VALUE, NOT_SUPPORTED, Outcome, cusparseStatus_t};
use cuarray_stream_work::{Argument, Block, Data, Integers, Region, Rows};
use std::ffi::{CStr, c_int};

/// `cusparseFormat_t`, with the sizes of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Csr,
    Csc,
    Coo,
    BlockedEll { block: usize, columns: usize },
    Bsr { rows: usize, columns: usize, by_rows: bool },
    SlicedEll { slice: usize, stored: usize },
}

/// The type of a `cusparseIndexType_t`.
pub(crate) fn index_type(number: c_int) -> Outcome<Integers> {
    match number {
        1 => Ok(Integers::U16),
        2 => Ok(Integers::I32),
        3 => Ok(Integers::I64),
        _ => Err(INVALID_VALUE),
    }
}

/// The `cusparseIndexType_t`.
pub(crate) fn index_number(integers: Integers) -> c_int {
    match integers {
        Integers::U16 => 1,
        Integers::I32 => 2,
        Integers::I64 => 3,
    }
}

/// The most rows of a matrix without offsets of rows. The closure makes these, which take 2 GB, and no array of the program may be as large.
const MOST_ROWS: usize = 1 << 28;

/// The settings of a triangular matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Triangle {
    pub(crate) is_upper: bool,
    pub(crate) is_unit: bool,
}

/// The target of `cusparseSpMatDescr_t`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SparseMatrix {
    pub(crate) format: Format,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// The number of entries; of blocks for BSR.
    pub(crate) count: usize,
    /// The addresses of the arrays: offsets or row indices, indices, values.
    pub(crate) arrays: [u64; 3],
    pub(crate) integers: [Integers; 2],
    pub(crate) base: usize,
    pub(crate) kind: Type,
    pub(crate) triangle: Triangle,
    /// `CUSPARSE_SPMAT_STORAGE` and `CUSPARSE_SPMAT_SYMMETRY_TYPE`.
    pub(crate) symmetry: [c_int; 2],
    pub(crate) batch: usize,
    /// The distances of the arrays of a batch in elements.
    pub(crate) strides: [usize; 3],
}

/// The names of the arrays of an operand, by its format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    csr: [&'static CStr; 3],
    csc: [&'static CStr; 3],
    coo: [&'static CStr; 3],
    ell: [&'static CStr; 3],
    bsr: [&'static CStr; 3],
    sliced: [&'static CStr; 3],
}

macro_rules! operand {
    ($name:ident $text:literal) => {
        pub(crate) const $name: Operand = Operand {
    csr: names!($text ".csrRowOffsets" ".csrColInd" ".csrValues"),
    csc: names!($text ".cscColOffsets" ".cscRowInd" ".cscValues"),
    coo: names!($text ".cooRowInd" ".cooColInd" ".cooValues"),
    ell: names!($text "" ".ellColInd" ".ellValue"),
    bsr: names!($text ".bsrRowOffsets" ".bsrColInd" ".bsrValues"),
    sliced: names!($text ".sellSliceOffsets" ".sellColInd" ".sellValues"),
        };
    };
}

macro_rules! names {
    ($text:literal $($part:literal)*) => {
        [$(cuarray_stream_work::c_name(concat!($text, $part, "\0"))),*]
    };
}

operand!(A "matA");
operand!(B "matB");
operand!(C "matC");

impl Operand {
    /// An operand whose arrays are arguments of the call.
    pub(crate) const fn named(names: [&'static CStr; 3]) -> Operand {
        Operand { csr: names, csc: names, coo: names, ell: names, bsr: names, sliced: names }
    }

    /// The name of the offsets of a matrix in the format CSR.
    pub(crate) const fn first(&self) -> &'static CStr {
        self.csr[0]
    }

    fn names(&self, format: Format) -> [&'static CStr; 3] {
        match format {
            Format::Csr => self.csr,
            Format::Csc => self.csc,
            Format::Coo => self.coo,
            Format::BlockedEll { .. } => self.ell,
            Format::Bsr { .. } => self.bsr,
            Format::SlicedEll { .. } => self.sliced,
        }
    }
}

/// The arrays of a sparse matrix as arguments of a work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Positions {
    pub(crate) matrix: SparseMatrix,
    offsets: Option<Argument>,
    indices: Argument,
    names: Names,
}

/// A sparse matrix as arguments of a work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entries {
    positions: Positions,
    values: Argument,
}

impl SparseMatrix {
    /// A matrix in the format CSR with 32-bit integers, as the functions with a letter for their type have it.
    pub(crate) fn csr(
        (rows, columns): (usize, usize),
        count: usize,
        arrays: [usize; 3],
        base: usize,
        kind: Type,
    ) -> SparseMatrix {
        SparseMatrix {
            format: Format::Csr,
            rows,
            columns,
            count,
            arrays: arrays.map(|address| address as u64),
            integers: [Integers::I32; 2],
            base,
            kind,
            triangle: Triangle::default(),
            symmetry: [0; 2],
            batch: 1,
            strides: [0; 3],
        }
    }

    /// The elements of an array for each matrix of the batch.
    pub(crate) fn length(&self, array: usize) -> usize {
        let count = self.count;
        match (self.format, array) {
            (Format::Csr, 0) => self.rows.saturating_add(1),
            (Format::Csc, 0) => self.columns.saturating_add(1),
            (Format::Bsr { rows, .. }, 0) => (self.rows / rows.max(1)).saturating_add(1),
            (Format::Bsr { rows, columns, .. }, 2) => count.saturating_mul(rows).saturating_mul(columns),
            (Format::SlicedEll { slice, .. }, 0) => self.rows.div_ceil(slice.max(1)).saturating_add(1),
            (Format::SlicedEll { stored, .. }, _) => stored,
            (Format::BlockedEll { .. }, 0) => 0,
            (Format::BlockedEll { block, columns }, 1) => {
                self.rows.div_ceil(block.max(1)).saturating_mul(columns / block.max(1))
            }
            (Format::BlockedEll { columns, .. }, _) => self.rows.saturating_mul(columns),
            _ => count,
        }
    }

    /// The bytes of an array for all matrices of the batch. An array that all share is there once.
    fn region(&self, array: usize) -> Region {
        let width = match array {
            0 | 1 => self.integers[array].size(),
            _ => self.kind.size(),
        };
        let each = self.length(array).saturating_mul(width);
        let (address, stride) = (self.arrays[array], self.strides[array]);
        if self.batch == 1 || stride == 0 {
            return match array {
                0 | 1 => numbers(address, self.length(array), self.integers[array]),
                _ => values(address, self.length(array), self.kind),
            };
        }
        let block = |index: usize| {
            let address = address.wrapping_add(stride.saturating_mul(index).saturating_mul(width) as u64);
            let rows = Rows { address, width: each, height: 1, pitch: 0 };
            Block { rows, offset: each.saturating_mul(index), pitch: 0 }
        };
        Region::new(each.saturating_mul(self.batch), (0..self.batch).map(block).collect())
    }

    /// Adds the offsets to a call, which reads them.
    pub(crate) fn reads_offsets(&self, call: &mut Call<'_>, operand: &Operand) -> Outcome<Argument> {
        call.reads(operand.names(self.format)[0], self.region(0))
    }

    /// Adds the offsets and indices to a call, which reads them.
    pub(crate) fn reads_positions(&self, call: &mut Call<'_>, operand: &Operand) -> Outcome<Positions> {
        if self.symmetry != [0; 2] {
            return Err(NOT_SUPPORTED);
        }
        if self.format != Format::Csr && self.rows > MOST_ROWS {
            return Err(cusparseStatus_t::ALLOC_FAILED);
        }
        let [offsets_name, indices_name, _] = operand.names(self.format);
        let has_offsets = !matches!(self.format, Format::BlockedEll { .. });
        let offsets = has_offsets.then(|| call.reads(offsets_name, self.region(0))).transpose()?;
        let indices = call.reads(indices_name, self.region(1))?;
        let names = Names { function: call.name, offsets: offsets_name, indices: indices_name };
        Ok(Positions { matrix: *self, offsets, indices, names })
    }

    /// Adds the matrix to a call, which reads it.
    pub(crate) fn reads(&self, call: &mut Call<'_>, operand: &Operand) -> Outcome<Entries> {
        let positions = self.reads_positions(call, operand)?;
        let values = call.reads(operand.names(self.format)[2], self.region(2))?;
        Ok(Entries { positions, values })
    }

    /// The bytes of the values, and their name.
    pub(crate) fn values(&self, operand: &Operand) -> (&'static CStr, Region) {
        (operand.names(self.format)[2], self.region(2))
    }

    /// Adds an array to a call, which writes it.
    pub(crate) fn writes(&self, call: &mut Call<'_>, operand: &Operand, array: usize) -> Outcome<Argument> {
        call.writes(operand.names(self.format)[array], self.region(array))
    }

    /// Checks that the matrix is one of few formats.
    pub(crate) fn check_format(&self, accepted: impl FnOnce(Format) -> bool) -> Outcome {
        if accepted(self.format) { Ok(()) } else { Err(NOT_SUPPORTED) }
    }
}

/// A part of the values of an argument: those of one matrix of a batch.
fn part<T: Clone>(values: &[T], length: usize, index: usize) -> Vec<T> {
    let start = if values.len() <= length { 0 } else { length.saturating_mul(index) };
    values.get(start..values.len().min(start.saturating_add(length))).unwrap_or_default().to_vec()
}

impl Positions {
    /// The patterns of the matrices of a batch; one pattern if all share it.
    pub(crate) fn get(&self, data: &mut Data<'_>) -> Vec<Pattern> {
        let matrix = &self.matrix;
        let base = matrix.base;
        let offsets = self.offsets.map(|offsets| integers(data, offsets, matrix.integers[0], base)).unwrap_or_default();
        let indices = integers(data, self.indices, matrix.integers[1], base);
        let shared = |array: usize| matrix.batch == 1 || matrix.strides[array] == 0;
        if shared(0) && shared(1) {
            return vec![self.pattern(offsets, indices)];
        }
        let one = |index: usize| {
            self.pattern(part(&offsets, matrix.length(0), index), part(&indices, matrix.length(1), index))
        };
        (0..matrix.batch).map(one).collect()
    }

    fn pattern(&self, offsets: Vec<usize>, indices: Vec<usize>) -> Pattern {
        let matrix = &self.matrix;
        let (size, names) = ((matrix.rows, matrix.columns), self.names);
        match matrix.format {
            Format::Csr => Pattern::of(size, true, offsets, indices, names),
            Format::Csc => Pattern::of(size, false, offsets, indices, names),
            Format::Coo => {
                let is_right = names.check_both(&offsets, &indices, size);
                let entries =
                    offsets.iter().zip(&indices).enumerate().map(|(place, (row, column))| (*row, *column, place));
                if is_right {
                    return Pattern::of_entries(size, entries);
                }
                Pattern::of_entries(size, entries.filter(|(row, column, _)| *row < size.0 && *column < size.1))
            }
            Format::Bsr { rows, columns, by_rows } => {
                let blocks = (matrix.rows / rows.max(1), matrix.columns / columns.max(1));
                let blocks = Pattern::of(blocks, true, offsets, indices, names);
                let within =
                    |row: usize, column: usize| if by_rows { row * columns + column } else { column * rows + row };
                let entries = blocks.entries().flat_map(|(row, column, entry)| {
                    let start = blocks.place(entry) * rows * columns;
                    (0..rows).flat_map(move |inner_row| {
                        (0..columns).map(move |inner| {
                            (row * rows + inner_row, column * columns + inner, start + within(inner_row, inner))
                        })
                    })
                });
                Pattern::of_entries(size, entries)
            }
            Format::BlockedEll { block, columns } => {
                let across = columns / block.max(1);
                let blocks =
                    indices.iter().enumerate().filter(|(_, index)| **index < matrix.columns.div_ceil(block.max(1)));
                let entries = blocks.flat_map(|(place, index)| {
                    let (line, slot) = (place / across.max(1), place % across.max(1));
                    (0..block).flat_map(move |inner_row| {
                        (0..block).map(move |inner| {
                            let row = line * block + inner_row;
                            (row, *index * block + inner, row * columns + slot * block + inner)
                        })
                    })
                });
                Pattern::of_entries(size, entries.filter(|(row, column, _)| *row < size.0 && *column < size.1))
            }
            Format::SlicedEll { slice, stored } => {
                // The offsets of slices are places of values: the entries of a slice are stored by columns.
                let offsets = &offsets;
                let entries = (0..matrix.rows).flat_map(|row| {
                    let start = offsets.get(row / slice).copied().unwrap_or_default();
                    let end = offsets.get(row / slice + 1).copied().unwrap_or_default().min(stored);
                    (start.saturating_add(row % slice)..end).step_by(slice).map(move |place| (row, place))
                });
                let entries =
                    entries.map(|(row, place)| (row, indices.get(place).copied().unwrap_or(usize::MAX), place));
                // Padding has the column -1.
                Pattern::of_entries(size, entries.filter(|(_, column, _)| *column < size.1))
            }
        }
    }
}

impl Names {
    /// Whether row and column indices are within the size. The first wrong one of each is reported.
    fn check_both(&self, rows: &[usize], columns: &[usize], size: (usize, usize)) -> bool {
        let check = |name: &'static CStr, indices: &[usize], limit: usize| {
            let wrong = indices.iter().position(|index| *index >= limit);
            if let Some(place) = wrong {
                crate::call::tell_outside(self.function, name, place, indices[place], limit);
            }
            wrong.is_none()
        };
        check(self.offsets, rows, size.0) & check(self.indices, columns, size.1)
    }
}

impl Entries {
    /// The matrices of a batch; one if all share all arrays.
    pub(crate) fn get<W: Number>(&self, data: &mut Data<'_>) -> Vec<Sparse<W>> {
        let matrix = &self.positions.matrix;
        let patterns = self.positions.get(data);
        let values = widen::<W>(data, self.values, matrix.kind);
        let length = matrix.length(2);
        if patterns.len() == 1 && values.len() <= length {
            return vec![Sparse::new(patterns.into_iter().next().unwrap_or_default(), values)];
        }
        let pattern = |index: usize| patterns.get(index).or_else(|| patterns.first()).cloned().unwrap_or_default();
        (0..matrix.batch).map(|index| Sparse::new(pattern(index), part(&values, length, index))).collect()
    }

    /// The only matrix.
    pub(crate) fn one<W: Number>(&self, data: &mut Data<'_>) -> Sparse<W> {
        let values = widen::<W>(data, self.values, self.positions.matrix.kind);
        let pattern = self.positions.get(data).into_iter().next().unwrap_or_default();
        Sparse::new(pattern, values)
    }
}
