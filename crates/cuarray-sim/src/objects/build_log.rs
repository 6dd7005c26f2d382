//! The log buffers that a program passes to a link or load.

/// The log buffers of a link or load.
#[derive(Clone, Copy, Default)]
pub(crate) struct Log {
    pub info: Buffer,
    pub error: Buffer,
}

/// A buffer of the program, and the place for its length.
#[derive(Clone, Copy, Default)]
pub(crate) struct Buffer {
    pub address: usize,
    pub size: usize,
    /// The address of the option's value, which receives the number of bytes written.
    pub written: usize,
}

impl Buffer {
    /// Writes a text and a nul, truncated to the size of the buffer.
    ///
    /// # Safety
    /// The buffer belongs to the program and is still valid.
    pub(crate) unsafe fn write(&self, text: &str) {
        let length = text.len().min(self.size.saturating_sub(1));
        if self.address != 0 && self.size > 0 {
            // SAFETY: by this function's contract; text and nul fit into its size.
            unsafe {
                std::ptr::copy_nonoverlapping(text.as_ptr(), self.address as *mut u8, length);
                (self.address as *mut u8).add(length).write(0);
            }
        }
        if self.written != 0 {
            let written = if text.is_empty() { 0 } else { length + 1 };
            // SAFETY: by this function's contract; the address may be unaligned.
            unsafe { (self.written as *mut usize).write_unaligned(written) };
        }
    }
}
