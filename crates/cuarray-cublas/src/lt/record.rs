//! Descriptors in memory of the caller: values at fixed offsets, which the caller sets and gets by their numbers.

use crate::status::{INVALID_VALUE, Outcome};
use crate::types::cublasStatus_t;
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

/// The bytes of the largest descriptor.
const LARGEST: usize = 256;
/// The bytes of the number that marks an initialized descriptor.
const MARK: usize = size_of::<u32>();

/// A value of a descriptor: its number, the bytes it takes, and its first value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attribute {
    pub(super) number: u32,
    pub(super) size: usize,
    pub(super) first: i64,
}

/// A kind of descriptor.
#[derive(Debug)]
pub(super) struct Kind {
    /// The number at the start of an initialized descriptor.
    pub(super) mark: u32,
    /// The bytes of a descriptor, as the headers of CUDA 12 declare it. Those of CUDA 13 declare as many or more.
    pub(super) size: usize,
    pub(super) attributes: &'static [Attribute],
}

/// The values of a descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values {
    kind: &'static Kind,
    bytes: [u8; LARGEST],
}

impl Kind {
    /// The place of an attribute: its offset and its bytes.
    fn place(&self, number: u32) -> Outcome<(usize, usize)> {
        let mut offset = MARK;
        for attribute in self.attributes {
            if attribute.number == number {
                return Ok((offset, attribute.size));
            }
            offset += attribute.size;
        }
        Err(INVALID_VALUE)
    }

    /// The values that a descriptor has at first.
    pub(super) fn first(&'static self) -> Values {
        let mut values = Values { kind: self, bytes: [0; LARGEST] };
        values.bytes[..MARK].copy_from_slice(&self.mark.to_le_bytes());
        for attribute in self.attributes {
            values.put(attribute.number, attribute.first);
        }
        values
    }

    /// The values of a descriptor of the caller.
    pub(super) fn open(&'static self, descriptor: *const c_void) -> Outcome<Values> {
        if descriptor.is_null() {
            return Err(INVALID_VALUE);
        }
        let mut values = Values { kind: self, bytes: [0; LARGEST] };
        let size = self.size.min(LARGEST);
        // SAFETY: the caller passes a descriptor of this kind, which has these bytes, by the contract of the C function.
        unsafe { descriptor.cast::<u8>().copy_to_nonoverlapping(values.bytes.as_mut_ptr(), size) };
        if values.bytes[..MARK] == self.mark.to_le_bytes() { Ok(values) } else { Err(INVALID_VALUE) }
    }

    /// Sets an attribute of a descriptor of the caller.
    pub(super) fn set(
        &'static self,
        descriptor: *mut c_void,
        number: u32,
        from: *const c_void,
        size: usize,
    ) -> Outcome {
        let mut values = self.open(descriptor)?;
        let (offset, expected) = self.place(number)?;
        if from.is_null() || size != expected {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller passes memory with this many bytes, by the contract of the C function.
        unsafe { from.cast::<u8>().copy_to_nonoverlapping(values.bytes[offset..offset + size].as_mut_ptr(), size) };
        values.store(descriptor)
    }

    /// Gets an attribute of a descriptor of the caller. With no size, it returns the number of bytes.
    pub(super) fn get(
        &'static self,
        descriptor: *const c_void,
        number: u32,
        to: *mut c_void,
        size: usize,
        written: *mut usize,
    ) -> Outcome {
        let values = self.open(descriptor)?;
        let (offset, expected) = self.place(number)?;
        give(&values.bytes[offset..offset + expected], to, size, written)
    }

    /// Makes a descriptor in memory of this library.
    pub(super) fn create(&'static self, to: *mut *mut c_void, values: &Values) -> Outcome {
        if to.is_null() {
            return Err(INVALID_VALUE);
        }
        let memory: *mut [u64; LARGEST / 8] = Box::into_raw(Box::new([0; LARGEST / 8]));
        let descriptor = memory.cast::<c_void>();
        values.store(descriptor)?;
        made().insert(memory.expose_provenance());
        cuarray_stream_work::write(to, descriptor)
    }

    /// Ends a descriptor: its memory is freed, if it is memory of this library.
    pub(super) fn destroy(&'static self, descriptor: *mut c_void) -> Outcome {
        let mut values = self.open(descriptor)?;
        values.bytes[..MARK].fill(0);
        values.store(descriptor)?;
        if made().remove(&descriptor.addr()) {
            let memory = std::ptr::with_exposed_provenance_mut::<[u64; LARGEST / 8]>(descriptor.addr());
            // SAFETY: `create` made the box, and the address was in the set, so it is freed once.
            drop(unsafe { Box::from_raw(memory) });
        }
        Ok(())
    }
}

impl Values {
    /// The value of an attribute; signed ones keep their sign.
    pub(super) fn get(&self, number: u32) -> i64 {
        let Ok((offset, size)) = self.kind.place(number) else { return 0 };
        let bytes = &self.bytes[offset..offset + size];
        let mut wide = [if bytes[size - 1] & 0x80 == 0 { 0 } else { 0xff }; 8];
        wide[..size].copy_from_slice(bytes);
        i64::from_le_bytes(wide)
    }

    /// Sets the value of an attribute.
    pub(super) fn put(&mut self, number: u32, value: i64) {
        if let Ok((offset, size)) = self.kind.place(number) {
            self.bytes[offset..offset + size].copy_from_slice(&value.to_le_bytes()[..size]);
        }
    }

    /// Writes the values to memory of the caller with at least the bytes of a descriptor.
    fn store(&self, descriptor: *mut c_void) -> Outcome {
        let size = self.kind.size.min(LARGEST);
        // SAFETY: the memory has the bytes of the descriptor, by the contract of the C function or as `init` and `create` have checked.
        unsafe { descriptor.cast::<u8>().copy_from_nonoverlapping(self.bytes.as_ptr(), size) };
        Ok(())
    }

    /// Initializes memory of the caller with these values.
    pub(super) fn init(&self, descriptor: *mut c_void, size: usize) -> Outcome {
        if descriptor.is_null() {
            return Err(INVALID_VALUE);
        }
        if size < self.kind.size {
            return Err(cublasStatus_t::ALLOC_FAILED);
        }
        self.store(descriptor)
    }
}

/// Writes a value to memory of the caller, who asks for its size with the size 0.
pub(super) fn give(value: &[u8], to: *mut c_void, size: usize, written: *mut usize) -> Outcome {
    if size == 0 {
        return cuarray_stream_work::write(written, value.len());
    }
    if to.is_null() || size != value.len() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller passes memory with this many bytes, by the contract of the C function.
    unsafe { to.cast::<u8>().copy_from_nonoverlapping(value.as_ptr(), size) };
    if written.is_null() { Ok(()) } else { cuarray_stream_work::write(written, size) }
}

static MADE: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// The addresses of the descriptors in memory of this library.
fn made() -> std::sync::MutexGuard<'static, BTreeSet<usize>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}
