//! Sums of the entries of a row by their columns.

use crate::numbers::Number;
use crate::pattern::{Pattern, Sparse};

/// The columns that matrices use, in order. A matrix may have far more columns than entries, so no list has one element for each column.
pub(crate) struct Columns(Vec<usize>);

impl Columns {
    /// The columns of patterns by rows.
    pub(crate) fn of(patterns: &[&Pattern]) -> Columns {
        let mut used: Vec<usize> = patterns.iter().flat_map(|pattern| pattern.indices.iter().copied()).collect();
        used.sort_unstable();
        used.dedup();
        Columns(used)
    }

    /// The number of each entry's column among those that are used.
    pub(crate) fn ranks(&self, pattern: &Pattern) -> Vec<usize> {
        pattern.indices.iter().map(|column| self.0.binary_search(column).unwrap_or_default()).collect()
    }
}

/// The sums of one row, and the rows that are complete.
pub(crate) struct Accumulator<W> {
    columns: Columns,
    sums: Vec<W>,
    /// Whether the row has an entry in a column.
    is_used: Vec<bool>,
    ranks: Vec<usize>,
    offsets: Vec<usize>,
    indices: Vec<usize>,
    values: Vec<W>,
}

impl<W: Number> Accumulator<W> {
    pub(crate) fn new(columns: Columns) -> Accumulator<W> {
        let count = columns.0.len();
        Accumulator {
            columns,
            sums: vec![W::default(); count],
            is_used: vec![false; count],
            ranks: Vec::new(),
            offsets: vec![0],
            indices: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Adds a value to the sum of a column.
    pub(crate) fn add(&mut self, rank: usize, value: W) {
        if !self.is_used[rank] {
            self.is_used[rank] = true;
            self.sums[rank] = W::default();
            self.ranks.push(rank);
        }
        self.sums[rank] += value;
    }

    /// Completes a row. Its entries get the order of their columns, and those that are 0 are kept. Returns the number of all entries.
    pub(crate) fn end_row(&mut self) -> usize {
        self.ranks.sort_unstable();
        for rank in self.ranks.drain(..) {
            self.is_used[rank] = false;
            self.indices.push(self.columns.0[rank]);
            self.values.push(self.sums[rank]);
        }
        self.offsets.push(self.indices.len());
        self.indices.len()
    }

    /// The matrix of all rows.
    pub(crate) fn matrix(self, shape: (usize, usize)) -> Sparse<W> {
        Sparse { pattern: Pattern::computed(shape, self.offsets, self.indices), values: self.values }
    }
}
