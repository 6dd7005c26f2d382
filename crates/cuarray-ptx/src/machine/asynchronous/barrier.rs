//! Barrier objects in shared memory, and the copies that they track: `mbarrier`.
//!
//! The 64 bits of an object are implementation-defined. They hold the expected arrivals of a phase (20 bits), the missing
//! arrivals (20 bits), the missing bytes of transactions (22 bits with a sign), and the number of the phase (2 bits).
//! Every operation is one atomic exchange of the word.

use super::copies::Entry;
use crate::machine::program::Instruction;
use crate::machine::{Flow, Machine};
use std::sync::atomic::{AtomicU64, Ordering};

const COUNT: u64 = (1 << 20) - 1;
const MISSING: u32 = 20;
const BYTES: u32 = 40;
const PHASE: u32 = 62;

/// The arrivals that a phase misses.
pub(crate) fn missing(word: u64) -> u64 {
    word >> MISSING & COUNT
}

/// Starts the next phase if nothing is missing.
fn settled(expected: u64, missing: u64, bytes: u64, phase: u64) -> u64 {
    let bytes = bytes & ((1 << (PHASE - BYTES)) - 1);
    match missing == 0 && bytes == 0 {
        true => expected | expected << MISSING | (phase + 1) << PHASE,
        false => expected | missing << MISSING | bytes << BYTES | phase << PHASE,
    }
}

fn parts(word: u64) -> (u64, u64, u64, u64) {
    (word & COUNT, missing(word), word << (64 - PHASE) >> (64 - PHASE + BYTES), word >> PHASE)
}

/// A new object that expects `count` arrivals.
pub(crate) fn initial(count: u64) -> u64 {
    count & COUNT | (count & COUNT) << MISSING
}

/// Counts `count` arrivals; the last of a phase starts the next one.
pub(crate) fn arrive(word: u64, count: u64) -> u64 {
    let (expected, missing, bytes, phase) = parts(word);
    settled(expected, missing.saturating_sub(count & COUNT), bytes, phase)
}

/// Counts `count` arrivals, and lowers the expected number of later phases.
pub(crate) fn drop_out(word: u64, count: u64) -> u64 {
    let expected = (word & COUNT).saturating_sub(count & COUNT);
    arrive(word & !COUNT | expected, count)
}

/// Expects one more arrival in the phase.
pub(crate) fn expect_arrival(word: u64) -> u64 {
    let (expected, missing, bytes, phase) = parts(word);
    expected | ((missing + 1) & COUNT) << MISSING | bytes << BYTES | phase << PHASE
}

/// Expects `count` more bytes of transactions in the phase.
pub(crate) fn expect_bytes(word: u64, count: u64) -> u64 {
    let (expected, missing, bytes, phase) = parts(word);
    settled(expected, missing, bytes.wrapping_add(count), phase)
}

/// Counts `count` bytes of transactions.
pub(crate) fn complete_bytes(word: u64, count: u64) -> u64 {
    let (expected, missing, bytes, phase) = parts(word);
    settled(expected, missing, bytes.wrapping_sub(count), phase)
}

/// `mbarrier.test_wait` and `try_wait`: sets the predicate `d` where the phase of `[a + imm]` is complete. `b` is the
/// parity of the phase with 32 bits if the further operand is 1, else a state with 64 bits.
pub(crate) unsafe fn wait(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: the operands have the widths that the mode and the further operand state.
    let phases = unsafe {
        if machine.locate(instruction, 8, false) == Flow::Stop {
            return Flow::Stop;
        }
        match machine.extra(instruction, 0) {
            1 => machine.slots::<[u32; 32]>(instruction.b).read().map(|parity| u64::from(parity & 1)),
            _ => machine.slots::<[u64; 32]>(instruction.b).read().map(|state| state >> PHASE),
        }
    };
    let bits = if machine.extra(instruction, 0) == 1 { 1 } else { 3 };
    let (mask, barriers, mut complete) = (machine.mask, machine.pointers, 0);
    for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
        loop {
            // SAFETY: `locate` returned a valid, aligned pointer.
            let word = unsafe { AtomicU64::from_ptr(barriers[lane].cast()) }.load(Ordering::SeqCst);
            if (word >> PHASE ^ phases[lane]) & bits != 0 {
                complete |= 1 << lane;
                break;
            }
            if machine.cluster().pending.count == 0 || !machine.complete_next(barriers[lane]) {
                break;
            }
            if machine.fault.is_some() {
                return Flow::Stop;
            }
        }
    }
    if machine.races.on {
        machine.learn_landed();
        machine.watch_read(instruction, 8);
    }
    // SAFETY: `d` is a predicate.
    unsafe { machine.set_predicate(instruction.d, complete) };
    Flow::Next
}

impl Machine<'_> {
    /// Runs the oldest copies that a barrier tracks; returns `false` if there are none.
    fn complete_next(&mut self, barrier: *mut u8) -> bool {
        let pending = &self.cluster().pending;
        let bulk = pending.bulk.iter().position(|bulk| bulk.barrier == Some(barrier));
        let mut arrival: Option<(u64, u32)> = None;
        let warps = pending.blocks.get(self.block.rank as usize).map_or(&[][..], |block| &block.warps);
        for (warp, copies) in warps.iter().enumerate() {
            let here = copies.list.iter().find_map(|entry| match entry {
                Entry::Arrival(arrival) if arrival.lanes_at(barrier) != 0 => Some(arrival.number),
                _ => None,
            });
            if let Some(number) = here.filter(|number| arrival.is_none_or(|(first, _)| *number < first)) {
                arrival = Some((number, warp as u32));
            }
        }
        let first_bulk = bulk.map(|index| pending.bulk[index].number);
        match (arrival, bulk) {
            (Some((number, warp)), _) if first_bulk.is_none_or(|first| number < first) => {
                self.arrive_at(warp, number, barrier);
            }
            (_, Some(index)) => self.run_bulk_at(index),
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_ends_when_arrivals_and_bytes_are_complete() {
        let phase = |word: u64| word >> PHASE;
        let word = initial(2);
        assert_eq!((phase(word), missing(word)), (0, 2));
        let word = arrive(expect_bytes(word, 48), 1);
        let word = complete_bytes(word, 16);
        let word = arrive(word, 1);
        assert_eq!((phase(word), missing(word)), (0, 0));
        let word = complete_bytes(word, 32);
        assert_eq!((phase(word), missing(word)), (1, 2));
        // Bytes may complete before they are expected.
        let word = expect_bytes(arrive(complete_bytes(word, 64), 2), 64);
        assert_eq!((phase(word), missing(word)), (2, 2));
        let word = arrive(expect_arrival(word), 3);
        assert_eq!((phase(word), missing(word)), (3, 2));
        let word = arrive(drop_out(word, 1), 1);
        assert_eq!((phase(word), missing(word)), (0, 1));
    }
}
