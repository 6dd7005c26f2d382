//! A launch in several orders of blocks and warps, for `CUARRAY_SIM_KERNEL_ORDER=all`.
//!
//! The search for races analyses one executed order. So the launch runs in each order from the same memory: what a run has written
//! gets its earlier bytes back before the next one. The order of numbers is the last, and its results stay. To run the whole program
//! in each order instead would need a program that does the same in each run, and no test runner or C program could ask for it.

use cuarray_ptx::{
    AccessKind, FaultKind, KernelOrder, Launch, Misuse, Outcome, Outlook, Race, Region, Service, TouchedRange,
};

/// The orders before the one of numbers.
const OTHERS: [KernelOrder; 4] =
    [KernelOrder::Reverse, KernelOrder::Random(1), KernelOrder::Random(2), KernelOrder::Random(3)];

/// The services of a run whose effects do not stay.
struct Without<'a>(&'a dyn Service);

impl Service for Without<'_> {
    fn allocate(&self, _: u64) -> u64 {
        0
    }
    fn free(&self, _: u64) -> u64 {
        0
    }
    fn assertion(&self, _: &str) {}
    fn unwritten(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        self.0.unwritten(start, end)
    }
    fn set_condition(&self, _: u64, _: u32) {}
    fn outlook(&self, addresses: &[u64]) -> Outlook {
        self.0.outlook(addresses)
    }
    fn tick(&self, pc: u32, finished: u64) -> Option<FaultKind> {
        self.0.tick(pc, finished)
    }
}

/// Executes a launch in each order, whose kernel does not allocate. The outcome has the races and misuses of all orders. A failure in
/// one of them is that of the launch.
///
/// # Safety
/// As for [`cuarray_ptx::execute`].
pub(super) unsafe fn execute(launch: &Launch<'_>) -> Outcome {
    let (mut races, mut misuses): (Vec<Race>, Vec<Misuse>) = Default::default();
    let before: Vec<Vec<u8>> = launch.regions.iter().map(bytes_of).collect();
    let service = Without(launch.service);
    for order in OTHERS {
        // SAFETY: this function's contract.
        let mut outcome = unsafe { cuarray_ptx::execute(&Launch { order, service: &service, ..*launch }) };
        add(&mut races, &mut misuses, &mut outcome);
        if outcome.fault.is_some() {
            return Outcome { races, misuses, ..outcome };
        }
        for range in outcome.before_wait.iter().chain(&outcome.touched) {
            range.pieces().for_each(|(start, end)| restore(launch.regions, &before, &range.piece(start, end)));
        }
    }
    // SAFETY: as above.
    let mut outcome = unsafe { cuarray_ptx::execute(launch) };
    add(&mut races, &mut misuses, &mut outcome);
    Outcome { races, misuses, ..outcome }
}

/// Adds races and misuses of instructions that are not in the lists.
fn add(races: &mut Vec<Race>, misuses: &mut Vec<Misuse>, outcome: &mut Outcome) {
    let sides = |race: &Race| race.accesses.map(|access| (access.pc, access.writes));
    let is_same = |one: &Race, other: &Race| {
        let [first, last] = sides(other);
        one.shared == other.shared && (sides(one) == [first, last] || sides(one) == [last, first])
    };
    for race in std::mem::take(&mut outcome.races) {
        if !races.iter().any(|known| is_same(known, &race)) {
            races.push(race);
        }
    }
    for misuse in std::mem::take(&mut outcome.misuses) {
        if !misuses.iter().any(|known| (known.kind, known.pc) == (misuse.kind, misuse.pc)) {
            misuses.push(misuse);
        }
    }
}

/// The bytes of a region that the kernel may write.
fn bytes_of(region: &Region) -> Vec<u8> {
    if !region.writable {
        return Vec::new();
    }
    let size = (region.end - region.start) as usize;
    // SAFETY: the memory of a region is readable during the launch.
    unsafe { std::slice::from_raw_parts(region.host as *const u8, size) }.to_vec()
}

/// Gives a range that a run has written its earlier bytes.
fn restore(regions: &[Region], before: &[Vec<u8>], range: &TouchedRange) {
    let index = regions.partition_point(|region| region.start <= range.start).wrapping_sub(1);
    let (Some(region), Some(bytes)) = (regions.get(index), before.get(index)) else { return };
    let (start, end) = ((range.start - region.start) as usize, (range.end.min(region.end) - region.start) as usize);
    let Some(bytes) = bytes.get(start..end).filter(|_| range.kind != AccessKind::Read) else { return };
    // SAFETY: the range lies in the region, which is writable, and the launch is over.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), (region.host as *mut u8).add(start), bytes.len()) };
}
