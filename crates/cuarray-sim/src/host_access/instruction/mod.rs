//! The bytes that an interrupted instruction accesses: a page fault reports one address, and no size.
//!
//! The handler of the signal copies the instruction and its registers. They are decoded later, outside of the handler.

#[cfg(any(target_arch = "aarch64", test))]
mod aarch64;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod other;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::Interrupted;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) use other::Interrupted;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::Interrupted;

/// The widest read that counts as a whole. A wider load may read more bytes than the program asked for, as in `strlen`.
const WIDEST_READ: u64 = 8;

impl Interrupted {
    /// The first byte and the number of bytes of the access that faulted at `at`; one byte if the number is unknown.
    pub(crate) fn bytes(&self, at: u64, writes: bool) -> (u64, u64) {
        let (start, size) = self.decoded(at).unwrap_or((at, 1));
        let is_within = start <= at && at - start < size;
        if is_within && (writes || size <= WIDEST_READ) { (start, size) } else { (at, 1) }
    }
}
