//! Page-locked memory between the device and the closures.
//!
//! A block belongs to one stream while works of the stream may use it: the stream orders them. Each work has a lease of its block, which ends
//! by a host function after the copies back, or with the graph that contains the work. A block without leases may serve any stream.

use crate::driver::{Result, call};
use cuarray_abi::CU_STREAM_CAPTURE_MODE_RELAXED;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The smallest size of a block.
const SMALLEST: usize = 1 << 14;

#[derive(Debug)]
struct Block {
    address: usize,
    size: usize,
    leases: AtomicUsize,
}

/// The right to use a block; the block is free after the last one is dropped.
#[derive(Debug)]
pub(crate) struct Lease(Arc<Block>);

impl Lease {
    fn of(block: &Arc<Block>) -> Lease {
        block.leases.fetch_add(1, Ordering::AcqRel);
        Lease(Arc::clone(block))
    }

    pub(crate) fn address(&self) -> usize {
        self.0.address
    }

    /// A pointer for a host function that ends the lease.
    pub(crate) fn into_raw(self) -> *mut c_void {
        let block: *const Block = Arc::as_ptr(&self.0);
        std::mem::forget(self);
        block.cast_mut().cast()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.leases.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Ends a lease.
pub(crate) unsafe extern "C" fn end(lease: *mut c_void) {
    // SAFETY: the pointer is that of `Lease::into_raw`, which left the lease's reference, and is passed once.
    drop(Lease(unsafe { Arc::from_raw(lease.cast::<Block>()) }));
}

/// Blocks of destroyed handles that graphs still use.
static LEFT: Mutex<Vec<Arc<Block>>> = Mutex::new(Vec::new());

/// The staging memory that places of one context share, by the number of the context.
static SHARED: Mutex<Vec<(u64, Arc<Staging>)>> = Mutex::new(Vec::new());

/// The staging memory that places of a context share.
pub(crate) fn of_context(id: u64) -> Arc<Staging> {
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, staging)) = shared.iter().find(|(of, _)| *of == id) {
        return Arc::clone(staging);
    }
    // The driver frees the memory of contexts that end, whose numbers never come back.
    let made = Arc::new(Staging::default());
    shared.push((id, Arc::clone(&made)));
    made
}

/// The blocks of a handle, each with the id of the stream that used it last.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    blocks: Mutex<Vec<(u64, Arc<Block>)>>,
}

impl Staging {
    /// A lease of a block with at least `size` bytes, for works of a stream. With `alone`, no other work uses the block.
    pub(crate) fn lease(&self, stream: u64, size: usize, alone: bool) -> Result<Lease> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let is_free = |block: &Block| block.leases.load(Ordering::Acquire) == 0;
        let own =
            blocks.iter().position(|(of, block)| *of == stream && block.size >= size && (!alone || is_free(block)));
        let found = own.or_else(|| blocks.iter().position(|(_, block)| block.size >= size && is_free(block)));
        if let Some((of, block)) = found.and_then(|index| blocks.get_mut(index)) {
            *of = if alone { u64::MAX } else { stream };
            return Ok(Lease::of(block));
        }
        // Sizes double, so all blocks together take at most twice what the largest works of all streams need. A smaller one is not freed,
        // because that may wait for the device.
        let size = size.max(SMALLEST).checked_next_power_of_two().unwrap_or(size);
        let block = Arc::new(Block { address: allocate(size)?, size, leases: AtomicUsize::new(0) });
        blocks.push((if alone { u64::MAX } else { stream }, Arc::clone(&block)));
        Ok(Lease::of(&block))
    }

    /// Frees the blocks, after the works of the handle. Blocks that graphs use are freed later.
    pub(crate) fn free(&self) {
        let own = std::mem::take(&mut *self.blocks.lock().unwrap_or_else(PoisonError::into_inner));
        let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
        let all = left.drain(..).chain(own.into_iter().map(|(_, block)| block));
        let (free, used): (Vec<_>, Vec<_>) = all.partition(|block| block.leases.load(Ordering::Acquire) == 0);
        *left = used;
        drop(left);
        free_all(free.into_iter());
    }
}

fn free_all(blocks: impl Iterator<Item = Arc<Block>>) {
    let free = |block: Arc<Block>| unless_captured(|| call!(cuMemFreeHost(block.address as *mut c_void)));
    // A context that is gone has freed them.
    blocks.for_each(|block| drop(free(block)));
}

fn allocate(size: usize) -> Result<usize> {
    let mut address = ptr::null_mut();
    unless_captured(|| call!(cuMemHostAlloc(&raw mut address, size, 0)))?;
    Ok(address.addr())
}

/// Makes a call that is no part of a capture of this thread.
pub(crate) fn unless_captured(f: impl FnOnce() -> Result) -> Result {
    let mut mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    call!(cuThreadExchangeStreamCaptureMode(&mut mode))?;
    let result = f();
    call!(cuThreadExchangeStreamCaptureMode(&mut mode))?;
    result
}
