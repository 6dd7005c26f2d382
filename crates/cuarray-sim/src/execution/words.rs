//! Words of memory that pending work waits for.

use crate::objects::memory_operation::{MemoryOperation, Word};
use crate::objects::work::Work;
use crate::state::State;
use cuarray_abi::*;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The current value of a word; `None` if its memory is gone.
pub(crate) fn load(state: &State, word: Word) -> Option<u64> {
    let address = live(state, word)?;
    // SAFETY: the word is aligned, and lies in a live allocation, which stays mapped while the state is locked. All
    // accesses by the simulator are atomic too.
    unsafe {
        Some(match word.size {
            4 => AtomicU32::from_ptr(address as *mut u32).load(Ordering::SeqCst).into(),
            _ => AtomicU64::from_ptr(address as *mut u64).load(Ordering::SeqCst),
        })
    }
}

/// The driver's address of a word in live memory.
pub(crate) fn live(state: &State, word: Word) -> Option<u64> {
    let allocation = state.memory.holding(word.address)?;
    let end = allocation.address.checked_add(allocation.size)?;
    (word.address.checked_add(word.size)? <= end).then(|| state.host_address(word.address))
}

/// Whether work of a stream is a wait for a value that its word does not have.
pub(crate) fn is_blocked(state: &State, stream: CUstream, work: &Work) -> bool {
    let Work::Memory(MemoryOperation::Wait { word, condition, value }) = work else { return false };
    let context = state.streams.get(&stream).and_then(|stream| state.contexts.get(&stream.context));
    // A failed context executes nothing, so its waits end.
    if context.is_some_and(|context| context.failed.is_some()) {
        return false;
    }
    load(state, *word).is_some_and(|found| !condition.holds(*word, found, *value))
}

/// The word that the next work of a stream waits for.
pub(crate) fn awaited(state: &State, stream: CUstream) -> Option<Word> {
    let front = state.streams.get(&stream)?.queue.front()?;
    match &front.work {
        Work::Memory(MemoryOperation::Wait { word, .. }) => Some(*word),
        _ => None,
    }
}
