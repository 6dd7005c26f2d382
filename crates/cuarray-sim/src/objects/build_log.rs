//! The log buffers that a program passes to a link or load.

use cuarray_abi::*;

/// The log buffers of a link or load.
#[derive(Clone, Copy, Default)]
pub(crate) struct Log {
    pub info: Buffer,
    pub error: Buffer,
}

/// A buffer of the program, and the place for its length.
#[derive(Clone, Copy, Default)]
pub(crate) struct Buffer {
    address: usize,
    size: usize,
    /// The address of the option's value, which receives the number of bytes written.
    written: usize,
}

impl Log {
    /// Takes an option, its value, and the address of the value. Options that are not about the log have no effect.
    ///
    /// # Safety
    /// The option is the program's, so by the manual, buffers and values stay valid until the load or link is over.
    pub(crate) unsafe fn take(&mut self, option: CUjit_option, value: usize, place: usize) {
        // The upper half of a size is undefined.
        let size = value & 0xffff_ffff;
        match option {
            CU_JIT_INFO_LOG_BUFFER => self.info.address = value,
            CU_JIT_ERROR_LOG_BUFFER => self.error.address = value,
            CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES => self.info = Buffer { size, written: place, ..self.info },
            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES => self.error = Buffer { size, written: place, ..self.error },
            _ => {}
        }
    }
}

impl Buffer {
    /// Writes a text and a nul, truncated to the size of the buffer.
    pub(crate) fn write(&self, text: &str) {
        let length = text.len().min(self.size.saturating_sub(1));
        if self.address != 0 && self.size > 0 {
            // SAFETY: by the promise of `take`, the buffer has this size, which text and nul do not exceed.
            unsafe {
                std::ptr::copy_nonoverlapping(text.as_ptr(), self.address as *mut u8, length);
                (self.address as *mut u8).add(length).write(0);
            }
        }
        if self.written != 0 {
            let written = if text.is_empty() { 0 } else { length + 1 };
            // SAFETY: by the promise of `take`; the address may be unaligned.
            unsafe { (self.written as *mut usize).write_unaligned(written) };
        }
    }
}
