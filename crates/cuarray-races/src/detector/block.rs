//! Allocations and handles, live and ended.
//!
//! A finding names the call that allocated the memory, and the call that freed the memory or destroyed a handle. The
//! history keeps an ended allocation until its addresses are reused, or until many other allocations have ended.

use super::operation::Operation;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

/// The maximum number of ended allocations, and of destroyed handles, that are kept.
const MAX_ENDED: usize = 4096;

/// One allocation.
#[derive(Debug)]
pub struct Block {
    /// The first address.
    pub address: u64,
    /// The size in bytes, as requested.
    pub size: u64,
    /// The kind of memory, as reports print it: `device`, `managed`.
    pub kind: &'static str,
    pub(super) device: i32,
    made: OnceLock<Arc<Operation>>,
}

impl Block {
    /// An allocation before its operation is known.
    pub fn new(address: u64, size: u64, kind: &'static str, device: i32) -> Arc<Block> {
        Arc::new(Block { address, size, kind, device, made: OnceLock::new() })
    }

    /// The operation that allocated the memory.
    pub fn made(&self) -> Option<&Arc<Operation>> {
        self.made.get()
    }

    pub(super) fn made_by(&self, operation: Arc<Operation>) {
        let _ = self.made.set(operation);
    }

    /// The address after the last byte.
    pub fn end(&self) -> u64 {
        self.address + self.size
    }
}

/// Live and ended allocations.
#[derive(Default)]
pub(super) struct Blocks {
    live: BTreeMap<u64, Arc<Block>>,
    gone: BTreeMap<u64, (Arc<Block>, Arc<Operation>)>,
    order: VecDeque<u64>,
}

impl Blocks {
    /// Adds an allocation and removes ended ones at its addresses.
    pub(super) fn add(&mut self, block: Arc<Block>) {
        while let Some(address) = self.gone_at(block.address, block.size).map(|(gone, _)| gone.address) {
            self.gone.remove(&address);
        }
        self.live.insert(block.address, block);
    }

    /// Moves an allocation to the ended ones.
    pub(super) fn end(&mut self, address: u64, by: Arc<Operation>) -> Option<Arc<Block>> {
        let block = self.live.remove(&address)?;
        self.gone.insert(address, (block.clone(), by));
        self.order.push_back(address);
        // Because an address may occur more than once, an entry may be dropped a little early.
        if self.order.len() > MAX_ENDED
            && let Some(oldest) = self.order.pop_front()
        {
            self.gone.remove(&oldest);
        }
        Some(block)
    }

    /// The live allocation that holds an address.
    pub(super) fn at(&self, address: u64) -> Option<&Arc<Block>> {
        let (_, block) = self.live.range(..=address).next_back()?;
        (address < block.end()).then_some(block)
    }

    /// The ended allocation at the highest address that has a byte in a range.
    pub(super) fn gone_at(&self, address: u64, length: u64) -> Option<(&Arc<Block>, &Arc<Operation>)> {
        let (_, (block, by)) = self.gone.range(..address.saturating_add(length.max(1))).next_back()?;
        (address < block.end()).then_some((block, by))
    }

    pub(super) fn live(&self) -> impl Iterator<Item = &Arc<Block>> {
        self.live.values()
    }
}

/// Live and destroyed handles, each with its kind and the operation that created or destroyed it.
#[derive(Default)]
pub(super) struct Handles {
    live: BTreeMap<u64, (&'static str, Arc<Operation>)>,
    gone: HashMap<u64, (&'static str, Arc<Operation>)>,
    order: VecDeque<u64>,
}

impl Handles {
    pub(super) fn add(&mut self, kind: &'static str, handle: u64, by: Arc<Operation>) {
        self.live.insert(handle, (kind, by));
    }

    pub(super) fn end(&mut self, kind: &'static str, handle: u64, by: Arc<Operation>) {
        self.live.remove(&handle);
        self.gone.insert(handle, (kind, by));
        self.order.push_back(handle);
        if self.order.len() > MAX_ENDED
            && let Some(oldest) = self.order.pop_front()
        {
            self.gone.remove(&oldest);
        }
    }

    /// The kind of a destroyed handle, and the operation that destroyed it.
    pub(super) fn gone(&self, handle: u64) -> Option<&(&'static str, Arc<Operation>)> {
        self.gone.get(&handle)
    }

    /// Reverses the destruction of a handle: it is in use again.
    pub(super) fn revive(&mut self, handle: u64) {
        self.gone.remove(&handle);
    }

    pub(super) fn live(&self) -> impl Iterator<Item = (u64, &'static str, &Arc<Operation>)> {
        self.live.iter().map(|(handle, (kind, made))| (*handle, *kind, made))
    }
}
