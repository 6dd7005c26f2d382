//! The places of a transform's elements in memory.

use crate::status::{INVALID_SIZE, Outcome};
use cuarray_stream_work::{Block, Region, Rows};

/// The largest number of blocks of an argument. One with more would take longer to describe than to transform.
const MOST_BLOCKS: usize = 1 << 22;

/// A dimension of an array: the number of its elements, and their distance in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dimension {
    pub(crate) count: usize,
    pub(crate) step: usize,
}

/// An array in device memory: batch, then the dimensions of the transform. An element may have several indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    dimensions: Vec<Dimension>,
}

/// The elements of a [`Layout`] in staging memory, where they have no gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) dimensions: Vec<Dimension>,
    /// The number of elements in staging memory.
    pub(crate) size: usize,
}

impl View {
    /// An array without gaps.
    pub(crate) fn packed(counts: &[usize]) -> View {
        let mut size = 1;
        let mut dimensions: Vec<_> = counts
            .iter()
            .rev()
            .map(|&count| {
                let step = size;
                size *= count;
                Dimension { count, step }
            })
            .collect();
        dimensions.reverse();
        View { dimensions, size }
    }

    /// Whether the elements are in the order of their indices.
    pub(crate) fn is_packed(&self) -> bool {
        let mut step = 1;
        self.dimensions.iter().rev().all(|dimension| {
            let fits = dimension.count == 1 || dimension.step == step;
            step *= dimension.count;
            fits
        })
    }

    /// Calls a function with the place of the first element of each row, and with the distance of the elements of a row.
    pub(crate) fn rows(&self, mut f: impl FnMut(usize, usize)) {
        let Some((last, outer)) = self.dimensions.split_last() else { return };
        let mut index = vec![0; outer.len()];
        loop {
            let place = index.iter().zip(outer).map(|(index, dimension)| index * dimension.step).sum();
            f(place, last.step);
            let mut moved = None;
            for (at, dimension) in outer.iter().enumerate().rev() {
                if index[at] + 1 < dimension.count {
                    moved = Some(at);
                    break;
                }
            }
            let Some(at) = moved else { return };
            index[at] += 1;
            index[at + 1..].fill(0);
        }
    }
}

impl Layout {
    /// A layout of elements with `bytes` bytes.
    ///
    /// # Errors
    /// The array leaves the address space.
    pub(crate) fn new(dimensions: Vec<Dimension>, bytes: usize) -> Outcome<Layout> {
        let span = dimensions.iter().try_fold(1_usize, |span, dimension| {
            dimension.step.checked_mul(dimension.count.checked_sub(1)?)?.checked_add(span)
        });
        let count = dimensions.iter().try_fold(1_usize, |count, dimension| count.checked_mul(dimension.count));
        let fits =
            |elements: Option<usize>| elements?.checked_mul(bytes).filter(|size| *size < isize::MAX as usize / 4);
        if fits(span).is_none() || fits(count).is_none() {
            return Err(INVALID_SIZE);
        }
        Ok(Layout { dimensions })
    }

    /// The elements without gaps, in the order of their addresses.
    pub(crate) fn view(&self) -> View {
        let mut dimensions = self.dimensions.clone();
        let mut size = 1;
        for at in self.by_step() {
            dimensions[at].step = size;
            size *= dimensions[at].count;
        }
        // Indices of one element stay so.
        for (dimension, own) in dimensions.iter_mut().zip(&self.dimensions) {
            if own.step == 0 || own.count == 1 {
                dimension.step = 0;
            }
        }
        View { dimensions, size }
    }

    /// The dimensions with several elements, from the nearest elements to the farthest.
    fn by_step(&self) -> Vec<usize> {
        let several = |at: &usize| self.dimensions[*at].count > 1 && self.dimensions[*at].step > 0;
        // Of two with the same step, the later one is inner.
        let mut order: Vec<usize> = (0..self.dimensions.len()).rev().filter(several).collect();
        order.sort_by_key(|at| self.dimensions[*at].step);
        order
    }

    /// The bytes of the array at an address, with elements of `bytes` bytes. The closure sees them as [`Layout::view`] says.
    ///
    /// # Errors
    /// The array has too many rows that lie apart.
    pub(crate) fn region(&self, address: u64, bytes: usize) -> Outcome<Region> {
        let mut outer: Vec<Dimension> = self.by_step().into_iter().map(|at| self.dimensions[at]).collect();
        for dimension in &mut outer {
            dimension.step *= bytes;
        }
        outer.reverse();
        // Dimensions whose elements follow those of the inner ones.
        let mut joined = |size: usize| {
            let mut count = 1;
            while let Some(next) = outer.pop_if(|next| next.step == size * count) {
                count *= next.count;
            }
            count
        };
        let width = bytes * joined(bytes);
        let (mut height, mut pitch) = (1, 0);
        if let Some(next) = outer.pop() {
            (height, pitch) = (next.count, next.step);
            while let Some(next) = outer.pop_if(|next| next.step == pitch * height) {
                height *= next.count;
            }
        }
        let blocks = outer.iter().try_fold(1_usize, |blocks, dimension| blocks.checked_mul(dimension.count));
        let blocks = blocks.filter(|blocks| *blocks <= MOST_BLOCKS).ok_or(INVALID_SIZE)?;
        let block = |number: usize| {
            let mut rest = number;
            let mut at = address;
            for dimension in outer.iter().rev() {
                at = at.wrapping_add((rest % dimension.count * dimension.step) as u64);
                rest /= dimension.count;
            }
            let rows = Rows { address: at, width, height, pitch };
            Block { rows, offset: number * width * height, pitch: width }
        };
        Ok(Region::new(width * height * blocks, (0..blocks).map(block).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The address of each element, in the order of the indices.
    fn addresses(dimensions: &[Dimension]) -> Vec<usize> {
        dimensions.iter().fold(vec![0], |before, dimension| {
            let next = |start: usize| (0..dimension.count).map(move |index| start + index * dimension.step);
            before.into_iter().flat_map(next).collect()
        })
    }

    proptest! {
        #[test]
        fn each_element_is_copied_to_the_place_where_the_view_expects_it(
            counts in prop::collection::vec(1_usize..5, 2..5),
            steps in prop::collection::vec(0_usize..30, 4),
        ) {
            let pairs = counts.iter().zip(&steps);
            let dimensions: Vec<_> = pairs.map(|(&count, &step)| Dimension { count, step }).collect();
            let layout = Layout::new(dimensions.clone(), 8).unwrap();
            let view = layout.view();
            let region = layout.region(0, 8).unwrap();
            prop_assert_eq!(region.size(), view.size * 8);
            // Staging memory after the copies of all blocks.
            let mut staging = vec![usize::MAX; view.size];
            for Block { rows, offset, pitch } in region.blocks() {
                for row in 0..rows.height {
                    for byte in (0..rows.width).step_by(8) {
                        staging[(offset + row * pitch + byte) / 8] = (rows.address as usize + row * rows.pitch + byte) / 8;
                    }
                }
            }
            let mut seen = Vec::new();
            let length = view.dimensions.last().map_or(0, |last| last.count);
            view.rows(|start, step| seen.extend((0..length).map(|index| staging[start + index * step])));
            prop_assert_eq!(seen, addresses(&dimensions));
        }
    }

    #[test]
    fn a_contiguous_array_is_one_row() {
        let dimensions = [(2, 12), (3, 4), (4, 1)].map(|(count, step)| Dimension { count, step });
        let layout = Layout::new(dimensions.to_vec(), 8).unwrap();
        assert!(layout.view().is_packed());
        let blocks: Vec<_> = layout.region(64, 8).unwrap().blocks().collect();
        assert_eq!(blocks.len(), 1);
        assert_eq!((blocks[0].rows.width, blocks[0].rows.height), (192, 1));
    }

    #[test]
    fn an_array_outside_of_the_address_space_is_refused() {
        let dimensions = vec![Dimension { count: 1 << 40, step: 1 << 40 }];
        assert_eq!(Layout::new(dimensions, 8), Err(INVALID_SIZE));
    }
}
