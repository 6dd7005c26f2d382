//! Atomic operations and reductions.
//!
//! Lanes execute in order. Each operation on global memory is one atomic exchange of a host word, so blocks on other cores never see a
//! partial update. No other core accesses the shared memory of a block.

use super::access_mode::{COMPARES, SHARED, UPDATES, space};
use super::lanes::Lane;
use super::pattern::Pattern;
use super::program::LEFT_OUT;
use super::{Flow, Machine};
use crate::machine::program::{Exec, Instruction};
use crate::races::span::bits;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

/// A word of memory that is updated atomically.
pub(crate) trait Word: Copy + PartialEq + Into<u64> {
    /// The size in bytes.
    const SIZE: u32;
    /// Replaces the word with the result of `f`, and returns the old word.
    ///
    /// # Safety
    /// The pointer is valid for the word and aligned for it.
    unsafe fn update(pointer: *mut u8, f: impl FnMut(Self) -> Self) -> Self;
    /// As [`Word::update`], of a word that no other core accesses.
    ///
    /// # Safety
    /// As for [`Word::update`].
    unsafe fn update_alone(pointer: *mut u8, f: impl FnMut(Self) -> Self) -> Self;
}

macro_rules! words {
    ($($ty:ty, $atomic:ty;)*) => {$(
        impl Word for $ty {
            const SIZE: u32 = size_of::<$ty>() as u32;
            unsafe fn update(pointer: *mut u8, mut f: impl FnMut($ty) -> $ty) -> $ty {
                // SAFETY: this function's contract.
                let word = unsafe { <$atomic>::from_ptr(pointer.cast()) };
                let mut old = word.load(Ordering::SeqCst);
                loop {
                    match word.compare_exchange_weak(old, f(old), Ordering::SeqCst, Ordering::SeqCst) {
                        Ok(old) => return old,
                        Err(now) => old = now,
                    }
                }
            }
            #[inline(always)]
            unsafe fn update_alone(pointer: *mut u8, mut f: impl FnMut($ty) -> $ty) -> $ty {
                // SAFETY: this function's contract.
                let word = unsafe { <$atomic>::from_ptr(pointer.cast()) };
                let old = word.load(Ordering::Relaxed);
                word.store(f(old), Ordering::Relaxed);
                old
            }
        }
    )*};
}
words! {
    u16, AtomicU16;
    u32, AtomicU32;
    u64, AtomicU64;
}

/// The conversion between a type and its word in memory.
pub(crate) trait Stored: Lane {
    type Word: Word;
    fn of(word: Self::Word) -> Self;
    fn word(self) -> Self::Word;
}

macro_rules! stored {
    ($($ty:ty, $word:ty, $value:ident => $of:expr, $into:expr;)*) => {$(
        impl Stored for $ty {
            type Word = $word;
            fn of($value: $word) -> $ty { $of }
            fn word(self) -> $word { let $value = self; $into }
        }
    )*};
}
stored! {
    u16, u16, value => value, value;
    u32, u32, value => value, value;
    i32, u32, value => value as i32, value as u32;
    u64, u64, value => value, value;
    i64, u64, value => value as i64, value as u64;
    f32, u32, value => f32::from_bits(value), value.to_bits();
    f64, u64, value => f64::from_bits(value), value.to_bits();
}

/// `d = [a + imm]`, and the memory becomes `f(old, b, further operand)`. The mode `c` selects the address space. `d`
/// may be left out.
unsafe fn body<T: Stored, F: Fn(T, T, T) -> T + Copy>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    const { assert!(size_of::<F>() == 0, "an operation captures nothing") };
    // SAFETY: F has no size, and `atomic` received a value of it; see `lanes::operation`.
    let f: F = unsafe { std::ptr::NonNull::<F>::dangling().as_ptr().read() };
    // SAFETY: the resolver checked the widths; `locate` returned valid pointers.
    unsafe {
        if machine.locate_atomic(instruction, T::Word::SIZE) == Flow::Stop {
            return Flow::Stop;
        }
        let other = machine.extra(instruction, 0);
        let (b, c) = (
            machine.slots::<T::Slot>(instruction.b),
            machine.slots::<T::Slot>(if other == LEFT_OUT { instruction.b } else { other }),
        );
        // The old and the new words. An exchange that fails is computed again.
        let first = T::read(b.read()).word();
        let mut words = [(first, first); 32];
        let mut computed = |old: T::Word, lane: usize| {
            let (b, c) = (T::read(b.add(lane).read()), T::read(c.add(lane).read()));
            let new = f(T::of(old), b, c).word();
            words[lane] = (old, new);
            new
        };
        let lanes = bits(machine.mask).map(|lane| lane as usize);
        // All blocks of a cluster run on one core.
        let alone = space(instruction.c) == SHARED;
        if machine.pattern == Pattern::Same && !alone {
            // The word is exchanged once, with the results of all lanes in their order.
            let pointer = machine.pointers[Machine::first(machine.mask) as usize];
            T::Word::update(pointer, |old| lanes.clone().fold(old, &mut computed));
        } else {
            for lane in lanes.clone() {
                let (pointer, f) = (machine.pointers[lane], |old| computed(old, lane));
                if alone {
                    T::Word::update_alone(pointer, f)
                } else {
                    T::Word::update(pointer, f)
                };
            }
        }
        let (mut kept, mut changed, mut digest) = (0, false, 0_u64);
        for lane in lanes {
            let (old, new) = words[lane];
            changed |= new != old;
            digest = digest.rotate_left(5) ^ old.into();
            let compared = instruction.c & COMPARES != 0 && old != T::read(b.add(lane).read()).word();
            kept |= u32::from(compared) << lane;
            if instruction.d != LEFT_OUT {
                machine.slots::<T::Slot>(instruction.d).add(lane).write(T::of(old).write());
            }
        }
        if machine.races.on {
            machine.watch_atomic(instruction, (T::Word::SIZE, 1), instruction.d != LEFT_OUT, kept);
        }
        machine.note_operation((instruction.c, T::Word::SIZE), digest, changed, instruction.d != LEFT_OUT);
        if machine.undefined.is_some() {
            let updates = instruction.c & UPDATES != 0;
            return machine.follow_atomic::<T::Slot>(instruction, (T::Word::SIZE, other), updates);
        }
    }
    Flow::Next
}

/// `atom` and `red`: an operation of the old value, the operand and, for `cas`, the second operand.
pub(crate) fn atomic<T: Stored, F: Fn(T, T, T) -> T + Copy + 'static>(_: F) -> Exec {
    body::<T, F>
}
