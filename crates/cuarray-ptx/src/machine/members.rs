//! Member masks: the lanes of a warp that execute an instruction together.
//!
//! An instruction with a member mask waits until all lanes of the mask have executed it, or have exited. The lanes may do so at
//! several places of the code: the manual asks for the same instruction, qualifiers and mask, and not for one place. A lane outside of its own mask,
//! another mask of a member, and a member that never comes are misuses.

use super::Machine;
use super::misuse::{MisuseKind, Origin};
use super::warp::Waiting;
use crate::machine::program::{CONSTANT, Instruction};
use crate::races::span::bits;

/// The operand `a` by which the lanes of an instruction know each other's values. Only a barrier of the warp, and an election, have
/// none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value {
    Nothing,
    Predicate,
    Word,
    Long,
}

/// Lanes that execute one instruction together, at several places.
pub(crate) struct Together {
    lanes: u32,
    /// The lanes of these that have not executed it yet.
    left: u32,
    /// Those of the registers, and those that have other bits in place of undefined ones.
    values: [[u64; 32]; 2],
    /// The source of an undefined value among them.
    origin: Option<Origin>,
}

/// The union and the intersection of the masks of lanes.
#[inline(always)]
fn joined(members: &[u32; 32], lanes: u32) -> (u32, u32) {
    let (mut union, mut intersection) = (0, u32::MAX);
    for (lane, mask) in members.iter().enumerate() {
        let on = (lanes >> lane & 1).wrapping_neg();
        union |= mask & on;
        intersection &= mask | !on;
    }
    (union, intersection)
}

/// The lanes with equal masks.
fn groups(members: &[u32; 32], lanes: u32) -> impl Iterator<Item = u32> + use<> {
    let (members, mut left) = (*members, lanes);
    std::iter::from_fn(move || {
        let first = (left != 0).then(|| members[Machine::first(left) as usize])?;
        let equal = |group, lane: usize| group | u32::from(members[lane] == first) << lane;
        let group = (0..32).fold(0, equal) & left;
        left &= !group;
        Some(group)
    })
}

impl Machine<'_> {
    /// Returns whether all lanes of the member mask have arrived, and records that they have synchronized. If not, the
    /// fragment waits and executes the instruction again later.
    ///
    /// # Safety
    /// `operand` is the member mask of the running instruction: a register or constant of 32 bits. `value` is the type of its
    /// operand `a`.
    pub(super) unsafe fn gathered(&mut self, instruction: &Instruction, operand: u32, value: Value) -> bool {
        if self.repeats {
            return true;
        }
        self.alone();
        if !self.warp.together.is_empty() && self.take_part() {
            return true;
        }
        // SAFETY: this function's contract.
        let members = unsafe { self.slots::<[u32; 32]>(operand).read() };
        let barrier = self.is_warp_barrier(instruction);
        if self.arrived(&members, true) {
            self.synchronize(&members, barrier);
            return true;
        }
        // SAFETY: the fragments wait at instructions of the same kind as this one.
        unsafe { self.join_places(instruction, value, barrier) };
        false
    }

    /// Records that the lanes that have arrived with these masks have synchronized.
    pub(super) fn synchronize(&mut self, members: &[u32; 32], barrier: bool) {
        if self.races.on {
            self.record_lane_synchronization(groups(members, self.mask), barrier);
        }
    }

    /// Records that the lanes execute an instruction without a member mask: those that have converged do so together.
    pub(super) fn converged(&mut self) {
        self.alone();
        if !self.repeats {
            self.synchronize(&[u32::MAX; 32], false);
        }
    }

    /// Records that no lanes at other places execute the instruction with those of the fragment.
    #[inline(always)]
    pub(super) fn alone(&mut self) {
        self.together = None;
    }

    fn is_warp_barrier(&self, instruction: &Instruction) -> bool {
        std::ptr::fn_addr_eq(instruction.exec, super::exchange::warp_barrier as super::program::Exec)
    }

    /// Returns whether all lanes of the member masks have arrived; if not, the fragment waits. If `checked`, wrong masks are misuses.
    pub(super) fn arrived(&mut self, members: &[u32; 32], checked: bool) -> bool {
        let (union, intersection) = joined(members, self.mask);
        let here = self.mask | self.warp.dead;
        if union & !here == 0 || std::mem::take(&mut self.forced) {
            if checked && (union != intersection || self.mask & !union != 0 || union & !here != 0) {
                self.check_masks(members);
            }
            return true;
        }
        if union != intersection {
            // Lanes whose mask is complete do not wait for those of another mask.
            let complete = |group: &u32| members[Machine::first(*group) as usize] & !here == 0;
            let complete = groups(members, self.mask).filter(complete).fold(0, |all, group| all | group);
            if complete != 0 {
                self.part(self.pc - 1, self.mask & !complete, Waiting::Warp(0));
                self.active &= !(self.mask & !complete);
                self.mask = complete;
                if checked {
                    self.check_masks(members);
                }
                return true;
            }
        }
        let rest = self.active & !self.mask;
        if rest != 0 {
            self.part(self.pc, rest, Waiting::Nothing);
        }
        self.active = self.mask;
        self.pc -= 1;
        self.leave(Waiting::Warp(if union == intersection { union } else { 0 }));
        false
    }

    /// Records what is wrong with the masks of the lanes that execute the instruction.
    #[cold]
    fn check_masks(&mut self, members: &[u32; 32]) {
        for group in groups(members, self.mask) {
            let (lane, mask) = (Machine::first(group), members[Machine::first(group) as usize]);
            let outside = group & !mask;
            if outside != 0 {
                self.misuse_lanes(MisuseKind::OutsideMask, Machine::first(outside), (mask, outside), None);
                continue;
            }
            let missing = mask & !group & !self.warp.dead;
            let (others, absent) = (missing & self.mask, missing & !self.mask);
            if others != 0 {
                let other = Some((self.pc - 1, Machine::first(others)));
                self.misuse_lanes(MisuseKind::DifferentMasks, lane, (mask, others), other);
            } else if absent != 0 {
                self.misuse_lanes(MisuseKind::AbsentMember, lane, (mask, absent), self.instruction_of(absent));
            }
        }
    }

    /// The instruction at which one of the lanes is, with the lane.
    pub(super) fn instruction_of(&self, lanes: u32) -> Option<(u32, u32)> {
        let fragments = self.warp.fragments.iter().filter(|fragment| fragment.mask & lanes != 0);
        let first = fragments.min_by_key(|fragment| Machine::first(fragment.mask & lanes))?;
        Some((first.pc, Machine::first(first.mask & lanes)))
    }

    /// Lets the lanes of a mask that wait at several places execute the instruction, if all of them have arrived.
    ///
    /// # Safety
    /// `value` is the type of the operand `a` of the instruction.
    #[cold]
    unsafe fn join_places(&mut self, instruction: &Instruction, value: Value, barrier: bool) {
        let Some(Waiting::Warp(mask)) = self.warp.fragments.last().map(|fragment| fragment.waiting) else { return };
        let code = self.program.code.as_slice();
        let alike = |pc: u32| {
            let other = &code[pc as usize];
            std::ptr::fn_addr_eq(other.exec, instruction.exec) && other.imm == instruction.imm
        };
        let waits = |index: &usize| {
            let fragment = &self.warp.fragments[*index];
            fragment.waiting == Waiting::Warp(mask) && alike(fragment.pc)
        };
        let places: Vec<usize> = (0..self.warp.fragments.len()).filter(waits).collect();
        let lanes = places.iter().fold(0, |lanes, index| lanes | self.warp.fragments[*index].mask);
        if mask == 0 || lanes & !mask != 0 || mask & !lanes & !self.warp.dead != 0 {
            return;
        }
        let (mut values, mut origin) = ([[0; 32]; 2], None);
        for index in places {
            let fragment = &mut self.warp.fragments[index];
            fragment.waiting = Waiting::Nothing;
            let (operand, mask) = (code[fragment.pc as usize].a, fragment.mask);
            let frame = &self.warp.frames[fragment.frame as usize];
            let sets = [&frame.registers, frame.twin.as_ref().map_or(&frame.registers, |twin| &twin.registers)];
            for (values, registers) in values.iter_mut().zip(sets) {
                let registers = registers.as_ptr().cast::<u8>();
                let base = if operand & CONSTANT != 0 { self.bases[1].cast_const() } else { registers };
                // SAFETY: the operand belongs to an instruction of the fragment's frame, with slots of this type.
                unsafe {
                    let start = base.add((operand & !CONSTANT) as usize);
                    for lane in bits(mask) {
                        values[lane as usize] = match value {
                            Value::Nothing => 0,
                            Value::Predicate => u64::from(start.cast::<u32>().read() >> lane & 1),
                            Value::Word => start.cast::<u32>().add(lane as usize).read().into(),
                            Value::Long => start.cast::<u64>().add(lane as usize).read(),
                        };
                    }
                }
            }
            if bits(mask).any(|lane| values[0][lane as usize] != values[1][lane as usize]) {
                origin = origin.or(frame.twin.as_ref().and_then(|twin| twin.origin_of(operand)));
            }
        }
        self.warp.together.push(Together { lanes, left: lanes, values, origin });
        if self.races.on {
            self.record_lane_synchronization(std::iter::once(lanes), barrier);
        }
    }

    /// Whether lanes of the fragment execute the instruction together with lanes at other places. Others of the fragment follow
    /// later.
    #[cold]
    fn take_part(&mut self) -> bool {
        self.warp.together.retain(|together| together.left != 0);
        let Some(index) = self.warp.together.iter().position(|together| together.left & self.mask != 0) else {
            return false;
        };
        let left = &mut self.warp.together[index].left;
        let (lanes, others) = (self.mask & *left, self.mask & !*left);
        *left &= !lanes;
        if others != 0 {
            self.part(self.pc - 1, others, Waiting::Nothing);
            self.active &= !others;
            self.mask = lanes;
        }
        self.together = Some(index);
        if let Some(origin) = self.warp.together[index].origin {
            self.meets_undefined(origin);
        }
        true
    }

    /// The lanes that execute the instruction together.
    #[inline(always)]
    pub(super) fn gathered_lanes(&self) -> u32 {
        self.together.map_or(self.mask, |index| self.warp.together[index].lanes)
    }

    /// Groups the lanes that execute the instruction by their member masks.
    ///
    /// # Safety
    /// `members` is a member mask of the running instruction.
    pub(super) unsafe fn groups(&self, members: u32) -> impl Iterator<Item = u32> + use<> {
        let lanes = self.gathered_lanes();
        // SAFETY: this function's contract.
        let mut members = unsafe { self.slots::<[u32; 32]>(members).read() };
        if self.together.is_some() {
            members = [lanes; 32];
        }
        groups(&members, lanes)
    }

    /// The values of other places, with their lanes.
    #[inline(always)]
    fn elsewhere(&self) -> impl Iterator<Item = (usize, u64)> {
        let together = self.together.map(|index| &self.warp.together[index]);
        let (own, values) = (self.mask, usize::from(self.repeats));
        together.into_iter().flat_map(move |together| {
            bits(together.lanes & !own).map(move |lane| (lane as usize, together.values[values][lane as usize]))
        })
    }

    /// The words of the lanes that execute the instruction.
    ///
    /// # Safety
    /// `operand` is the operand `a` of the running instruction, a register or constant of 32 bits.
    pub(super) unsafe fn words(&self, operand: u32) -> [u32; 32] {
        // SAFETY: this function's contract.
        let mut words = unsafe { self.slots::<[u32; 32]>(operand).read() };
        self.elsewhere().for_each(|(lane, value)| words[lane] = value as u32);
        words
    }

    /// Like [`Machine::words`], of 64 bits.
    ///
    /// # Safety
    /// As for [`Machine::words`], with 64 bits.
    pub(super) unsafe fn longs(&self, operand: u32) -> [u64; 32] {
        // SAFETY: this function's contract.
        let mut longs = unsafe { self.slots::<[u64; 32]>(operand).read() };
        self.elsewhere().for_each(|(lane, value)| longs[lane] = value);
        longs
    }

    /// The lanes, of those that execute the instruction, whose predicate holds.
    ///
    /// # Safety
    /// `operand` is the operand `a` of the running instruction, a predicate.
    pub(super) unsafe fn holding(&self, operand: u32) -> u32 {
        // SAFETY: this function's contract.
        let own = unsafe { self.predicate(operand) } & self.mask;
        self.elsewhere().fold(own, |held, (lane, value)| held | (value as u32) << lane)
    }
}
