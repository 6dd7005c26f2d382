//! Execution of stream memory operations.
//!
//! A wait blocks its stream until other work, or the host, has written a word. The execution then runs other work first.

use crate::execution::words::{live, load};
use crate::graph_structure::node_access;
use crate::memory::{allocations, races};
use crate::objects::allocation::{Allocation, Declared, Kind};
use crate::objects::memory_operation::{MemoryOperation, Reduction, Word};
use crate::objects::work::{Accesses, Work};
use crate::parameters::In;
use crate::state::State;
use cuarray_abi::*;
use cuarray_races::{Fences, Manner, Strength, Ticket, Touch, Touched};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The holder of operations.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    Stream,
    /// A node of a graph, which may use memory that its graph has not allocated yet.
    Node,
}

/// Checks that the operations of a context can access their words.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for a word outside of all allocations, in managed memory, or in memory that the context
/// cannot access.
pub(crate) fn check(
    state: &mut State,
    context: CUcontext,
    operations: &[MemoryOperation],
    user: User,
) -> Result<(), CUresult> {
    const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
    let side_of = match user {
        User::Stream => allocations::side,
        User::Node => node_access::side,
    };
    for operation in operations {
        let Some(Word { address, size }) = operation.word() else { continue };
        let access = operation.access();
        if !allocations::is_open_to(state, context, address, size, access) {
            allocations::refuse_closed(state, context, access, address, size);
            return Err(INVALID_VALUE);
        }
        let may_use = |allocation: &&Allocation| {
            !allocation.freed || user == User::Node && matches!(allocation.kind, Kind::Graph { .. })
        };
        let holder = state.memory.holding(address).filter(may_use);
        let is_managed = holder.map(|allocation| allocation.kind.is_managed());
        if is_managed.is_none() || side_of(state, address, size, Declared::Unified, access).is_err() {
            races::refused(state, access, address, size);
            return Err(INVALID_VALUE);
        }
        if is_managed == Some(true) {
            return Err(INVALID_VALUE);
        }
    }
    Ok(())
}

/// Writes a word, and returns its new value.
fn update(state: &State, word: Word, reduction: Option<Reduction>, value: u64) -> Option<u64> {
    let address = live(state, word)?;
    macro_rules! apply {
        ($atomic:ty, $ty:ty) => {{
            let value = value as $ty;
            // SAFETY: as in `load`; the check of the operation made sure that the memory is writable.
            let atomic = unsafe { <$atomic>::from_ptr(address as *mut $ty) };
            let new = match reduction {
                None => {
                    atomic.store(value, Ordering::SeqCst);
                    value
                }
                Some(Reduction::Add) => atomic.fetch_add(value, Ordering::SeqCst).wrapping_add(value),
                Some(Reduction::And) => atomic.fetch_and(value, Ordering::SeqCst) & value,
                Some(Reduction::Or) => atomic.fetch_or(value, Ordering::SeqCst) | value,
            };
            u64::from(new)
        }};
    }
    Some(if word.size == 4 { apply!(AtomicU32, u32) } else { apply!(AtomicU64, u64) })
}

/// Executes an operation whose wait, if it is one, has ended.
pub(crate) fn execute(state: &mut State, operation: MemoryOperation, ticket: Option<&Ticket>) -> Accesses {
    let Some(word) = operation.word() else { return Accesses::default() };
    let manner = Manner { strength: Strength::System, ..Manner::default() };
    let touched = |touch| Touched { manner, ..Touched::new(word.address, word.address + word.size, touch) };
    let (none, system) = (Strength::Weak, Strength::System);
    let (fences, touches) = match operation {
        MemoryOperation::Wait { .. } => (Fences { releases: none, acquires: system }, vec![touched(Touch::Read)]),
        MemoryOperation::Write { fence, .. } => {
            (Fences { releases: if fence { system } else { none }, acquires: none }, vec![touched(Touch::Write)])
        }
        _ => (
            Fences { releases: system, acquires: none },
            vec![touched(Touch::Read), touched(Touch::Write), touched(Touch::Update)],
        ),
    };
    let mut accesses = Accesses { touched: touches, ..Accesses::default() };
    let written = match operation {
        MemoryOperation::Write { value, .. } => update(state, word, None, value),
        MemoryOperation::Reduce { reduction, value, .. } => update(state, word, Some(reduction), value),
        MemoryOperation::Wait { condition, value, .. } => {
            let mut by = state.publications.ends(word, condition, value);
            // Without a writer among the operations, the host may have written the word.
            let on_host = state.memory.holding(word.address).is_some_and(|memory| !memory.kind.on_device());
            if by.is_empty() && on_host {
                by = state.detector.host_clocks();
            }
            accesses.ended_by = Some(by);
            None
        }
        MemoryOperation::Barrier => None,
    };
    if let Some(ticket) = ticket {
        state.detector.synchronizes(ticket, fences);
        if let Some(value) = written.filter(|_| fences.releases != Strength::Weak) {
            state.publications.add(word.address, value, ticket.clock.clone());
        }
    }
    accesses
}

/// Records that a launch has published the words that pending operations wait for.
pub(crate) fn launch_published(state: &mut State, ticket: &Ticket, touched: &[Touched]) {
    let waits = state.streams.values().flat_map(|stream| &stream.queue).filter_map(|operation| match operation.work {
        Work::Memory(MemoryOperation::Wait { word, .. }) => Some(word),
        _ => None,
    });
    let writes = |word: &Word| {
        touched.iter().any(|range| {
            range.touch == Touch::Write
                && range.manner.strength != Strength::Weak
                && range.region.meets(word.address, word.address + word.size)
        })
    };
    let words: Vec<Word> = waits.filter(writes).collect();
    for word in words {
        if let Some(value) = load(state, word) {
            state.publications.add(word.address, value, ticket.clock.clone());
        }
    }
}

/// The number of operations that a batch may not reach.
const LONGEST: usize = 256;

/// The operations of a batch, and their parameters.
///
/// # Errors
/// Those of [`MemoryOperation::of`]; `CUDA_ERROR_INVALID_VALUE` for a null list and a list that is too long.
///
/// # Safety
/// The list is the program's, with `count` elements.
pub(crate) unsafe fn batch(
    params: In<'_, CUstreamBatchMemOpParams>,
    count: u32,
    first_version: bool,
) -> Result<(Vec<MemoryOperation>, Vec<[u64; 6]>), CUresult> {
    let count =
        usize::try_from(count).ok().filter(|count| *count < LONGEST).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    // SAFETY: this function's contract; every bit pattern is valid.
    let (elements, given) = unsafe { (params.list(count)?, params.cast::<[u64; 6]>().list(count)?) };
    let operations = elements.iter().map(|element| MemoryOperation::of(element, first_version));
    Ok((operations.collect::<Result<_, _>>()?, given))
}
