//! Deferred accesses against the list of all accesses.

use super::super::deferred::{Deferred, Groups, Known, Scattered};
use super::*;

impl Access {
    /// The access in shared memory.
    fn scattered(&self) -> Scattered {
        let mut offsets = [0; 32];
        self.lanes().for_each(|(start, lane)| offsets[lane as usize] = start as u32);
        let Row { size, step, lanes, .. } = self.row;
        let chains = [if step == 0 { u32::MAX } else { 0 }, if step == size { u32::MAX } else { 0 }, size];
        Scattered { offsets, lanes, size, chains: Some(chains) }
    }

    /// The addresses of the access in groups, if it is a read of a whole warp.
    fn groups(&self) -> Option<Groups> {
        let Row { size, step, lanes, .. } = self.row;
        let fits = self.kind == Kind::Read && lanes == u32::MAX && (step == 0 || step == size);
        let firsts = std::array::from_fn(|group| self.scattered().offsets[group * 8]);
        fits.then_some(Groups { firsts, rows: if step == size { 0xf } else { 0 }, size })
    }
}

impl Block {
    /// As [`Block::found`], for an access to shared memory that may be deferred. Returns nothing if it is.
    fn found_late(&mut self, deferred: &mut Deferred, warp: u32, access: &Access) -> Option<BTreeSet<(u32, u32)>> {
        let Block { order, shadow, .. } = self;
        let now = Now::new(order, warp, access.pc, access.kind);
        let mut known = Known::NONE;
        if let Some(groups) = access.groups()
            && deferred.list(&now, &mut known, || groups, &[(access.pc, 0)])
        {
            // Several reads at once have the records of single ones.
            assert!(deferred.list(&now, &mut known, || groups, &[(access.pc, 0), (access.pc, 0)]));
            return None;
        }
        let record = |late: &Scattered, now: &Now| {
            // The lanes are as far apart as the first two of them.
            let mut lanes = bits(late.lanes);
            let (lane, next) = (lanes.next().expect("a lane takes part"), lanes.next());
            let at = |lane: u32| late.offsets[lane as usize];
            let step = next.map_or(0, |next| (at(next) - at(lane)) / (next - lane));
            let row = Row { offset: at(lane) % PAGE as u32, size: late.size, step, lane, lanes: late.lanes };
            let page = shadow.shared_page(u64::from(at(lane)) / PAGE, late.size, PAGES * PAGE);
            page.touch(&row, now, order, &[0; 32], &mut |_, _| panic!("a deferred access races"));
        };
        if deferred.list_or(&now, || access.scattered(), record) {
            return None;
        }
        let mut pairs = BTreeSet::new();
        let page = shadow.shared_page(access.page, access.row.size, PAGES * PAGE);
        page.touch(&access.row, &now, order, &access.values(), &mut |_, with| {
            pairs.insert((with.pc().unwrap_or(0), access.pc));
            true
        });
        Some(pairs)
    }
}

#[test]
fn deferred_accesses_have_the_races_of_a_list_of_all_accesses() {
    let (mut numbers, mut block, mut deferred) = (Numbers(0x0dd0_5eed_1357_9bdf), block(), Deferred::default());
    let mut counts = [0; 3];
    for case in 0..1500 {
        block.start(0, 1 + numbers.below(4) as usize);
        let pcs = 1 + numbers.below(3);
        // Tiles are read often and written seldom.
        let mut kinds = Kind::Read;
        // The records distinguish the instructions of so few accesses.
        for index in 0..4 + numbers.below(12) {
            if numbers.below(4) == 0 {
                block.synchronize(&mut numbers);
                kinds = numbers.one_of(&[Kind::Read, Kind::Read, Kind::Atomic, Kind::Write]);
                continue;
            }
            let (warp, mut access) = (numbers.below(block.warps as u32), Access::new(&mut numbers, pcs, true));
            if kinds != Kind::Write && numbers.below(8) > 0 {
                access.pc = access.pc % 100 + kinds as u32 * 100;
                (access.kind, access.value) = (kinds, None);
            }
            let expected = block.expected(warp, &access);
            let found = block.found_late(&mut deferred, warp, &access);
            let at = found.as_ref().map_or(0, |found| 1 + usize::from(!found.is_empty()));
            counts[at] += 1;
            assert_eq!(found.unwrap_or_default(), expected, "case {case}, access {index}: warp {warp}, {access:?}");
        }
    }
    assert!(counts.iter().all(|count| *count > 500), "{counts:?}");
}
