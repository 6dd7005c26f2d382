//! Records which home streams of other libraries have received work or an edge back from this process.
//!
//! A C structure may name an event beside its stream (clause X2). A consumer that waits for the event need not wait for later work
//! in the stream. But the event does not cover the work of guards whose edges back entered the stream after it was recorded. So the event
//! replaces its stream only until the stream receives an edge back. The time of the event's record is unknown: a structure may be
//! imported long after its export.
//!
//! The record is a Bloom filter over stream handles: one load per guard, no memory to reclaim. A false positive makes the
//! consumer wait for the stream, as it would without the event.

use crate::driver::Stream;
use std::sync::atomic::{AtomicU64, Ordering};

/// The filter is large because a process may create many streams during its life. Its unused pages take no memory.
const WORDS: usize = 1 << 14;

static FILTER: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];

/// The word and the bit of a stream. A handle is an address or a small number, so its low bits hardly vary.
fn slot(stream: &Stream) -> (&'static AtomicU64, u64) {
    let hash = (stream.handle() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
    (&FILTER[hash as usize % WORDS], 1 << (hash as usize / WORDS))
}

/// Records an edge back to a stream.
#[inline]
pub(super) fn record(stream: &Stream) {
    let (word, bit) = slot(stream);
    if word.load(Ordering::Relaxed) & bit == 0 {
        word.fetch_or(bit, Ordering::Release);
    }
}

/// Whether a stream may have received an edge back.
pub(super) fn may_contain(stream: &Stream) -> bool {
    let (word, bit) = slot(stream);
    word.load(Ordering::Acquire) & bit != 0
}
