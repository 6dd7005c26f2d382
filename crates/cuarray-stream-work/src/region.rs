//! The bytes of an argument in device memory, and their places in the staging memory.

use crate::driver::{Error, Result};

/// Rows of `width` bytes, `pitch` bytes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The address of the first byte.
    pub address: u64,
    /// The bytes of a row.
    pub width: usize,
    /// The number of rows.
    pub height: usize,
    /// The distance of rows in bytes.
    pub pitch: usize,
}

impl Rows {
    /// Contiguous elements.
    pub fn of<T>(address: u64, count: usize) -> Rows {
        Rows { address, width: count.saturating_mul(size_of::<T>()), height: 1, pitch: 0 }
    }

    /// A matrix by columns: `rows` contiguous elements for each of `columns` columns, `leading` elements apart.
    pub fn matrix<T>(address: u64, rows: usize, columns: usize, leading: usize) -> Rows {
        let bytes = |count: usize| count.saturating_mul(size_of::<T>());
        Rows { address, width: bytes(rows), height: columns, pitch: bytes(leading) }
    }
}

/// Rows of an argument, with their place in the staging memory of the argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The rows in device memory.
    pub rows: Rows,
    /// The offset of the first byte in the staging memory.
    pub offset: usize,
    /// The distance of rows in the staging memory.
    pub pitch: usize,
}

/// The part of matrices behind pointers that a call accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Part {
    All,
    Lower,
    Upper,
    StrictlyLower,
    StrictlyUpper,
}

/// Rows behind each pointer of an array in device memory. The array is read in stream order.
#[derive(Clone, Copy, Debug)]
pub struct Pointers {
    /// The address of the array.
    pub array: u64,
    /// The number of pointers.
    pub count: usize,
    /// The bytes of a row.
    pub width: usize,
    /// The number of rows behind a pointer.
    pub height: usize,
    /// The distance of rows in bytes.
    pub pitch: usize,
    /// The bytes of an element, a power of two.
    pub element: usize,
    /// The elements that are accessed; for a triangle, a row is a column of the matrix.
    pub part: Part,
}

impl From<Pointers> for Region {
    /// The rows of all pointers one after the other, without gaps.
    fn from(pointers: Pointers) -> Region {
        let size = pointers.width.saturating_mul(pointers.height).saturating_mul(pointers.count);
        Region { size, blocks: Vec::new(), pointers: Some(pointers) }
    }
}

/// The bytes of an argument. The closure sees `size` bytes, and only those of the blocks are copied.
#[derive(Clone, Debug, Default)]
pub struct Region {
    size: usize,
    blocks: Vec<Block>,
    pub(crate) pointers: Option<Pointers>,
}

impl From<Rows> for Region {
    /// The rows one after the other, without gaps.
    fn from(rows: Rows) -> Region {
        let size = rows.width.saturating_mul(rows.height);
        Region { size, blocks: vec![Block { rows, offset: 0, pitch: rows.width }], pointers: None }
    }
}

impl Region {
    /// Blocks within `size` bytes of staging memory. Bytes outside of the blocks have any value.
    pub fn new(size: usize, blocks: Vec<Block>) -> Region {
        Region { size, blocks, pointers: None }
    }

    /// The number of bytes that the closure sees.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether bytes are copied from or to this address.
    pub fn starts_at(&self, address: u64) -> bool {
        let is_array = |pointers: Pointers| self.size > 0 && pointers.array == address;
        self.pointers.is_some_and(is_array) || self.blocks().any(|block| block.rows.address == address)
    }

    /// The blocks that have bytes.
    pub fn blocks(&self) -> impl Iterator<Item = Block> {
        self.blocks.iter().copied().filter(|block| block.rows.width > 0 && block.rows.height > 0)
    }

    /// Checks that the blocks lie in the address space and in the staging memory.
    pub(crate) fn check(&self) -> Result {
        let span = |pitch: usize, rows: Rows| (rows.height - 1).checked_mul(pitch)?.checked_add(rows.width);
        let fits = |block: Block| {
            let device = span(block.rows.pitch, block.rows)? as u64;
            block.rows.address.checked_add(device)?;
            let end = span(block.pitch, block.rows)?.checked_add(block.offset)?;
            (end <= self.size && isize::try_from(end).is_ok()).then_some(())
        };
        if self.size > isize::MAX as usize {
            return Err(Error::Size);
        }
        self.blocks().try_for_each(|block| fits(block).ok_or(Error::Size))
    }
}
