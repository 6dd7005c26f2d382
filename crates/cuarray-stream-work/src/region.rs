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

/// The bytes of an argument: what the closure sees is `size` bytes, of which only those of the blocks are copied.
#[derive(Clone, Debug, Default)]
pub struct Region {
    size: usize,
    blocks: Vec<Block>,
}

impl From<Rows> for Region {
    /// The rows one after the other, without gaps.
    fn from(rows: Rows) -> Region {
        let size = rows.width.saturating_mul(rows.height);
        Region { size, blocks: vec![Block { rows, offset: 0, pitch: rows.width }] }
    }
}

impl Region {
    /// Blocks within `size` bytes of staging memory. Bytes outside of the blocks have any value.
    pub fn new(size: usize, blocks: Vec<Block>) -> Region {
        Region { size, blocks }
    }

    /// The number of bytes that the closure sees.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether bytes are copied from or to this address.
    pub fn starts_at(&self, address: u64) -> bool {
        self.blocks().any(|block| block.rows.address == address)
    }

    pub(crate) fn blocks(&self) -> impl Iterator<Item = Block> {
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
        self.blocks().try_for_each(|block| fits(block).ok_or(Error::Size))
    }
}
