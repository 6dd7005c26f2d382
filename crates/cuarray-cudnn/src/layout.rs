//! The places of a tensor's elements in memory.

use crate::numbers::{Element, Factors, Real, Type};
use crate::status::{BAD_PARAM, NOT_SUPPORTED, Outcome};
use cuarray_stream_work::{Block, Region, Rows};

/// The largest number of dimensions, `CUDNN_DIM_MAX`.
pub(crate) const MOST_DIMENSIONS: usize = 8;
/// The largest number of elements from the first to the last, as documented.
const MOST_ELEMENTS: usize = 1 << 31;
/// The largest number of copies of one tensor.
const MOST_BLOCKS: usize = 1 << 20;

/// Sizes and strides in elements, both in the order of the dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) kind: Type,
    pub(crate) dims: Vec<usize>,
    pub(crate) strides: Vec<usize>,
}

/// The distances of elements without gaps in the order of dimensions, the last one being contiguous.
pub(crate) fn packed(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1_usize; dims.len()];
    for index in (1..dims.len()).rev() {
        strides[index - 1] = strides[index].saturating_mul(dims[index]);
    }
    strides
}

impl Layout {
    /// A layout with any strides, which a descriptor may have.
    pub(crate) fn new(kind: Type, dims: Vec<usize>, strides: Vec<usize>) -> Outcome<Layout> {
        if dims.contains(&0) {
            return Err(BAD_PARAM);
        }
        let layout = Layout { kind, dims, strides };
        if layout.span() > MOST_ELEMENTS || layout.count() > MOST_ELEMENTS { Err(NOT_SUPPORTED) } else { Ok(layout) }
    }

    /// Whether another tensor has the same sizes and the same type.
    pub(crate) fn is_like(&self, other: &Layout) -> bool {
        self.dims == other.dims && self.kind == other.kind
    }

    /// The number of elements.
    pub(crate) fn count(&self) -> usize {
        self.dims.iter().fold(1, |count, size| count.saturating_mul(*size))
    }

    /// The number of elements from the first to the last.
    pub(crate) fn span(&self) -> usize {
        let ends = self.dims.iter().zip(&self.strides).map(|(size, stride)| (size - 1).saturating_mul(*stride));
        ends.fold(1, usize::saturating_add)
    }

    /// The bytes from the first element to the last.
    pub(crate) fn bytes(&self) -> usize {
        self.span().saturating_mul(self.kind.size())
    }

    /// The dimensions with more than one element, from the smallest stride.
    fn by_stride(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.dims.len()).filter(|index| self.dims[*index] > 1).collect();
        order.sort_by_key(|index| self.strides[*index]);
        order
    }

    /// The elements at an address as bytes, and their order in the staging memory: that of their addresses, without gaps.
    pub(crate) fn place(&self, address: u64) -> Outcome<(Region, Staged)> {
        let order = self.by_stride();
        let mut staged = vec![0; self.dims.len()];
        let (mut count, mut end) = (1, 1);
        for index in &order {
            // Two elements at one address.
            if self.strides[*index] < end {
                return Err(BAD_PARAM);
            }
            staged[*index] = count;
            count *= self.dims[*index];
            end += self.strides[*index] * (self.dims[*index] - 1);
        }
        let size = self.kind.size();
        let mut rest = order.iter().map(|index| (self.dims[*index], self.strides[*index])).peekable();
        let mut run = 1;
        while let Some((dim, _)) = rest.next_if(|(_, stride)| *stride == run) {
            run *= dim;
        }
        let (mut height, pitch) = rest.next().unwrap_or((1, run));
        while let Some((dim, _)) = rest.next_if(|(_, stride)| *stride == height * pitch) {
            height *= dim;
        }
        let outer: Vec<(usize, usize)> = rest.collect();
        let blocks: usize = outer.iter().map(|(dim, _)| dim).product();
        if blocks > MOST_BLOCKS {
            return Err(NOT_SUPPORTED);
        }
        let block = |number: usize| {
            let (mut rest, mut start) = (number, 0);
            for (dim, stride) in &outer {
                start += rest % dim * stride;
                rest /= dim;
            }
            let address = address.saturating_add((start * size) as u64);
            let rows = Rows { address, width: run * size, height, pitch: pitch * size };
            Block { rows, offset: number * height * run * size, pitch: run * size }
        };
        let region = Region::new(count * size, (0..blocks).map(block).collect());
        Ok((region, Staged { dims: self.dims.clone(), strides: staged }))
    }
}

/// The elements of a tensor in staging memory.
#[derive(Clone, Debug)]
pub(crate) struct Staged {
    dims: Vec<usize>,
    strides: Vec<usize>,
}

impl Staged {
    /// Calls a function with the place of each element in memory, in the order of the dimensions.
    fn each(&self, mut f: impl FnMut(usize)) {
        let Some((inner, step)) = self.dims.last().copied().zip(self.strides.last().copied()) else { return f(0) };
        let outer: usize = self.dims[..self.dims.len() - 1].iter().product();
        let mut index = vec![0; self.dims.len() - 1];
        let mut start = 0;
        for _ in 0..outer {
            (0..inner).for_each(|at| f(start + at * step));
            for axis in (0..index.len()).rev() {
                index[axis] += 1;
                start += self.strides[axis];
                if index[axis] < self.dims[axis] {
                    break;
                }
                start -= self.strides[axis] * self.dims[axis];
                index[axis] = 0;
            }
        }
    }

    /// The values in the order of the dimensions.
    pub(crate) fn values<T: Element>(&self, memory: &[T]) -> Vec<T::Wide> {
        let mut values = Vec::with_capacity(memory.len());
        self.each(|place| values.push(memory[place].widen()));
        values
    }

    /// Puts values into memory, which has the order of the dimensions afterwards too.
    pub(crate) fn store<T: Element>(&self, memory: &mut [T], values: &[T::Wide], factors: Factors<T::Wide>) {
        let mut values = values.iter();
        let Factors { alpha, beta } = factors;
        let one = T::Wide::of(1.0);
        self.each(|place| {
            let Some(value) = values.next() else { return };
            let result = if alpha == one { *value } else { alpha * *value };
            let before = if factors.overwrites() { T::Wide::of(0.0) } else { beta * memory[place].widen() };
            memory[place] = T::narrow(if factors.overwrites() { result } else { result + before });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(dims: &[usize], strides: &[usize]) -> Layout {
        Layout::new(Type::Float, dims.to_vec(), strides.to_vec()).expect("a layout of a test")
    }

    #[test]
    fn layout_without_gaps_is_one_copy_and_gaps_are_rows() {
        let rows = |layout: &Layout| {
            let (region, _) = layout.place(1000).expect("a layout without overlaps");
            region.blocks().map(|block| (block.rows, block.offset)).collect::<Vec<_>>()
        };
        let row = |address, width, height, pitch| Rows { address, width, height, pitch };
        assert_eq!(rows(&layout(&[2, 3, 4, 5], &packed(&[2, 3, 4, 5]))), [(row(1000, 480, 1, 480), 0)]);
        assert_eq!(rows(&layout(&[2, 3, 4, 5], &[60, 1, 15, 3])), [(row(1000, 480, 1, 480), 0)]);
        assert_eq!(rows(&layout(&[2, 3, 4], &[18, 6, 1])), [(row(1000, 16, 6, 24), 0)]);
        let parts = rows(&layout(&[2, 3, 4], &[40, 6, 1]));
        assert_eq!(parts, [(row(1000, 16, 3, 24), 0), (row(1160, 16, 3, 24), 48)]);
    }

    #[test]
    fn values_have_the_order_of_the_dimensions_with_any_strides() {
        let channels_last = layout(&[1, 2, 1, 3], &[6, 1, 6, 2]);
        let (_, staged) = channels_last.place(64).expect("a layout without overlaps");
        let mut memory = [0.0_f32, 10.0, 1.0, 11.0, 2.0, 12.0];
        assert_eq!(staged.values(&memory), [0.0, 1.0, 2.0, 10.0, 11.0, 12.0]);
        staged.store(&mut memory, &[1.0; 6], Factors { alpha: 2.0, beta: 3.0 });
        assert_eq!(memory, [2.0, 32.0, 5.0, 35.0, 8.0, 38.0]);
    }

    #[test]
    fn overlaps_empty_dimensions_and_too_many_elements_are_refused() {
        assert_eq!(layout(&[2, 3], &[2, 1]).place(64).map(drop), Err(BAD_PARAM));
        assert_eq!(layout(&[2, 3], &[0, 1]).place(64).map(drop), Err(BAD_PARAM));
        assert_eq!(Layout::new(Type::Float, vec![2, 0], vec![1, 1]), Err(BAD_PARAM));
        assert_eq!(Layout::new(Type::Float, vec![2, 2], vec![usize::MAX, 1]), Err(NOT_SUPPORTED));
    }
}
