//! Asynchronous copies into shared memory: `cp.async`.
//!
//! The manual lets a copy be done at any time until somebody waits for it; here it is done at once. So waiting has nothing left to
//! do, and a kernel that forgets to wait is not found out; nor is it looked for races with such copies.

use super::memory::{LEFT_OUT, SHARED_WINDOW};
use super::{Flow, Machine};
use crate::machine::program::Instruction;
use std::sync::atomic::{AtomicU8, Ordering};

/// `[b] = [a]`: so many bytes as `imm` says. Further operands: the offset of `a`; whether the address `b` has 64 bits; its offset; how many
/// bytes are read, and the predicate of lanes that read nothing, or left out. What is not read is zero.
pub(crate) unsafe fn copy(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let extra = |machine: &Machine<'_>, index| machine.extra(instruction, index);
    let (from, to) = (extra(machine, 0) as i32, extra(machine, 2) as i32);
    let (wide, count, ignored) = (extra(machine, 1) == 1, extra(machine, 3), extra(machine, 4));
    let size = instruction.imm as u64;
    // SAFETY: the resolver made the operands fit: `a` has 64 bits, `b` as many as was said, the count 32.
    let (sources, targets, counts, ignores) = unsafe {
        let sources = machine.slots::<[u64; 32]>(instruction.a).read();
        let targets = match wide {
            true => machine.slots::<[u64; 32]>(instruction.b).read(),
            false => machine.slots::<[u32; 32]>(instruction.b).read().map(u64::from),
        };
        let counts = (count != LEFT_OUT).then(|| machine.slots::<[u32; 32]>(count).read());
        let ignores = if ignored == LEFT_OUT { 0 } else { machine.predicate(ignored) };
        (sources, targets, counts, ignores)
    };
    let mask = machine.mask;
    for lane in (0..32_u32).filter(|lane| mask >> lane & 1 == 1) {
        let index = lane as usize;
        let source = sources[index].wrapping_add_signed(from.into());
        let target = targets[index].wrapping_add_signed(to.into());
        let read = counts.map_or(size, |counts| u64::from(counts[index]).min(size));
        let read = if ignores >> lane & 1 == 1 { 0 } else { read };
        let mut bytes = [0_u8; 16];
        if read > 0 {
            match machine.locate_lane(lane, source, read, size, false) {
                Ok(pointer) => {
                    for (at, byte) in bytes.iter_mut().enumerate().take(read as usize) {
                        // SAFETY: the pointer is good for what is read; other cores access it by atomic operations only, too.
                        *byte = unsafe { AtomicU8::from_ptr(pointer.add(at)) }.load(Ordering::Relaxed);
                    }
                }
                Err(kind) => return machine.fail(kind, lane, source, read as u32, false),
            }
        }
        // An address that is too great for shared memory must not become one of another space.
        let generic = if target >> 56 != 0 { u64::MAX } else { SHARED_WINDOW + target };
        match machine.locate_lane(lane, generic, size, size, true) {
            Ok(pointer) => {
                for (at, byte) in bytes.iter().enumerate().take(size as usize) {
                    // SAFETY: the pointer is good for `size` bytes of the block's shared memory.
                    unsafe { AtomicU8::from_ptr(pointer.add(at)) }.store(*byte, Ordering::Relaxed);
                }
            }
            Err(kind) => return machine.fail(kind, lane, target, size as u32, true),
        }
    }
    Flow::Next
}
