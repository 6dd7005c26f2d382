//! Updates in place: a load and a guarded store of the same address, where only guarded stores use the loaded value.
//!
//! Triton lets several threads load the value of one element, and one of them store the new value. In the other threads
//! the guard is false, so the loaded value has no use, and it does not matter whether the load sees the new value. If the
//! guard is true in another thread, that thread writes the same bytes, and the two writes are compared.

use super::draft::{Access, Block, Draft, Next, Operand, Results};
use super::registers::{reads, writes};
use std::collections::{HashMap, HashSet};

/// The place of an instruction: its block, and its index there.
pub(super) type Place = (usize, usize);

/// The address of an access without the parameter's offset: whether it has a parameter, the rest, the offset, and the bytes.
type Target = (bool, Operand, i64, u32);

/// A load and a store that update in place.
pub(super) struct Pair {
    pub load: Place,
    pub store: Place,
    /// The offsets of the two parameters in the addresses. Their values must be equal.
    pub parameters: Option<[u32; 2]>,
}

/// The loads and stores that update in place.
pub(super) fn pairs(blocks: &[Block]) -> Vec<Pair> {
    let stores = drafts(blocks).filter_map(|(place, draft)| match draft.access {
        Access::Store(bytes) if draft.guard.is_some() => Some((place, draft, bytes)),
        _ => None,
    });
    let stores = stores.collect::<Vec<_>>();
    if stores.is_empty() {
        return Vec::new();
    }
    let uses = Uses::of(blocks);
    let mut loads: HashMap<Target, Vec<(Place, Base)>> = HashMap::new();
    for (place, draft) in drafts(blocks) {
        if let Access::Load(bytes) = draft.access {
            let base = uses.base(draft.a);
            loads.entry((base.parameter.is_some(), base.rest, draft.imm, bytes)).or_default().push((place, base));
        }
    }
    let mut pairs = Vec::new();
    for (store, draft, bytes) in stores {
        let base = uses.base(draft.a);
        let loads = loads.get(&(base.parameter.is_some(), base.rest, draft.imm, bytes));
        let kept = loads.into_iter().flatten().filter(|(load, _)| uses.only_in_stores(*load, draft, store.0));
        pairs.extend(kept.map(|(load, from)| {
            let parameters = from.parameter.zip(base.parameter).map(|(one, other)| [one, other]);
            Pair { load: *load, store, parameters }
        }));
    }
    pairs
}

/// An address as the sum of a kernel's parameter and the rest.
///
/// Inductor passes a tensor that it updates in place as two arguments. The addresses of the load and of the store then have
/// one rest and two parameters.
#[derive(Clone, Copy)]
struct Base {
    /// The offset of the parameter.
    parameter: Option<u32>,
    rest: Operand,
}

fn drafts(blocks: &[Block]) -> impl Iterator<Item = (Place, &Draft)> {
    blocks
        .iter()
        .enumerate()
        .flat_map(|(block, all)| all.drafts.iter().enumerate().map(move |(index, draft)| ((block, index), draft)))
}

/// Whether an instruction loads a parameter that may be an address.
fn is_pointer(draft: &Draft) -> bool {
    draft.access == Access::Parameter(8)
}

/// The uses of registers.
struct Uses<'b> {
    blocks: &'b [Block],
    readers: HashMap<u32, Vec<Place>>,
    /// The registers with several writes.
    rewritten: HashSet<u32>,
    /// The parameters and sums in registers that are written once, in all threads.
    terms: HashMap<u32, &'b Draft>,
}

impl<'b> Uses<'b> {
    fn of(blocks: &'b [Block]) -> Uses<'b> {
        let (readers, rewritten, terms) = Default::default();
        let mut uses = Uses { blocks, readers, rewritten, terms };
        let mut written = HashSet::new();
        for (place, draft) in drafts(blocks) {
            for register in reads(draft) {
                uses.readers.entry(register).or_default().push(place);
            }
            uses.rewritten.extend(writes(draft).filter(|register| !written.insert(*register)));
            if let (Operand::Register(register), None) = (draft.d, draft.guard)
                && (is_pointer(draft) || draft.results == Results::Sum)
            {
                uses.terms.insert(register, draft);
            }
        }
        uses.terms.retain(|register, _| !uses.rewritten.contains(register));
        uses
    }

    fn term(&self, operand: Operand) -> Option<&'b Draft> {
        match operand {
            Operand::Register(register) => self.terms.get(&register).copied(),
            _ => None,
        }
    }

    fn is_rewritten(&self, operand: Operand) -> bool {
        matches!(operand, Operand::Register(register) if self.rewritten.contains(&register))
    }

    /// Splits an address register.
    fn base(&self, address: Operand) -> Base {
        let parameter = |operand| {
            let term = self.term(operand).filter(|term| is_pointer(term))?;
            u32::try_from(term.imm).ok()
        };
        let sum = self.term(address).filter(|term| term.results == Results::Sum);
        let parts = sum.map_or([(address, Operand::Nothing); 2], |sum| [(sum.a, sum.b), (sum.b, sum.a)]);
        let split = parts.into_iter().find_map(|(first, rest)| {
            let parameter = parameter(first).filter(|_| !self.is_rewritten(rest));
            parameter.map(|parameter| Base { parameter: Some(parameter), rest })
        });
        split.unwrap_or(Base { parameter: None, rest: address })
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
                    Access::None | Access::Parameter(_) => return false,
                };
                if follows {
                    open.extend(writes(draft).filter(|register| seen.insert(*register)));
                }
            }
        }
        true
    }
}
