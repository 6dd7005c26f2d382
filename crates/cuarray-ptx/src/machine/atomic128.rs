//! Atomic operations on vectors, element by element, and on values of 128 bits.

use super::atomic::{Stored, Word};
use super::program::LEFT_OUT;
use super::{Flow, Machine};
use crate::machine::program::{Exec, Instruction};
use std::sync::atomic::{AtomicU64, Ordering};

/// Executes an atomic operation on each element of a vector. Operand `a` is the vector's address, `imm` the number of elements,
/// and `c` the address space. The extra operands are the offset, the targets and the sources of all elements.
unsafe fn vector_body<T: Stored, F: Fn(T, T) -> T + Copy>(
    machine: &mut Machine<'_>,
    instruction: &Instruction,
) -> Flow {
    const { assert!(size_of::<F>() == 0, "an operation captures nothing") };
    // SAFETY: F has no size, and `vector` received a value of it; see `lanes::operation`.
    let f: F = unsafe { std::ptr::NonNull::<F>::dangling().as_ptr().read() };
    let (count, size) = (instruction.imm as usize, T::Word::SIZE as usize);
    let address = Instruction { imm: i64::from(machine.extra(instruction, 0) as i32), ..*instruction };
    // SAFETY: the resolver checked the widths; `locate` returned pointers that are valid for the whole vector.
    unsafe {
        if machine.locate_atomic(&address, (size * count) as u32) == Flow::Stop {
            return Flow::Stop;
        }
        for lane in (0..32).filter(|lane| machine.mask >> lane & 1 == 1) {
            for index in 0..count {
                let source = machine.slots::<T::Slot>(machine.extra(instruction, 1 + count + index));
                let value = T::read(source.add(lane).read());
                let pointer = machine.pointers[lane].add(index * size);
                let old = T::Word::update(pointer, |old| f(T::of(old), value).word());
                let target = machine.extra(instruction, 1 + index);
                if target != LEFT_OUT {
                    machine.slots::<T::Slot>(target).add(lane).write(T::of(old).write());
                }
            }
        }
        if machine.races.on {
            let result = (0..count).any(|index| machine.extra(instruction, 1 + index) != LEFT_OUT);
            machine.watch_atomic(instruction, (size as u32, count as u32), result, 0);
        }
    }
    Flow::Next
}

/// `atom` and `red` of vectors.
pub(crate) fn vector<T: Stored, F: Fn(T, T) -> T + Copy + 'static>(_: F) -> Exec {
    vector_body::<T, F>
}

/// `atom.exch.b128` and, with a second source as further operand, `atom.cas.b128`. Kernels with these instructions
/// run in one host thread, so no other thread sees only one half written.
pub(crate) unsafe fn atomic128(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let other = machine.extra(instruction, 0);
    // SAFETY: the resolver checked the widths: registers of 128 bits are two rows of 64. `locate` returned valid
    // pointers.
    unsafe {
        if machine.locate_atomic(instruction, 16) == Flow::Stop {
            return Flow::Stop;
        }
        let mut kept = 0;
        for lane in (0..32).filter(|lane| machine.mask >> lane & 1 == 1) {
            let value = |operand: u32| [0, 32].map(|row| machine.slots::<u64>(operand).add(lane + row).read());
            let halves = [0, 8].map(|at| AtomicU64::from_ptr(machine.pointers[lane].add(at).cast()));
            let old = halves.map(|half| half.load(Ordering::SeqCst));
            let first = value(instruction.b);
            let new = match other {
                LEFT_OUT => Some(first),
                second => (first == old).then(|| value(second)),
            };
            kept |= u32::from(new.is_none()) << lane;
            for (half, new) in halves.iter().zip(new.into_iter().flatten()) {
                half.store(new, Ordering::SeqCst);
            }
            if instruction.d != LEFT_OUT {
                let target = machine.slots::<u64>(instruction.d);
                target.add(lane).write(old[0]);
                target.add(lane + 32).write(old[1]);
            }
        }
        if machine.races.on {
            machine.watch_atomic(instruction, (16, 1), instruction.d != LEFT_OUT, kept);
        }
    }
    Flow::Next
}
