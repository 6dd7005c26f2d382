//! Device memory that a library makes for its programs.

use crate::driver::{Error, Result, call};
use crate::place::Place;
use crate::staging::unless_captured;
use cuarray_abi::{CUdeviceptr, CUstream};

/// Device memory with constant bytes, in the context of a place.
#[derive(Debug)]
pub struct Constants {
    place: Place,
    address: u64,
}

impl Constants {
    /// Allocates `size` bytes, and writes those that the function returns for their address.
    ///
    /// # Errors
    /// The driver's, and [`Error::Size`] if there are other than `size` bytes.
    pub fn new(size: usize, bytes: impl FnOnce(u64) -> Vec<u8>) -> Result<Constants> {
        let place = Place::current()?;
        let mut address = CUdeviceptr::default();
        unless_captured(|| call!(cuMemAlloc_v2(&mut address, size)))?;
        let constants = Constants { place, address };
        let bytes = bytes(address);
        let written = if bytes.len() == size {
            // The copy may return before its end, because the bytes are pageable.
            unless_captured(|| {
                call!(cuMemcpyHtoD_v2(address, bytes.as_ptr().cast(), size))?;
                call!(cuStreamSynchronize(CUstream::NULL))
            })
        } else {
            Err(Error::Size)
        };
        match written {
            Ok(()) => Ok(constants),
            Err(error) => {
                // The first error is returned.
                let _ = constants.free();
                Err(error)
            }
        }
    }

    /// The address of the first byte.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Frees the memory, after the work of its context.
    ///
    /// # Errors
    /// The driver's.
    pub fn free(self) -> Result {
        let freed = self.place.within(|| unless_captured(|| call!(cuMemFree_v2(self.address))));
        self.place.destroy();
        freed
    }
}
