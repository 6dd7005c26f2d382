//! Instructions that each lane executes separately: arithmetic, conversions, comparisons and moves.
//!
//! [`map1`] to [`map3`] turn an operation on values into a function that applies it to 32 lanes. The function works on
//! pieces of registers, which the compiler turns into vector instructions. If some lanes do not take part, all lanes
//! are computed, and the results of the inactive ones are discarded. Registers of exited lanes may be overwritten, so a
//! warp without divergence takes the short path.
//!
//! Each function is compiled twice on x86-64: for any processor, and for AVX2 and FMA.

use super::{Flow, Machine};
use crate::machine::program::{Exec, Instruction};
use std::sync::atomic::{Ordering, compiler_fence};

/// The number of lanes in a piece.
const PIECE: usize = 8;

/// The lanes of a piece of an operation of many steps. The compiler does not unroll a loop over so many lanes, and vectorizes it.
const LONG: usize = 32;

/// A value in one lane of a register.
pub(crate) trait Lane: Copy {
    /// The type of the register's slot: 32 or 64 bits.
    type Slot: super::memory::Slot;
    fn read(slot: Self::Slot) -> Self;
    fn write(self) -> Self::Slot;
}

macro_rules! lanes {
    ($($ty:ty, $slot:ty, $value:ident => $read:expr, $write:expr;)*) => {$(
        impl Lane for $ty {
            type Slot = $slot;
            #[inline(always)]
            fn read($value: $slot) -> $ty { $read }
            #[inline(always)]
            fn write(self) -> $slot { let $value = self; $write }
        }
    )*};
}
lanes! {
    u8, u32, value => value as u8, u32::from(value);
    i8, u32, value => value as i8, value as i32 as u32;
    u16, u32, value => value as u16, u32::from(value);
    i16, u32, value => value as i16, u32::from(value as u16);
    u32, u32, value => value, value;
    i32, u32, value => value as i32, value as u32;
    u64, u64, value => value, value;
    i64, u64, value => value as i64, value as u64;
    f32, u32, value => f32::from_bits(value), value.to_bits();
    f64, u64, value => f64::from_bits(value), value.to_bits();
}

/// Returns the closure of type `F` with which a function of this module was instantiated.
///
/// The operations are closures without captures, so their type alone identifies them.
#[inline(always)]
pub(super) fn operation<F: Copy>() -> F {
    const { assert!(size_of::<F>() == 0, "an operation captures nothing") };
    // SAFETY: F has no size (checked above), and the constructors of this module received a value of it. A value
    // without a size may be read from any aligned non-null pointer.
    unsafe { std::ptr::NonNull::<F>::dangling().as_ptr().read() }
}

/// Defines `$name`, which returns the version of `$body` for this processor.
///
/// `inline` compiles each function beside its user. Otherwise, a change of one operation compiles all of them again.
macro_rules! versions {
    ($(#[$doc:meta])* fn $name:ident<$($generic:ident: $bound:path),*>($($operation:ident)?) = $body:ident;) => {
        $(#[$doc])*
        #[inline]
        pub(crate) fn $name<$($generic: $bound),*>($(_: $operation)?) -> Exec
        where $($operation: Copy + 'static,)? $($generic: 'static),* {
            #[inline]
            unsafe fn base<$($generic: $bound),*>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow
            where $($operation: Copy,)? {
                // SAFETY: this function's contract.
                unsafe { $body::<$($generic),*>(machine, instruction) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
            #[inline]
            unsafe fn wide<$($generic: $bound),*>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow
            where $($operation: Copy,)? {
                // SAFETY: this function's contract.
                unsafe { $body::<$($generic),*>(machine, instruction) }
            }
            #[cfg(target_arch = "x86_64")]
            if $crate::machine::processor::wide() {
                return wide::<$($generic),*>;
            }
            base::<$($generic),*>
        }
    };
}
pub(crate) use versions;

/// Computes a register in pieces: `$result` for each lane, from the sources' slots of that lane.
///
/// The compiler vectorizes these plain loops over arrays.
macro_rules! rows {
    ($machine:ident, $d:ident: $D:ty, $sources:tt, |$lane:ident| $result:expr) => {
        rows!(PIECE, $machine, $d: $D, $sources, |$lane| $result)
    };
    ($PIECE:ident, $machine:ident, $d:ident: $D:ty, [$($source:ident: $S:ty),*], |$lane:ident| $result:expr) => {{
        let (d, write) = ($machine.slots::<<$D as Lane>::Slot>($d), $machine.write);
        $(let $source = $machine.slots::<<$S as Lane>::Slot>($source);)*
        if write == u32::MAX {
            for at in (0..32).step_by($PIECE) {
                $(let $source = $source.add(at).cast::<[<$S as Lane>::Slot; $PIECE]>().read();)*
                let place = d.add(at).cast::<[<$D as Lane>::Slot; $PIECE]>();
                let mut results = place.read();
                for $lane in 0..$PIECE {
                    $(let $source = <$S as Lane>::read($source[$lane]);)*
                    let $lane = at + $lane;
                    results[$lane - at] = $result.write();
                }
                place.write(results);
                // Without this, the compiler vectorizes across pieces, with loads that straddle the stores before them.
                compiler_fence(Ordering::SeqCst);
            }
        } else {
            for at in (0..32).step_by($PIECE) {
                $(let $source = $source.add(at).cast::<[<$S as Lane>::Slot; $PIECE]>().read();)*
                let place = d.add(at).cast::<[<$D as Lane>::Slot; $PIECE]>();
                let mut results = place.read();
                for $lane in 0..$PIECE {
                    $(let $source = <$S as Lane>::read($source[$lane]);)*
                    let $lane = at + $lane;
                    let result = $result.write();
                    results[$lane - at] = if write >> $lane & 1 == 1 { result } else { results[$lane - at] };
                }
                place.write(results);
                compiler_fence(Ordering::SeqCst);
            }
        }
    }};
}

/// Defines functions that apply an operation to sources, in pieces of so many lanes.
macro_rules! bodies {
    ($($name:ident($PIECE:ident: $($source:ident: $S:ident),*);)*) => {$(
        #[inline(always)]
        unsafe fn $name<$($S: Lane,)* D: Lane, F: Fn($($S),*) -> D + Copy>(
            machine: &mut Machine<'_>,
            &Instruction { d, $($source,)* .. }: &Instruction,
        ) -> Flow {
            let f = operation::<F>();
            // SAFETY: the operands are registers or constants of these types, which the resolver checked. A register has 32
            // slots.
            unsafe { rows!($PIECE, machine, d: D, [$($source: $S),*], |lane| f($($source),*)) }
            Flow::Next
        }
    )*};
}
bodies! {
    body1(PIECE: a: A);
    body2(PIECE: a: A, b: B);
    body3(PIECE: a: A, b: B, c: C);
    body_long1(LONG: a: A);
    body_long3(LONG: a: A, b: B, c: C);
}

/// A function with code for numbers within bounds, and with other code for all numbers. `f(a, false)` also returns whether the number is within
/// the bounds, and `f(a, true)` uses the other code.
#[inline(always)]
unsafe fn body_bounded<A: Lane, D: Lane, F: Fn(A, bool) -> (D, bool) + Copy>(
    machine: &mut Machine<'_>,
    &Instruction { d, a, .. }: &Instruction,
) -> Flow {
    let f = operation::<F>();
    // SAFETY: as above.
    unsafe {
        let numbers = machine.slots::<A::Slot>(a);
        let within = (0..32).fold(true, |within, lane| within & f(A::read(numbers.add(lane).read()), false).1);
        match within {
            true => rows!(LONG, machine, d: D, [a: A], |lane| f(a, false).0),
            false => rows!(LONG, machine, d: D, [a: A], |lane| f(a, true).0),
        }
    }
    Flow::Next
}

#[inline(always)]
unsafe fn body_coded<A: Lane, B: Lane, C: Lane, D: Lane, F: Fn(A, B, C, i64) -> D + Copy>(
    machine: &mut Machine<'_>,
    &Instruction { d, a, b, c, imm, .. }: &Instruction,
) -> Flow {
    let f = operation::<F>();
    // SAFETY: as above.
    unsafe { rows!(machine, d: D, [a: A, b: B, c: C], |lane| f(a, b, c, imm)) }
    Flow::Next
}

/// The number of lanes whose comparisons become bits at once.
const FEW: usize = 4;

/// Collects the highest bits of words, the first in the lowest bit.
#[inline(always)]
fn bits(words: [u32; FEW]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_castsi128_ps, _mm_loadu_si128, _mm_movemask_ps};
        // SAFETY: every such processor has the instruction.
        (unsafe { _mm_movemask_ps(_mm_castsi128_ps(_mm_loadu_si128(words.as_ptr().cast()))) }) as u32
    }
    #[cfg(not(target_arch = "x86_64"))]
    (0..FEW).fold(0, |bits, lane| bits | words[lane] >> 31 << lane)
}

/// Sets a predicate to the lanes for which a comparison holds.
#[inline(always)]
unsafe fn body_compare<A: Lane, F: Fn(A, A) -> bool + Copy>(
    machine: &mut Machine<'_>,
    instruction: &Instruction,
) -> Flow {
    let f = operation::<F>();
    let mut holds = 0_u32;
    // SAFETY: as above; `d` is a predicate.
    unsafe {
        let (a, b) = (machine.slots::<A::Slot>(instruction.a), machine.slots::<A::Slot>(instruction.b));
        for at in (0..32).step_by(FEW) {
            let a = a.add(at).cast::<[A::Slot; FEW]>().read();
            let b = b.add(at).cast::<[A::Slot; FEW]>().read();
            let mut words = [0_u32; FEW];
            for lane in 0..FEW {
                words[lane] = u32::from(f(A::read(a[lane]), A::read(b[lane]))).wrapping_neg();
            }
            holds |= bits(words) << at;
        }
        machine.set_predicate(instruction.d, holds);
    }
    Flow::Next
}

/// `d = predicate c ? a : b`.
#[inline(always)]
unsafe fn body_select<T: Lane>(machine: &mut Machine<'_>, &Instruction { d, a, b, c, .. }: &Instruction) -> Flow {
    // SAFETY: as above; `c` is a predicate.
    unsafe {
        // Usually all lanes select the same side.
        match machine.predicate(c) {
            u32::MAX => rows!(machine, d: T, [a: T], |_lane| a),
            0 => rows!(machine, d: T, [b: T], |_lane| b),
            chosen => rows!(machine, d: T, [a: T, b: T], |lane| if chosen >> lane & 1 == 1 { a } else { b }),
        }
    }
    Flow::Next
}

/// Computes a predicate from two; the operation is on masks.
#[inline(always)]
unsafe fn body_masks<F: Fn(u32, u32) -> u32 + Copy>(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let f = operation::<F>();
    // SAFETY: the operands are predicates.
    unsafe {
        let (a, b) = (machine.predicate(instruction.a), machine.predicate(instruction.b));
        machine.set_predicate(instruction.d, f(a, b));
    }
    Flow::Next
}

versions! {
    /// `d = f(a)`.
    fn map1<A: Lane, D: Lane, F: Fn(A) -> D>(F) = body1;
}
versions! {
    /// `d = f(a)`, in many steps.
    fn map_long1<A: Lane, D: Lane, F: Fn(A) -> D>(F) = body_long1;
}
versions! {
    /// `d = f(a, b, c)`, in many steps.
    fn map_long3<A: Lane, B: Lane, C: Lane, D: Lane, F: Fn(A, B, C) -> D>(F) = body_long3;
}
versions! {
    /// `d = f(a)`; see [`body_bounded`].
    fn map_bounded<A: Lane, D: Lane, F: Fn(A, bool) -> (D, bool)>(F) = body_bounded;
}
versions! {
    /// `d = f(a, b)`.
    fn map2<A: Lane, B: Lane, D: Lane, F: Fn(A, B) -> D>(F) = body2;
}
versions! {
    /// `d = f(a, b, c)`.
    fn map3<A: Lane, B: Lane, C: Lane, D: Lane, F: Fn(A, B, C) -> D>(F) = body3;
}
versions! {
    /// `d = f(a, b, c, imm)`.
    fn map_coded<A: Lane, B: Lane, C: Lane, D: Lane, F: Fn(A, B, C, i64) -> D>(F) = body_coded;
}
versions! {
    /// Sets the predicate `d` where `f(a, b)` holds.
    fn compare<A: Lane, F: Fn(A, A) -> bool>(F) = body_compare;
}
versions! {
    /// `d = c ? a : b`, where `c` is a predicate.
    fn select<T: Lane>() = body_select;
}
versions! {
    /// Sets the predicate `d` to `f` of the predicates `a` and `b`, as masks of lanes.
    fn masks<F: Fn(u32, u32) -> u32>(F) = body_masks;
}
