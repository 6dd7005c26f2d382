//! Loads and stores.
//!
//! An access has two halves. [`Machine::locate`] resolves the address of each lane, checks bounds and alignment, and
//! records the access. Then one loop moves bytes between pointers and registers. A value that all lanes load from one
//! address is loaded once. Blocks on several cores may access the same memory, so the moves are relaxed atomic
//! operations.

use super::access_mode::{elements, unused_elements};
use super::direct;
use super::lanes::versions;
use super::pattern::Pattern;
use super::{Flow, Machine};
use crate::machine::program::{Exec, Instruction, LEFT_OUT};
use crate::races::cell::digest;
use crate::races::span::bits;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// An integer type in memory of 8 to 64 bits; a signed type is sign-extended.
pub(crate) trait Cell: Copy {
    /// # Safety
    /// The pointer is valid for this type and aligned for it.
    unsafe fn get(pointer: *mut u8) -> u64;
    /// # Safety
    /// The pointer is valid for this type and aligned for it.
    unsafe fn set(pointer: *mut u8, value: u64);
}

macro_rules! cells {
    ($($ty:ty, $unsigned:ty, $atomic:ty;)*) => {$(
        impl Cell for $ty {
            #[inline(always)]
            unsafe fn get(pointer: *mut u8) -> u64 {
                // SAFETY: this function's contract; other threads use atomic operations too.
                unsafe { <$atomic>::from_ptr(pointer.cast()) }.load(Ordering::Relaxed) as $ty as i64 as u64
            }
            #[inline(always)]
            unsafe fn set(pointer: *mut u8, value: u64) {
                // SAFETY: as above.
                unsafe { <$atomic>::from_ptr(pointer.cast()) }.store(value as $unsigned, Ordering::Relaxed);
            }
        }
    )*};
}
cells! {
    u8, u8, AtomicU8;
    i8, u8, AtomicU8;
    u16, u16, AtomicU16;
    i16, u16, AtomicU16;
    u32, u32, AtomicU32;
    i32, u32, AtomicU32;
    u64, u64, AtomicU64;
}

/// A slot of a register: 32 or 64 bits.
pub(crate) trait Slot: Copy {
    fn of(value: u64) -> Self;
    fn value(self) -> u64;
}

impl Slot for u32 {
    #[inline(always)]
    fn of(value: u64) -> u32 {
        value as u32
    }
    #[inline(always)]
    fn value(self) -> u64 {
        u64::from(self)
    }
}

impl Slot for u64 {
    #[inline(always)]
    fn of(value: u64) -> u64 {
        value
    }
    #[inline(always)]
    fn value(self) -> u64 {
        self
    }
}

/// A digest of each lane's value in memory.
///
/// # Safety
/// `source` is a register with slots of this type.
#[inline(always)]
pub(super) unsafe fn digests<M, S: Slot>(source: *const S) -> [u32; 32] {
    // SAFETY: this function's contract.
    let slots = unsafe { source.cast::<[S; 32]>().read() };
    let mut digests = [0; 32];
    for (place, slot) in digests.iter_mut().zip(slots) {
        *place = digest(slot.value() & (u64::MAX >> (64 - 8 * size_of::<M>())));
    }
    digests
}

impl Machine<'_> {
    /// Sets a register to one value, in the lanes that may be written.
    ///
    /// # Safety
    /// As for [`Machine::slots`].
    #[inline(always)]
    pub(super) unsafe fn broadcast<S: Copy>(&mut self, operand: u32, value: S) {
        // SAFETY: this function's contract.
        unsafe {
            let target = self.slots::<S>(operand);
            if self.write == u32::MAX {
                target.cast::<[S; 32]>().write([value; 32]);
            } else {
                for lane in (0..32).filter(|lane| self.mask >> lane & 1 == 1) {
                    target.add(lane).write(value);
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn load_body<M: Cell, S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: the resolver checked the widths; `locate` returned valid pointers for the lanes of the mask.
    unsafe {
        if direct::load::<M, S>(machine, instruction) {
            return Flow::Next;
        }
        machine.complete_address(instruction);
        if machine.locate(instruction, size_of::<M>() as u32, false) == Flow::Stop {
            return Flow::Stop;
        }
        if machine.races.on && !machine.only_reads(instruction) {
            machine.watch_read(instruction, size_of::<M>() as u32);
        }
        machine.note_read::<M>(instruction, 1);
        if machine.pattern == Pattern::Same {
            let value = S::of(M::get(machine.pointers[0]));
            machine.broadcast(instruction.d, value);
            return match machine.undefined {
                None => Flow::Next,
                Some(_) => machine.follow_load::<M, S>(instruction.d, 0),
            };
        }
        let target = machine.slots::<S>(instruction.d);
        if machine.mask == u32::MAX {
            for lane in 0..32 {
                target.add(lane).write(S::of(M::get(machine.pointers[lane])));
            }
        } else {
            let mut rest = machine.mask;
            while rest != 0 {
                let lane = rest.trailing_zeros() as usize;
                target.add(lane).write(S::of(M::get(machine.pointers[lane])));
                rest &= rest - 1;
            }
        }
        if machine.undefined.is_some() {
            return machine.follow_load::<M, S>(instruction.d, 0);
        }
    }
    Flow::Next
}

#[inline(always)]
unsafe fn store_body<M: Cell, S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: as above.
    unsafe {
        if direct::store::<M, S>(machine, instruction) {
            return Flow::Next;
        }
        machine.complete_address(instruction);
        if machine.locate(instruction, size_of::<M>() as u32, true) == Flow::Stop {
            return Flow::Stop;
        }
        let source = machine.slots::<S>(instruction.b);
        if machine.races.on {
            machine.watch_write(instruction, size_of::<M>() as u32, 0, &digests::<M, S>(source));
        }
        if machine.polls.live {
            compare_stored::<M, S>(machine, source);
        }
        if machine.undefined.is_some() {
            machine.follow_store::<M, S>(&[instruction.b]);
        }
        if machine.mask == u32::MAX {
            for lane in 0..32 {
                M::set(machine.pointers[lane], source.add(lane).read().value());
            }
        } else {
            let mut rest = machine.mask;
            while rest != 0 {
                let lane = rest.trailing_zeros() as usize;
                M::set(machine.pointers[lane], source.add(lane).read().value());
                rest &= rest - 1;
            }
        }
    }
    Flow::Next
}

/// Compares what the lanes store with the memory.
///
/// # Safety
/// The pointers of the lanes are valid, and `source` is a register with slots of this type.
#[cold]
unsafe fn compare_stored<M: Cell, S: Slot>(machine: &mut Machine<'_>, source: *const S) {
    let (mut changed, mut digest) = (false, 0_u64);
    for lane in bits(machine.mask).map(|lane| lane as usize) {
        // SAFETY: this function's contract.
        let (old, new) = unsafe { (M::get(machine.pointers[lane]), source.add(lane).read().value()) };
        changed |= (old ^ new) & (u64::MAX >> (64 - 8 * size_of::<M>())) != 0;
        digest = digest.rotate_left(5) ^ old ^ machine.addresses[lane];
    }
    machine.note_store(changed, digest);
}

#[inline(always)]
unsafe fn load_vector_body<M: Cell, S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let (count, bytes) = (elements(instruction.c), size_of::<M>() as u32);
    let used = count - unused_elements(instruction.c);
    // SAFETY: as above; there is one further operand for each element. The pointers are valid for the used elements.
    unsafe {
        machine.unused = (count - used) * bytes;
        let flow = machine.locate(instruction, bytes * count, false);
        machine.unused = 0;
        if flow == Flow::Stop {
            return Flow::Stop;
        }
        if machine.races.on && used > 0 && !machine.only_reads(instruction) {
            machine.watch_read(instruction, bytes * used);
        }
        machine.note_read::<M>(instruction, used);
        for index in 0..used {
            let operand = machine.extra(instruction, index as usize);
            if operand == LEFT_OUT {
                continue;
            }
            if machine.pattern == Pattern::Same {
                let value = S::of(M::get(machine.pointers[0].add((index * bytes) as usize)));
                machine.broadcast(operand, value);
                continue;
            }
            let target = machine.slots::<S>(operand);
            let mut rest = machine.mask;
            while rest != 0 {
                let lane = rest.trailing_zeros() as usize;
                let pointer = machine.pointers[lane].add(machine.element(lane, index * bytes));
                target.add(lane).write(S::of(M::get(pointer)));
                rest &= rest - 1;
            }
        }
        if machine.undefined.is_some() {
            let mut flow = Flow::Next;
            for index in 0..used {
                let operand = machine.extra(instruction, index as usize);
                if operand != LEFT_OUT {
                    flow = machine.follow_load::<M, S>(operand, index);
                }
            }
            return flow;
        }
    }
    Flow::Next
}

#[inline(always)]
unsafe fn store_vector_body<M: Cell, S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let (count, bytes) = (elements(instruction.c), size_of::<M>() as u32);
    // SAFETY: as above.
    unsafe {
        if machine.locate(instruction, bytes * count, true) == Flow::Stop {
            return Flow::Stop;
        }
        if machine.undefined.is_some() {
            let sources: Vec<u32> = (0..count).map(|index| machine.extra(instruction, index as usize)).collect();
            machine.follow_store::<M, S>(&sources);
        }
        for index in 0..count {
            let source = machine.slots::<S>(machine.extra(instruction, index as usize));
            if machine.races.on {
                machine.watch_write(instruction, bytes, index * bytes, &digests::<M, S>(source));
            }
            let mut rest = machine.mask;
            while rest != 0 {
                let lane = rest.trailing_zeros() as usize;
                let pointer = machine.pointers[lane].add(machine.element(lane, index * bytes));
                M::set(pointer, source.add(lane).read().value());
                rest &= rest - 1;
            }
        }
    }
    Flow::Next
}

/// Loads a kernel's parameter, which is equal in all lanes.
#[inline(always)]
unsafe fn parameter_body<M: Cell, S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: the resolver checked that the parameter lies within the kernel's parameters, and the launch checked that
    // the parameters are complete. They are sufficiently aligned. The lanes of `write` may be written.
    unsafe {
        let value =
            S::of(M::get(machine.launch.parameters.as_ptr().cast::<u8>().add(instruction.imm as usize).cast_mut()));
        machine.set_uniform(instruction, value);
    }
    Flow::Next
}

versions! {
    /// `ld` of one element: `d = [a + imm]`, with the mode `c`.
    fn load<M: Cell, S: Slot>() = load_body;
}
versions! {
    /// `st` of one element: `[a + imm] = b`, with the mode `c`.
    fn store<M: Cell, S: Slot>() = store_body;
}
versions! {
    /// `ld.v2` and wider: the further operands are the targets.
    fn load_vector<M: Cell, S: Slot>() = load_vector_body;
}
versions! {
    /// `st.v2` and wider: the further operands are the sources.
    fn store_vector<M: Cell, S: Slot>() = store_vector_body;
}
versions! {
    /// `ld.param` of a kernel's parameter at the offset `imm`.
    fn load_parameter<M: Cell, S: Slot>() = parameter_body;
}

/// The address of a variable of the function: `d` is `imm` bytes after the start of the frame's local memory.
pub(crate) unsafe fn local_address<S: Slot>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let address = S::of(u64::from(machine.local_base) + instruction.imm as u64);
    // SAFETY: `d` is a register of this width.
    unsafe {
        let target = machine.slots::<S>(instruction.d);
        for lane in (0..32).filter(|lane| machine.write >> lane & 1 == 1) {
            target.add(lane).write(address);
        }
    }
    Flow::Next
}
