//! Allocations, live and ended.
//!
//! A finding names the call that allocated the memory, and the call that freed it. The history keeps an ended allocation
//! until its addresses are reused, or until many other allocations have ended.

use super::operation::Operation;
use crate::finding::Variable;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};

/// The maximum number of ended allocations that are kept.
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
    /// For a variable of a kernel's module: its name and its state space.
    pub(super) variable: Option<(String, &'static str)>,
    /// The addresses of live blocks with the same bytes: mappings of one physical allocation, from its first byte on.
    pub(super) same: Vec<u64>,
    made: OnceLock<Arc<Operation>>,
}

impl Block {
    /// An allocation before its operation is known.
    pub fn new(address: u64, size: u64, kind: &'static str, device: i32) -> Arc<Block> {
        Block::alias(address, size, kind, device, Vec::new())
    }

    /// Like [`Block::new`], for memory that is also mapped at the addresses in `same`: an access to one of the blocks
    /// is an access to all.
    pub fn alias(address: u64, size: u64, kind: &'static str, device: i32, same: Vec<u64>) -> Arc<Block> {
        Arc::new(Block { address, size, kind, device, variable: None, same, made: OnceLock::new() })
    }

    /// A variable of a kernel's module, in the state space `global` or `constant`, or a `conditional` one of a graph.
    pub fn variable(address: u64, size: u64, name: String, space: &'static str, device: i32) -> Arc<Block> {
        let variable = Some((name, space));
        let same = Vec::new();
        Arc::new(Block { address, size, kind: "module", device, variable, same, made: OnceLock::new() })
    }

    /// The variable of a kernel's module at an address, if the allocation is one.
    pub(super) fn variable_at(&self, address: u64) -> Option<Variable> {
        let (name, space) = self.variable.as_ref()?;
        Some(Variable { name: Some(name.clone()), space, offset: address.saturating_sub(self.address) })
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

    /// The live allocations that start in a range.
    pub(super) fn within(&self, start: u64, end: u64) -> Vec<Arc<Block>> {
        self.live.range(start..end).map(|(_, block)| block.clone()).collect()
    }

    pub(super) fn live(&self) -> impl Iterator<Item = &Arc<Block>> {
        self.live.values()
    }
}
