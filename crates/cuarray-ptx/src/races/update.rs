//! Races of updates in place, which are held back until the block ends.
//!
//! In an update in place, several threads load a value, and some of them store the new one. A thread whose loaded value
//! reaches no store may load the old or the new value: it makes no difference. So a race of such a load and store counts only if
//! a thread executes a store that the loaded value reaches.

use super::Race;
use std::collections::{BTreeMap, HashMap};

/// A load and a store that update in place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InPlace {
    /// The number of bytes.
    pub bytes: u32,
    /// The offsets of two parameters whose values must be equal, if the addresses are sums of parameters.
    pub parameters: Option<[u32; 2]>,
}

/// A store that a loaded value reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reached {
    /// The number of the instruction.
    pub store: u32,
    /// Whether lanes exchange the value before: then the store of any lane of the warp counts.
    pub exchanged: bool,
}

/// The updates in place of a running block.
#[derive(Default)]
pub(crate) struct Updates {
    /// The last addresses of each warp and load, and the lanes that executed it.
    loads: HashMap<(u32, u32), (u32, [u64; 32])>,
    /// The lanes of each warp that have executed a store.
    stores: HashMap<(u32, u32), u32>,
    /// The races that are held back, by load, store, and warp of the load: one race, and the lanes with such a load.
    held: BTreeMap<(u32, u32, u32), (u32, Race)>,
}

impl Updates {
    pub(crate) fn clear(&mut self) {
        self.loads.clear();
        self.stores.clear();
        self.held.clear();
    }

    /// Records a load of an update in place.
    pub(crate) fn load(&mut self, warp: u32, pc: u32, mask: u32, addresses: &[u64; 32]) {
        self.loads.insert((warp, pc), (mask, *addresses));
    }

    /// Records a store that the value of such a load reaches.
    pub(crate) fn store(&mut self, warp: u32, pc: u32, mask: u32) {
        *self.stores.entry((warp, pc)).or_default() |= mask;
    }

    /// Holds back a race of a load of `size` bytes and a store. The load was not recorded for every lane, so the lanes with the
    /// same address take part too. `bits` are the bits of an address in the memory of the race.
    pub(crate) fn hold(&mut self, race: Race, [pc, store]: [u32; 2], [read, written]: [u32; 2], size: u32, bits: u64) {
        let (warp, own) = (read / 32, 1 << (read % 32));
        let lanes = self.loads.get(&(warp, pc)).map_or(own, |(mask, addresses)| {
            let overlaps = |lane: &u32| {
                let address = addresses[*lane as usize] & bits;
                address < race.address + u64::from(race.size) && race.address < address + u64::from(size)
            };
            (0..32).filter(overlaps).fold(own, |lanes, lane| lanes | 1 << lane) & (mask | own)
        });
        // A thread's own accesses are in order.
        let lanes = if written / 32 == warp { lanes & !(1 << (written % 32)) } else { lanes };
        self.held.entry((pc, store, warp)).or_insert((0, race)).0 |= lanes;
    }

    /// Returns the races whose load had an effect. `reached` has the stores that the value of each load reaches.
    pub(crate) fn settle(&mut self, reached: &HashMap<u32, Vec<Reached>>) -> Vec<Race> {
        let has_effect = |load: &u32, warp: u32, lanes: u32| {
            reached.get(load).into_iter().flatten().any(|reached| {
                let executed = self.stores.get(&(warp, reached.store)).copied().unwrap_or(0);
                executed & if reached.exchanged { u32::MAX } else { lanes } != 0
            })
        };
        let races = self.held.iter().filter(|((load, _, warp), (lanes, _))| has_effect(load, *warp, *lanes));
        let races = races.map(|(_, (_, race))| *race).collect();
        self.held.clear();
        races
    }
}
