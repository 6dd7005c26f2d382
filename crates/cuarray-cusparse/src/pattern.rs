//! The positions of the entries of a sparse matrix, and their values, as the algorithms have them.

use crate::call::{Op, tell_outside};
use crate::numbers::Number;
use std::ffi::CStr;
use std::ops::Range;

/// The names for messages: the function, its array of offsets, and its array of indices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    pub(crate) function: &'static CStr,
    pub(crate) offsets: &'static CStr,
    pub(crate) indices: &'static CStr,
}

/// The entries of a matrix by rows, or by columns: those of line `i` are at `offsets[i]..offsets[i + 1]`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pattern {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Whether lines are rows.
    pub(crate) by_rows: bool,
    pub(crate) offsets: Vec<usize>,
    pub(crate) indices: Vec<usize>,
    /// The places of the entries' values in memory, if these have another order.
    places: Option<Vec<usize>>,
}

impl Pattern {
    /// A pattern of offsets and indices without their base. Wrong ones are reported and replaced, so that each algorithm stays within its memory.
    pub(crate) fn of(
        (rows, columns): (usize, usize),
        by_rows: bool,
        mut offsets: Vec<usize>,
        mut indices: Vec<usize>,
        names: Names,
    ) -> Pattern {
        let limit = if by_rows { columns } else { rows };
        let count = indices.len();
        let mut last = 0;
        for (place, offset) in offsets.iter_mut().enumerate() {
            if *offset < last || *offset > count {
                tell_outside(names.function, names.offsets, place, *offset, count + 1);
                *offset = last;
            }
            last = *offset;
        }
        let mut is_wrong = false;
        for (place, index) in indices.iter().enumerate() {
            if *index >= limit {
                tell_outside(names.function, names.indices, place, *index, limit);
                is_wrong = true;
                break;
            }
        }
        let mut pattern = Pattern { rows, columns, by_rows, offsets: Vec::new(), indices: Vec::new(), places: None };
        if is_wrong {
            pattern.places = Some(pattern.keep(&mut offsets, &mut indices, limit));
        }
        pattern.offsets = offsets;
        pattern.indices = indices;
        pattern
    }

    /// Drops the entries whose index is outside of the limit. Returns the places of the others.
    fn keep(&self, offsets: &mut [usize], indices: &mut Vec<usize>, limit: usize) -> Vec<usize> {
        let (mut places, mut kept) = (Vec::new(), Vec::new());
        let mut start = offsets.first().copied().unwrap_or_default();
        if let Some(first) = offsets.first_mut() {
            *first = 0;
        }
        for offset in offsets.iter_mut().skip(1) {
            let end = *offset;
            for (place, index) in indices.iter().enumerate().take(end).skip(start) {
                if *index < limit {
                    places.push(place);
                    kept.push(*index);
                }
            }
            start = end;
            *offset = kept.len();
        }
        *indices = kept;
        places
    }

    /// A pattern by rows that a function has computed.
    pub(crate) fn computed((rows, columns): (usize, usize), offsets: Vec<usize>, indices: Vec<usize>) -> Pattern {
        Pattern { rows, columns, by_rows: true, offsets, indices, places: None }
    }

    /// A pattern of entries in any order.
    pub(crate) fn of_entries(
        (rows, columns): (usize, usize),
        entries: impl Iterator<Item = (usize, usize, usize)> + Clone,
    ) -> Pattern {
        let mut offsets = vec![0; rows + 1];
        entries.clone().for_each(|(row, _, _)| offsets[row + 1] += 1);
        (0..rows).for_each(|row| offsets[row + 1] += offsets[row]);
        let count = offsets[rows];
        let (mut indices, mut places, mut next) = (vec![0; count], vec![0; count], offsets.clone());
        for (row, column, place) in entries {
            let at = next[row];
            next[row] += 1;
            indices[at] = column;
            places[at] = place;
        }
        Pattern { rows, columns, by_rows: true, offsets, indices, places: Some(places) }
    }

    /// The number of entries.
    pub(crate) fn count(&self) -> usize {
        self.indices.len()
    }

    /// The number of lines.
    pub(crate) fn lines(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The entries of a line.
    pub(crate) fn line(&self, line: usize) -> Range<usize> {
        self.offsets[line]..self.offsets[line + 1]
    }

    /// The place of an entry's value in memory.
    pub(crate) fn place(&self, entry: usize) -> usize {
        self.places.as_ref().map_or(entry, |places| places[entry])
    }

    /// Each entry as its row, its column, and its number.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (usize, usize, usize)> + Clone + '_ {
        (0..self.lines()).flat_map(move |line| {
            self.line(line).map(move |entry| {
                let index = self.indices[entry];
                if self.by_rows { (line, index, entry) } else { (index, line, entry) }
            })
        })
    }

    /// The pattern by rows.
    pub(crate) fn into_rows(self) -> Pattern {
        if self.by_rows {
            return self;
        }
        let entries = self.entries().map(|(row, column, entry)| (row, column, self.place(entry)));
        Pattern::of_entries((self.rows, self.columns), entries)
    }

    /// The pattern of the transposed matrix.
    pub(crate) fn transposed(self) -> Pattern {
        Pattern { rows: self.columns, columns: self.rows, by_rows: !self.by_rows, ..self }
    }
}

/// A sparse matrix: a pattern, and the value of each of its entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sparse<W> {
    pub(crate) pattern: Pattern,
    pub(crate) values: Vec<W>,
}

impl<W: Number> Sparse<W> {
    /// A matrix of a pattern and the values in memory.
    pub(crate) fn new(pattern: Pattern, memory: Vec<W>) -> Sparse<W> {
        let values = match &pattern.places {
            None => memory,
            Some(places) => places.iter().map(|place| memory.get(*place).copied().unwrap_or_default()).collect(),
        };
        Sparse { pattern, values }
    }

    /// The operation of a call.
    pub(crate) fn applied(mut self, op: Op) -> Sparse<W> {
        if op == Op::None {
            return self;
        }
        self.values.iter_mut().for_each(|value| *value = op.value(*value));
        Sparse { pattern: self.pattern.transposed(), values: self.values }
    }

    /// The matrix by rows.
    pub(crate) fn into_rows(self) -> Sparse<W> {
        if self.pattern.by_rows {
            return self;
        }
        let Sparse { mut pattern, values } = self;
        pattern.places = None;
        Sparse::new(pattern.into_rows(), values)
    }

    /// Each entry as its row, its column, and its value.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (usize, usize, W)> + '_ {
        self.pattern.entries().map(|(row, column, entry)| (row, column, self.values[entry]))
    }

    /// The product with a vector.
    pub(crate) fn times(&self, x: &[W]) -> Vec<W> {
        let mut y = vec![W::default(); self.pattern.rows];
        let pattern = &self.pattern;
        for line in 0..pattern.lines() {
            let range = pattern.line(line);
            let entries = pattern.indices[range.clone()].iter().zip(&self.values[range]);
            if pattern.by_rows {
                let mut sum = W::default();
                entries.for_each(|(index, value)| sum += *value * x[*index]);
                y[line] = sum;
            } else {
                let factor = x[line];
                entries.for_each(|(index, value)| y[*index] += *value * factor);
            }
        }
        y
    }
}
