//! Updates in place: a load and a guarded store of the same address, where only stores use the loaded value.
//!
//! Triton lets several threads load the value of one element, and one of them store the new value. In the other threads
//! the guard is false, so the loaded value has no use, and it does not matter whether the load sees the new value. The
//! stores that the value can reach are known from the code. Whether a thread executes one of them is known when its block ends.

use super::draft::{Access, Block, Draft, Next, Operand, Results, reads, writes};
use crate::machine::program::InPlace;
use rustc_hash::{FxHashMap, FxHashSet};

/// The place of an instruction: its block, and its index there.
pub(super) type Place = (usize, usize);

/// The address of an access without the parameter's offset: whether it has a parameter, the rest, the offset, and the bytes.
type Target = (bool, Operand, i64, u32);

/// A load and a store that update in place.
pub(super) struct Pair {
    pub load: Place,
    pub store: Place,
    pub update: InPlace,
}

/// The updates in place of a function.
#[derive(Default)]
pub(super) struct Updates {
    pub pairs: Vec<Pair>,
    /// The stores that the value of each load in [`Updates::pairs`] reaches, and whether an exchange of lanes lies between.
    pub reached: FxHashMap<Place, FxHashMap<Place, bool>>,
}

/// Finds the updates in place.
pub(super) fn updates(blocks: &[Block]) -> Updates {
    let stores = drafts(blocks).filter_map(|(place, draft)| match draft.access {
        Access::Store(bytes) if draft.guard.is_some() => Some((place, draft, bytes)),
        _ => None,
    });
    let stores = stores.collect::<Vec<_>>();
    if stores.is_empty() {
        return Updates::default();
    }
    let uses = Uses::of(blocks);
    let mut loads: FxHashMap<Target, Vec<(Place, Base)>> = FxHashMap::default();
    for (place, draft) in drafts(blocks) {
        if let Access::Load(bytes) = draft.access {
            let base = uses.base(draft.a);
            loads.entry((base.parameter.is_some(), base.rest, draft.imm, bytes)).or_default().push((place, base));
        }
    }
    let mut updates = Updates::default();
    let mut reached = FxHashMap::default();
    for (store, draft, bytes) in stores {
        let base = uses.base(draft.a);
        if !matches!(draft.a, Operand::Register(_) | Operand::Constant(_)) || uses.is_rewritten(draft.a) {
            continue;
        }
        let loads = loads.get(&(base.parameter.is_some(), base.rest, draft.imm, bytes));
        for (load, from) in loads.into_iter().flatten() {
            if reached.entry(*load).or_insert_with(|| uses.reached_stores(*load)).is_some() {
                let parameters = from.parameter.zip(base.parameter).map(|(one, other)| [one, other]);
                updates.pairs.push(Pair { load: *load, store, update: InPlace { bytes, parameters } });
            }
        }
    }
    updates.reached = reached.into_iter().filter_map(|(load, stores)| Some((load, stores?))).collect();
    updates
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

/// All instructions with their places.
pub(super) fn drafts(blocks: &[Block]) -> impl Iterator<Item = (Place, &Draft)> {
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
    readers: FxHashMap<u32, Vec<Place>>,
    /// The registers with several writes.
    rewritten: FxHashSet<u32>,
    /// The parameters and sums in registers that are written once, in all threads.
    terms: FxHashMap<u32, &'b Draft>,
}

impl<'b> Uses<'b> {
    fn of(blocks: &'b [Block]) -> Uses<'b> {
        let (readers, rewritten, terms) = Default::default();
        let mut uses = Uses { blocks, readers, rewritten, terms };
        let mut written = FxHashSet::default();
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

    /// Returns the stores that write a value computed from the loaded one, and whether lanes exchange it before. `None` if the
    /// value has another use: in a guard, in an address, in a branch, or in an instruction with another effect.
    fn reached_stores(&self, load: Place) -> Option<FxHashMap<Place, bool>> {
        let mut stores = FxHashMap::default();
        // The registers that derive from the value, without and with an exchange.
        let mut seen: FxHashSet<(u32, bool)> = FxHashSet::default();
        let mut open: Vec<(u32, bool)> = writes(self.draft(load)).map(|register| (register, false)).collect();
        while let Some((register, exchanged)) = open.pop() {
            if !seen.insert((register, exchanged)) {
                continue;
            }
            for place in self.readers.get(&register).into_iter().flatten() {
                let draft = self.draft(*place);
                let operand = Operand::Register(register);
                let guards = draft.guard.is_some_and(|(guard, _)| guard == register);
                let selects = [draft.b, draft.c].contains(&operand) || draft.extra[draft.written..].contains(&operand);
                let exchanges = draft.exchange && !guards && !selects;
                match draft.access {
                    Access::Store(_) if !guards && draft.a != operand => {
                        *stores.entry(*place).or_insert(exchanged) |= exchanged;
                    }
                    Access::None if draft.next == Next::On && (draft.per_lane || exchanges) => {
                        open.extend(writes(draft).map(|register| (register, exchanged | draft.exchange)));
                    }
                    _ => return None,
                }
            }
        }
        Some(stores)
    }

    fn draft(&self, (block, index): Place) -> &'b Draft {
        &self.blocks[block].drafts[index]
    }
}
