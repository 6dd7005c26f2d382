//! Instructions that combine values of several lanes of a warp: shuffles, votes, matches, reductions and elections.
//!
//! An instruction with a member mask (`.sync`) waits until every lane of the mask has arrived or exited: see [`members`](super::members).

use super::lanes::versions;
use super::members::Value;
use super::{Flow, Machine};
use crate::machine::program::{Exec, Instruction};

impl Machine<'_> {
    /// # Safety
    /// `target` is a register with slots of 32 bits.
    #[inline(always)]
    unsafe fn set32(&mut self, target: u32, values: &[u32; 32]) {
        // SAFETY: this function's contract.
        unsafe {
            let target = self.slots::<[u32; 32]>(target);
            let (old, mask) = (target.read(), self.mask);
            target.write(std::array::from_fn(|lane| if mask >> lane & 1 == 1 { values[lane] } else { old[lane] }));
        }
    }
}

/// `bar.warp.sync` with the member mask `a`.
pub(crate) unsafe fn warp_barrier(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: `a` is a member mask.
    if unsafe { machine.gathered(instruction, instruction.a, Value::Nothing) } { Flow::Next } else { Flow::Stop }
}

/// A bit of a shuffle's mode: the instruction has no `.sync`, and all lanes as its member mask.
pub(crate) const WITHOUT_SYNC: i64 = 4;

/// Where a lane takes its value in a shuffle: another lane by the offset, with the first and the last lane of its segment, and whether it is in
/// range.
pub(crate) trait Mode {
    fn source(lane: u32, by: u32, first: u32, last: u32, segment: u32) -> (u32, bool);
}

macro_rules! modes {
    ($($name:ident: |$lane:ident, $by:ident, $first:ident, $last:ident, $segment:ident| $source:expr;)*) => {$(
        pub(crate) struct $name;
        impl Mode for $name {
            #[inline(always)]
            fn source($lane: u32, $by: u32, $first: u32, $last: u32, $segment: u32) -> (u32, bool) { $source }
        }
    )*};
}
modes! {
    Up: |lane, by, _first, last, _segment| (lane.wrapping_sub(by), lane as i32 - by as i32 >= last as i32);
    Down: |lane, by, _first, last, _segment| (lane + by, lane + by <= last);
    Butterfly: |lane, by, _first, last, _segment| (lane ^ by, lane ^ by <= last);
    Index: |_lane, by, first, last, segment| (first | (by & !segment), first | (by & !segment) <= last);
}

/// Copies `a` of a source lane to `d`. The mode, the offset `b`, and the clamp and segment mask `c` select the source lane. `imm` may be
/// [`WITHOUT_SYNC`]. The value of a lane that takes no part is undefined. The first extra operand is an optional predicate, which is set if the
/// source lane is in range. The second one is the member mask.
#[inline(always)]
unsafe fn body_shuffle<M: Mode>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: the operands are registers of 32 bits.
    unsafe {
        let member_mask = machine.extra(instruction, 1);
        if instruction.imm & WITHOUT_SYNC != 0 {
            machine.converged();
        } else if !machine.gathered(instruction, member_mask, Value::Word) {
            return Flow::Stop;
        }
        let (source, together) = (machine.words(instruction.a), machine.gathered_lanes() & !machine.warp.dead);
        let (by, clamp) = (machine.slots::<[u32; 32]>(instruction.b), machine.slots::<[u32; 32]>(instruction.c));
        let members = machine.slots::<[u32; 32]>(member_mask).read();
        let (by, clamp, mut from, mut inside) = (by.read(), clamp.read(), [0; 32], 0);
        for lane in 0..32_u32 {
            let (at, end, segment) = (lane as usize, clamp[lane as usize] & 31, clamp[lane as usize] >> 8 & 31);
            let first = lane & segment;
            let (source, within) = M::source(lane, by[at] & 31, first, first | (end & !segment), segment);
            inside |= u32::from(within) << lane;
            from[at] = if within { source } else { lane };
        }
        let mut results: [u32; 32] = std::array::from_fn(|lane| source[(from[lane] & 31) as usize]);
        let mut absent = false;
        if together != u32::MAX || members != [u32::MAX; 32] {
            let taking = inside & machine.mask;
            for lane in (0..32).filter(|lane| taking >> lane & 1 == 1) {
                if members[lane] & together & 1 << from[lane] == 0 {
                    results[lane] = machine.absent_value(from[lane]);
                    absent = true;
                }
            }
        }
        machine.set32(instruction.d, &results);
        let predicate = machine.extra(instruction, 0);
        if predicate != super::program::LEFT_OUT {
            machine.set_predicate(predicate, inside);
        }
        if absent { machine.end_first(instruction.exec, instruction) } else { Flow::Next }
    }
}

versions! {
    /// `shfl`: see [`body_shuffle`].
    fn shuffle<M: Mode>() = body_shuffle;
}

/// `vote`: reduces the predicate `a` over the member mask `b` with the mode `imm`: all, any, uni, ballot. Without
/// `.sync` the mask has all bits set, and the fragment does not wait.
pub(crate) unsafe fn vote(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: `a` is a predicate, `b` a register of 32 bits, `d` a predicate or, for a ballot, a register of 32 bits.
    unsafe {
        if instruction.c == 0 {
            machine.alone();
        } else if !machine.gathered(instruction, instruction.b, Value::Predicate) {
            return Flow::Stop;
        }
        let held = machine.holding(instruction.a);
        if instruction.imm == 3 {
            let members = machine.slots::<[u32; 32]>(instruction.b).read();
            machine.set32(instruction.d, &members.map(|members| held & machine.gathered_lanes() & members));
            return Flow::Next;
        }
        let result = machine.groups(instruction.b).fold(0, |result, group| {
            let held = held & group;
            let holds = match instruction.imm {
                0 => held == group,
                1 => held != 0,
                _ => held == group || held == 0,
            };
            result | if holds { group } else { 0 }
        });
        machine.set_predicate(instruction.d, result);
    }
    Flow::Next
}

/// `activemask`: writes the mask of the lanes that execute the instruction to `d`.
pub(crate) unsafe fn active_mask(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: `d` is a register of 32 bits.
    unsafe { machine.set32(instruction.d, &[machine.mask; 32]) };
    Flow::Next
}

/// `match.sync`: the mask of the lanes with an equal value. In mode `all` (`imm` is 1) it is the member mask if all
/// values are equal, otherwise 0.
unsafe fn matches(machine: &mut Machine<'_>, instruction: &Instruction, values: [u64; 32]) -> Flow {
    let (mut results, mut agreed) = ([0_u32; 32], 0);
    // SAFETY: `b` is a member mask, `d` a register of 32 bits, and the first extra operand a predicate or left out.
    unsafe {
        for group in machine.groups(instruction.b) {
            for lane in (0..32).filter(|lane| group >> lane & 1 == 1) {
                let same = |mask, other: usize| mask | u32::from(values[other] == values[lane]) << other;
                results[lane] = (0..32).fold(0, same) & group;
            }
            agreed |= if results[Machine::first(group) as usize] == group { group } else { 0 };
        }
        if instruction.imm == 1 {
            let predicate = machine.extra(instruction, 0);
            if predicate != super::program::LEFT_OUT {
                machine.set_predicate(predicate, agreed);
            }
            (0..32).filter(|lane| agreed >> lane & 1 == 0).for_each(|lane| results[lane] = 0);
        }
        machine.set32(instruction.d, &results);
    }
    Flow::Next
}

/// `match.sync.b32` with the member mask `b`.
pub(crate) unsafe fn match32(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: the operands are registers of these widths.
    unsafe {
        if !machine.gathered(instruction, instruction.b, Value::Word) {
            return Flow::Stop;
        }
        let values = machine.words(instruction.a).map(u64::from);
        matches(machine, instruction, values)
    }
}

/// `match.sync.b64` with the member mask `b`.
pub(crate) unsafe fn match64(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: the operands are registers of these widths.
    unsafe {
        if !machine.gathered(instruction, instruction.b, Value::Long) {
            return Flow::Stop;
        }
        let values = machine.longs(instruction.a);
        matches(machine, instruction, values)
    }
}

/// The operations of `redux.sync` by number.
pub(crate) const REDUCTIONS: [fn(u32, u32) -> u32; 12] = [
    |a, b| a.wrapping_add(b),
    |a, b| a.min(b),
    |a, b| a.max(b),
    |a, b| (a as i32).min(b as i32) as u32,
    |a, b| (a as i32).max(b as i32) as u32,
    |a, b| a & b,
    |a, b| a | b,
    |a, b| a ^ b,
    |a, b| extreme(a, b, false, false),
    |a, b| extreme(a, b, true, false),
    |a, b| extreme(a, b, false, true),
    |a, b| extreme(a, b, true, true),
];

/// The lesser or greater of two numbers in `f32`. `nan` returns NaN if one of them is NaN; otherwise it prefers a number.
fn extreme(a: u32, b: u32, greatest: bool, nan: bool) -> u32 {
    let is_nan = |bits: u32| bits & 0x7fff_ffff > 0x7f80_0000;
    // Maps bits of numbers to integers in the same order, so that +0 is greater than -0.
    let key = |bits: u32| if bits >> 31 == 1 { !(bits as i32 & i32::MAX) } else { bits as i32 };
    match (is_nan(a), is_nan(b)) {
        (true, true) => 0x7fff_ffff,
        (true, _) | (_, true) if nan => 0x7fff_ffff,
        (true, _) => b,
        (_, true) => a,
        _ if (key(a) > key(b)) == greatest => a,
        _ => b,
    }
}

/// A bit in the number of a reduction: the signs are removed first.
pub(crate) const ABSOLUTE: i64 = 16;

/// `redux.sync`: reduces `a` over the member mask `b`; `imm` is the index of the operation in [`REDUCTIONS`], with [`ABSOLUTE`].
pub(crate) unsafe fn reduce(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: the operands are registers of 32 bits.
    unsafe {
        if !machine.gathered(instruction, instruction.b, Value::Word) {
            return Flow::Stop;
        }
        let mut values = machine.words(instruction.a);
        let operation = (instruction.imm & (ABSOLUTE - 1)) as usize;
        if instruction.imm & ABSOLUTE != 0 {
            values = values.map(|value| value & 0x7fff_ffff);
        }
        let mut results = [0; 32];
        for group in machine.groups(instruction.b) {
            let lanes = || (0..32).filter(|lane| group >> lane & 1 == 1);
            let f = REDUCTIONS[operation];
            let result = lanes().map(|lane| values[lane]).reduce(f).unwrap_or(0);
            // A NaN that is alone is replaced too.
            let result = if operation >= 8 { f(result, result) } else { result };
            lanes().for_each(|lane| results[lane] = result);
        }
        machine.set32(instruction.d, &results);
    }
    Flow::Next
}

/// `elect.sync`: elects the first lane of the member mask `a`. The first extra operand is the predicate that is set for
/// this lane.
pub(crate) unsafe fn elect(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: the operands are registers of 32 bits and a predicate.
    unsafe {
        if !machine.gathered(instruction, instruction.a, Value::Nothing) {
            return Flow::Stop;
        }
        let (mut elected, mut first) = (0, [0; 32]);
        for group in machine.groups(instruction.a) {
            elected |= 1 << Machine::first(group);
            (0..32).filter(|lane| group >> lane & 1 == 1).for_each(|lane| first[lane] = Machine::first(group));
        }
        if instruction.d != super::program::LEFT_OUT {
            machine.set32(instruction.d, &first);
        }
        machine.set_predicate(machine.extra(instruction, 0), elected);
    }
    Flow::Next
}
