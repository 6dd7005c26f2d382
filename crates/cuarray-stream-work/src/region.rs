//! The bytes of an argument in device memory, and their places in the staging memory.

use crate::driver::{Error, Result};
use crate::entry::Status;

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
        Region { size, blocks: Vec::new(), found: Some(Found::Pointers(pointers)) }
    }
}

/// The type of the integers in device memory that say which rows are accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Integers {
    U16,
    I32,
    I64,
}

impl Integers {
    /// The bytes of a number.
    pub fn size(self) -> usize {
        match self {
            Integers::U16 => 2,
            Integers::I32 => 4,
            Integers::I64 => 8,
        }
    }
}

/// Rows whose numbers are in an array in device memory, which is read in stream order.
#[derive(Clone, Copy, Debug)]
pub struct Indexed {
    /// The address of the array of numbers.
    pub array: u64,
    /// The type of the numbers.
    pub integers: Integers,
    /// The number of the row at `rows.address`.
    pub first: u64,
    /// The rows: `height` is the number of those that are accessed.
    pub rows: Rows,
    /// The bytes of an element, a power of two.
    pub element: usize,
}

impl From<Indexed> for Region {
    /// The rows in the order of the array, without gaps.
    fn from(indexed: Indexed) -> Region {
        let size = indexed.rows.width.saturating_mul(indexed.rows.height);
        Region { size, blocks: Vec::new(), found: Some(Found::Indexed(indexed)) }
    }
}

/// Contiguous elements whose count is in device memory, which is read in stream order. The bytes after them have any value.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// The address of the count.
    pub count: u64,
    /// The type of the count.
    pub integers: Integers,
    /// A number that is subtracted from the count.
    pub less: u64,
    /// The address of the first element.
    pub address: u64,
    /// The bytes of an element, a power of two.
    pub element: usize,
    /// The largest count.
    pub at_most: usize,
}

impl From<Counted> for Region {
    fn from(counted: Counted) -> Region {
        let size = counted.element.saturating_mul(counted.at_most);
        Region { size, blocks: Vec::new(), found: Some(Found::Counted(counted)) }
    }
}

/// Bytes that are found by values in device memory. A kernel copies them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found {
    Pointers(Pointers),
    Indexed(Indexed),
    Counted(Counted),
}

impl Found {
    fn starts_at(&self, address: u64) -> bool {
        match self {
            Found::Pointers(pointers) => pointers.array == address,
            Found::Indexed(indexed) => indexed.array == address || indexed.rows.address == address,
            // There may be no elements, and then no address of them.
            Found::Counted(counted) => counted.count == address,
        }
    }
}

/// The bytes of an argument. The closure sees `size` bytes, and only those of the blocks are copied.
#[derive(Clone, Debug, Default)]
pub struct Region {
    size: usize,
    blocks: Vec<Block>,
    pub(crate) found: Option<Found>,
}

impl From<Rows> for Region {
    /// The rows one after the other, without gaps.
    fn from(rows: Rows) -> Region {
        let size = rows.width.saturating_mul(rows.height);
        Region { size, blocks: vec![Block { rows, offset: 0, pitch: rows.width }], found: None }
    }
}

impl Region {
    /// Blocks within `size` bytes of staging memory. Bytes outside of the blocks have any value.
    pub fn new(size: usize, blocks: Vec<Block>) -> Region {
        Region { size, blocks, found: None }
    }

    /// The number of bytes that the closure sees.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether bytes are copied from or to this address.
    fn starts_at(&self, address: u64) -> bool {
        self.found.is_some_and(|found| self.size > 0 && found.starts_at(address))
            || self.blocks().any(|block| block.rows.address == address)
    }

    /// The region, unless it has bytes and no address.
    ///
    /// # Errors
    /// [`Status::NULL_POINTER`].
    pub fn present<S: Status>(self) -> std::result::Result<Region, S> {
        if self.starts_at(0) { Err(S::NULL_POINTER) } else { Ok(self) }
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
