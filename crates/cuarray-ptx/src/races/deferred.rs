//! Accesses to shared memory that are compared later, or never.
//!
//! A tiled kernel reads its tiles many times between two barriers of the block, and writes nothing meanwhile. Reads do not
//! conflict with each other, and neither do atomic operations. So an access of these kinds is only listed while no access
//! that could conflict with it is unordered. A later access of another kind records the listed ones first. After a barrier
//! of the whole block they are ordered before all later accesses, and are dropped.
//!
//! Nothing is lost: at the time of a listed access, no recorded one could race with it, and all later ones are compared with it.

use super::cell::{Kind, Now};

/// The most listed accesses.
const MOST: usize = 1 << 14;

/// The addresses of a warp in groups of eight lanes, as offsets in shared memory.
#[derive(Clone, Copy)]
pub(crate) struct Groups {
    /// The first address of each group.
    pub firsts: [u32; 4],
    /// A bit for each group: whether its addresses are consecutive. Otherwise they are equal.
    pub rows: u32,
    /// The size of an access in bytes.
    pub size: u32,
}

/// An access of some lanes of a warp, each with its own address.
#[derive(Clone, Copy)]
pub(crate) struct Scattered {
    /// The offsets in shared memory.
    pub offsets: [u32; 32],
    pub lanes: u32,
    pub size: u32,
    /// The lanes whose address is that of the previous lane, those whose address is `stride` bytes after it, and `stride`. `None` if they are
    /// not compared yet, and all lanes take part.
    pub chains: Option<[u32; 3]>,
}

/// Addresses that several listed accesses share, each with its own offset.
#[derive(Clone, Copy)]
struct Base {
    groups: Groups,
    now: Now,
}

/// A listed access.
enum Listed {
    Groups { pc: u32, base: u32, offset: u32 },
    Scattered(u32),
}

/// The place of listed addresses, for further accesses with other offsets.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    generation: u64,
    base: u32,
}

impl Known {
    /// No place.
    #[cfg_attr(
        not(any(target_arch = "x86_64", test)),
        expect(dead_code, reason = "only code for AVX2 and tests use it")
    )]
    pub(crate) const NONE: Known = Known { generation: 0, base: 0 };
}

/// The listed accesses of a block.
pub(crate) struct Deferred {
    /// The time of the last access of each kind.
    latest: [u32; 3],
    listed: Vec<Listed>,
    bases: Vec<Base>,
    scattered: Vec<(Scattered, Now)>,
    /// The number of times that the list was emptied, plus one.
    generation: u64,
}

impl Default for Deferred {
    fn default() -> Deferred {
        Deferred { latest: [0; 3], listed: Vec::new(), bases: Vec::new(), scattered: Vec::new(), generation: 1 }
    }
}

impl Deferred {
    /// Empties the list, because the clocks restart.
    pub(crate) fn clear(&mut self) {
        self.latest = [0; 3];
        self.empty();
    }

    fn empty(&mut self) {
        self.listed.clear();
        self.bases.clear();
        self.scattered.clear();
        self.generation += 1;
    }

    /// Whether an access can be listed: all earlier ones that could conflict with it are ordered before it.
    #[inline(always)]
    fn takes(&self, now: &Now) -> bool {
        let [reads, writes, atomics] = self.latest;
        let conflicting = match now.kind {
            Kind::Read => writes.max(atomics),
            Kind::Write => return false,
            Kind::Atomic => reads.max(writes),
        };
        conflicting <= now.settled && self.listed.len() < MOST
    }

    /// Drops the listed accesses that are ordered before all later ones.
    #[inline(always)]
    fn settle(&mut self, now: &Now) {
        if !self.listed.is_empty() && self.latest[0].max(self.latest[2]) <= now.settled {
            self.empty();
        }
    }

    /// Records the time of an access.
    #[inline(always)]
    fn note(&mut self, now: &Now) {
        let latest = &mut self.latest[now.kind as usize - 1];
        *latest = (*latest).max(now.clock);
    }

    /// Lists reads of a whole warp, each by an instruction at an offset from common addresses, which `known` may refer to. Returns `false` if
    /// the reads must be compared at once.
    #[inline(always)]
    #[cfg_attr(
        not(any(target_arch = "x86_64", test)),
        expect(dead_code, reason = "only code for AVX2 and tests use it")
    )]
    pub(crate) fn list(
        &mut self,
        now: &Now,
        known: &mut Known,
        groups: impl Fn() -> Groups,
        reads: &[(u32, i32)],
    ) -> bool {
        let listed = self.lists(now);
        if listed {
            let base = self.base(now, known, groups);
            self.add(base, reads);
        }
        listed
    }

    /// Prepares for accesses of a time. Returns whether they can be listed, and need not be compared at once.
    #[inline(always)]
    pub(crate) fn lists(&mut self, now: &Now) -> bool {
        self.settle(now);
        let lists = self.takes(now);
        if lists {
            self.note(now);
        }
        lists
    }

    /// Lists further reads of a time for which [`Deferred::lists`] has held, and no access of another kind has come since then. The arguments
    /// are as for [`Deferred::list`]. Returns `false` if the list is full.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only code for AVX2 uses it"))]
    pub(crate) fn list_further(&mut self, now: &Now, groups: Groups, reads: &[(u32, i32)]) -> bool {
        let fits = self.listed.len() < MOST;
        if fits {
            self.bases.push(Base { groups, now: *now });
            self.add(self.bases.len() as u32 - 1, reads);
        }
        fits
    }

    #[inline(always)]
    fn add(&mut self, base: u32, reads: &[(u32, i32)]) {
        let each = reads.iter().map(|(pc, offset)| Listed::Groups { pc: *pc, base, offset: *offset as u32 });
        self.listed.extend(each);
    }

    /// The place of listed addresses, which is kept in `known`.
    #[inline(always)]
    fn base(&mut self, now: &Now, known: &mut Known, groups: impl Fn() -> Groups) -> u32 {
        let held = known.generation == self.generation
            && self.bases.get(known.base as usize).is_some_and(|base| base.now.clock == now.clock);
        if !held {
            *known = Known { generation: self.generation, base: self.bases.len() as u32 };
            self.bases.push(Base { groups: groups(), now: *now });
        }
        known.base
    }

    /// Lists an access if it need not be compared at once, and returns whether it does not.
    #[inline(always)]
    pub(crate) fn list_one(&mut self, now: &Now, scattered: impl FnOnce() -> Scattered) -> bool {
        let listed = self.lists(now);
        if listed {
            self.listed.push(Listed::Scattered(self.scattered.len() as u32));
            self.scattered.push((scattered(), *now));
        }
        listed
    }

    /// As [`Deferred::list_one`]. Before others, the listed
    /// accesses go to `record`.
    #[inline(always)]
    pub(crate) fn list_or(
        &mut self,
        now: &Now,
        scattered: impl FnOnce() -> Scattered,
        record: impl FnMut(&Scattered, &Now),
    ) -> bool {
        if self.list_one(now, scattered) {
            return true;
        }
        if !self.listed.is_empty() {
            self.replay(record);
        }
        self.note(now);
        false
    }

    #[cold]
    fn replay(&mut self, mut record: impl FnMut(&Scattered, &Now)) {
        for access in &self.listed {
            match access {
                Listed::Scattered(index) => {
                    let (access, now) = &self.scattered[*index as usize];
                    record(access, now);
                }
                Listed::Groups { pc, base, offset } => self.bases[*base as usize].read(*pc, *offset, &mut record),
            }
        }
        self.empty();
    }
}

impl Base {
    /// Calls `record` with the access by an instruction, at an offset from these addresses.
    fn read(&self, pc: u32, offset: u32, record: &mut impl FnMut(&Scattered, &Now)) {
        record(&self.groups.lanes(offset), &self.now.at(pc));
    }
}

impl Groups {
    /// The access of each lane, with an offset.
    fn lanes(&self, offset: u32) -> Scattered {
        let place = |lane: usize| {
            let step = if self.rows >> (lane / 8) & 1 == 1 { self.size } else { 0 };
            self.firsts[lane / 8].wrapping_add(offset).wrapping_add(lane as u32 % 8 * step)
        };
        let offsets: [u32; 32] = std::array::from_fn(place);
        let follow = |step: u32| {
            let follows = |lane: &usize| offsets[*lane] == offsets[*lane - 1].wrapping_add(step);
            (1..32).filter(follows).fold(0, |all, lane| all | 1 << lane)
        };
        Scattered { offsets, lanes: u32::MAX, size: self.size, chains: Some([follow(0), follow(self.size), self.size]) }
    }
}
