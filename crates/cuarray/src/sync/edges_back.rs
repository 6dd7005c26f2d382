//! Records which home streams of other libraries have received an edge back from this process, or its work.
//!
//! A C structure may name an event beside its stream (clause X2). A consumer may wait for the event, which spares it later work in the
//! stream. But the event is older than work that a guard has ordered in that stream since. So an event stands for its stream only
//! until the stream receives an edge back. The event's age is unknown: its structure may have been exported long before it is imported.
//!
//! The record is a Bloom filter over stream handles: one load per guard, no memory to reclaim. A false positive costs the wait for
//! later work in the stream, which is what a consumer of the stream alone waits for.

use crate::driver::Stream;
use std::sync::atomic::{AtomicU64, Ordering};

/// A process may have many streams, one after the other. Pages of the filter that are not used cost no memory.
const WORDS: usize = 1 << 14;

static PUT: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];

/// The word and the bit of a stream. A handle is an address or a small number, so its low bits hardly vary.
fn place(stream: &Stream) -> (&'static AtomicU64, u64) {
    let hash = (stream.handle() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
    (&PUT[hash as usize % WORDS], 1 << (hash as usize / WORDS))
}

/// Records an edge back to a stream.
#[inline]
pub(super) fn put(stream: &Stream) {
    let (word, bit) = place(stream);
    if word.load(Ordering::Relaxed) & bit == 0 {
        word.fetch_or(bit, Ordering::Release);
    }
}

/// Whether a stream may have received an edge back.
pub(super) fn may_have(stream: &Stream) -> bool {
    let (word, bit) = place(stream);
    word.load(Ordering::Acquire) & bit != 0
}
