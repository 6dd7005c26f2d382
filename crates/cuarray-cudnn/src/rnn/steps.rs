//! The time steps of the sequences of a batch.

use std::ops::Range;

/// The time steps of sequences, which are ranked from the longest: those that have a step are the first ones. A row is a step of a sequence;
/// the rows of a step lie one after the other.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    /// The sequence of each rank.
    pub(super) order: Vec<usize>,
    /// The first row of each step, and the number of all rows.
    starts: Vec<usize>,
}

impl Steps {
    pub(super) fn of(lengths: &[usize]) -> Steps {
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        order.sort_by_key(|sequence| std::cmp::Reverse(lengths[*sequence]));
        let longest = order.first().map_or(0, |sequence| lengths[*sequence]);
        let (mut starts, mut count) = (vec![0], lengths.len());
        for step in 0..longest {
            while count > 0 && lengths[order[count - 1]] <= step {
                count -= 1;
            }
            starts.push(starts[step] + count);
        }
        Steps { order, starts }
    }

    /// The number of steps of the longest sequence.
    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        self.starts[self.count()]
    }

    /// The rows of a step, by rank.
    pub(super) fn range(&self, step: usize) -> Range<usize> {
        self.starts[step]..self.starts[step + 1]
    }

    /// The row that a direction computes before a step of the sequence with this rank.
    pub(super) fn previous(&self, step: usize, rank: usize, is_reverse: bool) -> Option<usize> {
        let step = if is_reverse { step + 1 } else { step.checked_sub(1)? };
        let mut rows = if step < self.count() { self.range(step) } else { return None };
        rows.nth(rank)
    }

    /// Vectors of `width` elements for each sequence of each pseudo-layer, in the order of ranks.
    pub(super) fn ranked<V: Copy>(&self, values: &[V], width: usize) -> Vec<V> {
        let layer = |values: &[V]| -> Vec<V> {
            self.order.iter().flat_map(|sequence| values[sequence * width..][..width].iter().copied()).collect()
        };
        values.chunks(self.order.len() * width).flat_map(layer).collect()
    }

    /// The inverse of [`ranked`](Steps::ranked).
    pub(super) fn unranked<V: Copy>(&self, values: &[V], width: usize) -> Vec<V> {
        let mut result = values.to_vec();
        let size = self.order.len() * width;
        for (to, from) in result.chunks_mut(size).zip(values.chunks(size)) {
            for (sequence, from) in self.order.iter().zip(from.chunks(width)) {
                to[sequence * width..][..width].copy_from_slice(from);
            }
        }
        result
    }
}
