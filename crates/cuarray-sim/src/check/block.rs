//! Allocations and handles as the checks remember them, also for a while after their end.
//!
//! A finding says where its memory was made, and where it or a handle was given back. What is gone is remembered until its address is
//! used again or much else has gone since.

use super::operation::Operation;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

/// How many ended allocations, and how many ended handles, are remembered.
const REMEMBERED: usize = 4096;

/// One allocation.
pub(crate) struct Block {
    pub address: u64,
    pub size: u64,
    pub kind: &'static str,
    pub device: i32,
    made: OnceLock<Arc<Operation>>,
}

impl Block {
    pub(crate) fn new(address: u64, size: u64, kind: &'static str, device: i32) -> Arc<Block> {
        Arc::new(Block { address, size, kind, device, made: OnceLock::new() })
    }

    /// The operation that made it; its only answer once it is known.
    pub(crate) fn made(&self) -> Option<&Arc<Operation>> {
        self.made.get()
    }

    pub(super) fn made_by(&self, operation: Arc<Operation>) {
        let _ = self.made.set(operation);
    }

    pub(crate) fn end(&self) -> u64 {
        self.address + self.size
    }
}

/// Allocations, live ones and those that have ended.
#[derive(Default)]
pub(crate) struct Blocks {
    live: BTreeMap<u64, Arc<Block>>,
    gone: BTreeMap<u64, (Arc<Block>, Arc<Operation>)>,
    order: VecDeque<u64>,
}

impl Blocks {
    /// Adds an allocation; what lay at its addresses before is forgotten.
    pub(crate) fn add(&mut self, block: Arc<Block>) {
        while let Some(address) = self.gone_at(block.address, block.size).map(|(gone, _)| gone.address) {
            self.gone.remove(&address);
        }
        self.live.insert(block.address, block);
    }

    /// Moves an allocation to those that have ended.
    pub(crate) fn end(&mut self, address: u64, by: Arc<Operation>) -> Option<Arc<Block>> {
        let block = self.live.remove(&address)?;
        self.gone.insert(address, (block.clone(), by));
        self.order.push_back(address);
        // An address that is there more than once goes a little early.
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.gone.remove(&oldest);
        }
        Some(block)
    }

    /// The live allocation that holds an address.
    pub(crate) fn at(&self, address: u64) -> Option<&Arc<Block>> {
        let (_, block) = self.live.range(..=address).next_back()?;
        (address < block.end()).then_some(block)
    }

    /// The last allocation that has ended and had a byte in a range.
    pub(crate) fn gone_at(&self, address: u64, length: u64) -> Option<(&Arc<Block>, &Arc<Operation>)> {
        let (_, (block, by)) = self.gone.range(..address.saturating_add(length.max(1))).next_back()?;
        (address < block.end()).then_some((block, by))
    }

    pub(crate) fn live(&self) -> impl Iterator<Item = &Arc<Block>> {
        self.live.values()
    }
}

/// Streams, events and contexts, live ones and those that were destroyed: what they are, and what made or destroyed them.
#[derive(Default)]
pub(crate) struct Handles {
    live: BTreeMap<u64, (&'static str, Arc<Operation>)>,
    gone: HashMap<u64, (&'static str, Arc<Operation>)>,
    order: VecDeque<u64>,
}

impl Handles {
    pub(crate) fn add(&mut self, kind: &'static str, handle: u64, by: Arc<Operation>) {
        self.live.insert(handle, (kind, by));
    }

    pub(crate) fn end(&mut self, kind: &'static str, handle: u64, by: Arc<Operation>) {
        self.live.remove(&handle);
        self.gone.insert(handle, (kind, by));
        self.order.push_back(handle);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.gone.remove(&oldest);
        }
    }

    /// What a handle was, and what destroyed it.
    pub(crate) fn gone(&self, handle: u64) -> Option<&(&'static str, Arc<Operation>)> {
        self.gone.get(&handle)
    }

    /// A handle that is in use again.
    pub(crate) fn revive(&mut self, handle: u64) {
        self.gone.remove(&handle);
    }

    pub(crate) fn live(&self) -> impl Iterator<Item = (u64, &'static str, &Arc<Operation>)> {
        self.live.iter().map(|(handle, (kind, made))| (*handle, *kind, made))
    }
}
