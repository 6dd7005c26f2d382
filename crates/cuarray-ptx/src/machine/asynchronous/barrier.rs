//! Barrier objects in shared memory, and the copies that they track: `mbarrier`.
//!
//! The 64 bits of an object are implementation-defined. They hold the expected arrivals of a phase (20 bits), the missing
//! arrivals (20 bits), the missing bytes of transactions (22 bits with a sign), and the number of the phase (2 bits).
//! Every operation is one atomic exchange of the word.

use super::in_flight::{Entry, Object, Place};
use crate::grammar::types::Space;
use crate::machine::access_mode::Mode;
use crate::machine::atomic::Word;
use crate::machine::memory_model::Write;
use crate::machine::program::{Exec, Instruction, LEFT_OUT};
use crate::machine::waiting::Polling;
use crate::machine::{Flow, Machine};
use crate::races::causality::phases::Step;
use crate::races::causality::times::Times;
use crate::races::cell::digest;
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

/// `mbarrier.init` and, if the further operand is 1, `mbarrier.inval`: the object `[a + imm]` expects `b` arrivals. For the search for races
/// this is a plain write.
pub(crate) unsafe fn initialize(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: `a` has the width that the mode states, and `b` has 64 bits.
    let counts = unsafe {
        if machine.locate(instruction, 8, true) == Flow::Stop {
            return Flow::Stop;
        }
        machine.slots::<[u64; 32]>(instruction.b).read()
    };
    for lane in (0..32).filter(|lane| machine.mask >> lane & 1 == 1) {
        // SAFETY: `locate` returned a valid, aligned pointer.
        unsafe { AtomicU64::from_ptr(machine.pointers[lane].cast()) }.store(initial(counts[lane]), Ordering::SeqCst);
    }
    if machine.races.on {
        let write = if machine.extra(instruction, 0) == 1 { Write::Invalidates } else { Write::Initializes };
        machine.watch_object(instruction.c, write, &counts.map(digest));
    }
    Flow::Next
}

/// `d` is the old word of the object `[a + imm]`, which becomes `f(old, b, further operand)`. `d` may be left out.
unsafe fn update<F: Fn(u64, u64, u64) -> u64 + Copy>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    const { assert!(size_of::<F>() == 0, "an operation captures nothing") };
    // SAFETY: F has no size, and `operation` received a value of it; see `lanes::operation`.
    let f: F = unsafe { std::ptr::NonNull::<F>::dangling().as_ptr().read() };
    // SAFETY: the resolver checked the widths.
    let (b, c) = unsafe {
        if machine.locate_atomic(instruction, 8) == Flow::Stop {
            return Flow::Stop;
        }
        let words = |operand| machine.slots::<[u64; 32]>(operand).read();
        (words(instruction.b), words(machine.extra(instruction, 0)))
    };
    let mask = machine.mask;
    for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
        let mut new = 0;
        let apply = |old| {
            new = f(old, b[lane], c[lane]);
            new
        };
        // SAFETY: `locate_atomic` returned a valid, aligned pointer, and `d` has 64 bits.
        let old = unsafe {
            let old = <u64 as Word>::update(machine.pointers[lane], apply);
            if instruction.d != LEFT_OUT {
                machine.slots::<u64>(instruction.d).add(lane).write(old);
            }
            old
        };
        machine.watch_step(instruction.c, lane as u32, Step::Counts { ends: ends_phase(old, new) });
    }
    Flow::Next
}

/// An operation on the word of an object.
pub(crate) fn operation<F: Fn(u64, u64, u64) -> u64 + Copy + 'static>(_: F) -> Exec {
    update::<F>
}

/// Whether an operation that changes a word completes a phase.
pub(super) fn ends_phase(old: u64, new: u64) -> bool {
    old >> PHASE != new >> PHASE
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
    let (mask, barriers, addresses, mut complete) = (machine.mask, machine.pointers, machine.addresses, 0);
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
        machine.note_waited();
        // Copies that have landed used the addresses of the running access.
        machine.addresses = addresses;
    }
    for lane in (0..32_u32).filter(|lane| mask >> lane & 1 == 1) {
        machine.watch_step(instruction.c, lane, Step::Waits { complete: complete >> lane & 1 == 1 });
    }
    if machine.search.observing {
        machine.note_seen(instruction.c, 8, Polling::Phase, None);
    }
    if complete & mask != mask {
        // Other threads have to run before the next test can succeed.
        machine.turn_end = machine.executed;
        if machine.warp.fragments.is_empty() {
            machine.end_waiting_warp();
        }
    }
    // SAFETY: `d` is a predicate.
    unsafe { machine.set_predicate(instruction.d, complete) };
    Flow::Next
}

impl Object {
    /// Counts at the object, on behalf of copies of lanes of a warp that have landed. `known` is what their threads knew at the start.
    ///
    /// # Safety
    /// The word is valid and aligned.
    pub(super) unsafe fn count(self, machine: &mut Machine<'_>, by: (u32, u32), known: Times, f: impl Fn(u64) -> u64) {
        // SAFETY: this function's contract.
        let old = unsafe { <u64 as Word>::update(self.word, &f) };
        machine.watch_completion(by, known, self.address, ends_phase(old, f(old)));
    }
}

impl Machine<'_> {
    /// Resolves the place of an object, whose word is at a pointer.
    pub(super) fn object(&self, place: Place, word: *mut u8) -> Object {
        Object { word, address: self.flat_of(place) }
    }

    /// Reports that a lane names a barrier object for a copy.
    pub(super) fn name_object(&mut self, lane: u32, address: u64) {
        let addresses = std::mem::replace(&mut self.addresses, [address; 32]);
        self.watch_step(Mode::new(Space::Generic, true).code(), lane, Step::Names);
        self.addresses = addresses;
    }

    /// Runs the oldest copies that a barrier tracks; returns `false` if there are none.
    fn complete_next(&mut self, barrier: *mut u8) -> bool {
        let pending = &self.cluster().pending;
        let bulk = pending.bulk.iter().position(|bulk| bulk.object.is_some_and(|object| object.word == barrier));
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
