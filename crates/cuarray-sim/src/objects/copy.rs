//! Copies and fills, as they are enqueued.
//!
//! Both are boxes of bytes: rows of `width` bytes, `height` rows per slice, `depth` slices; a plain copy is one row.
//! Addresses are those that the program passed; they are translated when the work runs.

use crate::objects::allocation::Declared;
use cuarray_abi::{CUcontext, CUdeviceptr, CUresult};
use std::ffi::c_void;

/// The shape of a box of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub width: u64,
    pub height: u64,
    pub depth: u64,
}

impl Extent {
    pub(crate) fn row(width: u64) -> Extent {
        Extent { width, height: 1, depth: 1 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }
}

/// The position of a box: its first byte, and the distances between rows and slices in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub address: u64,
    pub pitch: u64,
    pub slice: u64,
}

impl Place {
    pub(crate) fn row(address: u64) -> Place {
        Place { address, pitch: 0, slice: 0 }
    }

    /// The number of bytes from the first to the last.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if the number or the end address overflows.
    pub(crate) fn span(&self, extent: Extent) -> Result<u64, CUresult> {
        let rows = (extent.height - 1).checked_mul(self.pitch);
        let slices = (extent.depth - 1).checked_mul(self.slice);
        let span = rows.zip(slices).and_then(|(rows, slices)| rows.checked_add(slices)?.checked_add(extent.width));
        span.filter(|span| self.address.checked_add(*span).is_some()).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
    }
}

/// One side of a copy, as its caller describes it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    pub declared: Declared,
    pub place: Place,
    /// The context that a copy between contexts names for this side.
    pub context: Option<CUcontext>,
}

impl End {
    pub(crate) fn new(declared: Declared, place: Place) -> End {
        End { declared, place, context: None }
    }

    /// The side with the context that a copy between contexts names for it.
    pub(crate) fn of_context(self, context: CUcontext) -> End {
        End { context: Some(context), ..self }
    }

    pub(crate) fn host(address: *const c_void) -> End {
        End::new(Declared::Host, Place::row(address as u64))
    }

    pub(crate) fn device(address: CUdeviceptr) -> End {
        End::new(Declared::Device, Place::row(address))
    }

    pub(crate) fn unified(address: CUdeviceptr) -> End {
        End::new(Declared::Unified, Place::row(address))
    }
}

/// A copy, as its caller describes it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub target: End,
    pub source: End,
    pub extent: Extent,
}

/// The bytes that a copy reads.
pub(crate) enum Source {
    /// Memory, at the time the copy runs.
    Memory(Place),
    /// The contents of pageable host memory when the copy was enqueued, densely packed.
    Staged(Box<[u8]>),
}

/// A copy.
pub(crate) struct Copy {
    pub source: Source,
    pub target: Place,
    pub extent: Extent,
    /// Whether it reads pageable memory of the host when it runs, and so possibly after the call that enqueues it.
    pub late: bool,
}

/// A fill with a value of 1, 2 or 4 bytes.
#[derive(Clone, Copy)]
pub(crate) struct Fill {
    pub target: Place,
    pub value: u32,
    pub value_size: u8,
    pub extent: Extent,
}

/// Reads a box of the program's own host memory into a buffer.
///
/// # Errors
/// `CUDA_ERROR_OUT_OF_MEMORY` if the buffer cannot be allocated.
///
/// # Safety
/// The box is readable now, and its span has been checked.
pub(crate) unsafe fn stage(place: Place, extent: Extent) -> Result<Box<[u8]>, CUresult> {
    let mut bytes: Vec<u8> = Vec::new();
    let size = extent.width.checked_mul(extent.height).and_then(|plane| plane.checked_mul(extent.depth));
    let reserved = size.is_some_and(|size| bytes.try_reserve_exact(size as usize).is_ok());
    if !reserved {
        return Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    }
    for slice in 0..extent.depth {
        for row in 0..extent.height {
            let from = place.address + slice * place.slice + row * place.pitch;
            let (length, width) = (bytes.len(), extent.width as usize);
            // SAFETY: the row is readable by this function's contract, and the vector has room for all rows.
            unsafe {
                std::ptr::copy_nonoverlapping(from as *const u8, bytes.as_mut_ptr().add(length), width);
                bytes.set_len(length + width);
            }
        }
    }
    Ok(bytes.into_boxed_slice())
}
