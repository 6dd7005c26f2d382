//! Updates in place: a load and a guarded store of the same address, where only guarded stores use the loaded value.
//!
//! Triton lets several threads load the value of one element, and one of them store the new value. In the other threads
//! the guard is false, so the loaded value has no use, and it does not matter whether the load sees the new value. If the
//! guard is true in another thread, that thread writes the same bytes, and the two writes are compared.

use super::draft::{Access, Block, Draft, Next, Operand};
use super::registers::{reads, writes};
use std::collections::{HashMap, HashSet};

/// The place of an instruction: its block, and its index there.
pub(super) type Place = (usize, usize);

/// The pairs of a load and a store that update in place.
pub(super) fn pairs(blocks: &[Block]) -> Vec<(Place, Place)> {
    let mut loads: HashMap<(Operand, i64, u32), Vec<Place>> = HashMap::new();
    for (place, draft) in drafts(blocks) {
        if let Access::Load(bytes) = draft.access {
            loads.entry((draft.a, draft.imm, bytes)).or_default().push(place);
        }
    }
    let stores = drafts(blocks).filter_map(|(place, draft)| match draft.access {
        Access::Store(bytes) if draft.guard.is_some() => Some((place, draft, loads.get(&(draft.a, draft.imm, bytes))?)),
        _ => None,
    });
    let stores = stores.collect::<Vec<_>>();
    if stores.is_empty() {
        return Vec::new();
    }
    let uses = Uses::of(blocks);
    let mut pairs = Vec::new();
    for (store, draft, loads) in stores {
        let kept = loads.iter().filter(|load| uses.only_in_stores(**load, draft, store.0));
        pairs.extend(kept.map(|load| (*load, store)));
    }
    pairs
}

fn drafts(blocks: &[Block]) -> impl Iterator<Item = (Place, &Draft)> {
    blocks
        .iter()
        .enumerate()
        .flat_map(|(block, all)| all.drafts.iter().enumerate().map(move |(index, draft)| ((block, index), draft)))
}

/// The uses of registers.
struct Uses<'b> {
    blocks: &'b [Block],
    readers: HashMap<u32, Vec<Place>>,
    /// The registers with several writes.
    rewritten: HashSet<u32>,
}

impl<'b> Uses<'b> {
    fn of(blocks: &'b [Block]) -> Uses<'b> {
        let mut uses = Uses { blocks, readers: HashMap::new(), rewritten: HashSet::new() };
        let mut written = HashSet::new();
        for (place, draft) in drafts(blocks) {
            for register in reads(draft) {
                uses.readers.entry(register).or_default().push(place);
            }
            uses.rewritten.extend(writes(draft).filter(|register| !written.insert(*register)));
        }
        uses
    }

    /// Whether a loaded value reaches nothing but stores of one block with the guard of `store`, and neither its guard nor its
    /// address.
    fn only_in_stores(&self, load: Place, store: &Draft, block: usize) -> bool {
        let (Some((guard, _)), Operand::Register(_) | Operand::Constant(_)) = (store.guard, store.a) else {
            return false;
        };
        let fixed = [Operand::Register(guard), store.a].map(|operand| match operand {
            Operand::Register(register) => Some(register),
            _ => None,
        });
        if fixed.iter().flatten().any(|register| self.rewritten.contains(register)) {
            return false;
        }
        let mut open: Vec<u32> = writes(&self.blocks[load.0].drafts[load.1]).collect();
        let mut seen: HashSet<u32> = open.iter().copied().collect();
        while let Some(register) = open.pop() {
            if fixed.contains(&Some(register)) {
                return false;
            }
            for place in self.readers.get(&register).into_iter().flatten() {
                let draft = &self.blocks[place.0].drafts[place.1];
                let follows = match draft.access {
                    Access::Store(_) => {
                        if place.0 != block || draft.guard != store.guard {
                            return false;
                        }
                        false
                    }
                    Access::Load(_) => true,
                    Access::None if draft.per_lane && draft.next == Next::On => true,
                    Access::None | Access::Parameter => return false,
                };
                if follows {
                    open.extend(writes(draft).filter(|register| seen.insert(*register)));
                }
            }
        }
        true
    }
}
