//! A value that is linear in the bits of the lane number, and its arithmetic.

use crate::machine::memory::Slot;

/// The bits of a lane's number.
const BITS: usize = 5;
/// The lanes that differ in the lowest three bits, and the groups of such lanes.
const GROUP: usize = 8;
const GROUPS: usize = 32 / GROUP;

/// A base, and a step for each bit of the lane's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Linear {
    pub(super) base: u64,
    pub(super) steps: [u64; BITS],
}

impl Linear {
    #[inline(always)]
    pub(super) fn uniform(base: u64) -> Linear {
        Linear { base, steps: [0; BITS] }
    }

    /// Reads a value word by word.
    ///
    /// # Safety
    /// The pointer is valid for reads.
    #[inline(always)]
    pub(super) unsafe fn read(from: *const Linear) -> Linear {
        // SAFETY: this function's contract. Wider reads of words that were just written one by one would wait for the cache, so the
        // compiler must not join these.
        unsafe {
            let steps = (&raw const (*from).steps).cast::<u64>();
            let word = |bit: usize| steps.add(bit).read_volatile();
            Linear {
                base: (&raw const (*from).base).read_volatile(),
                steps: [word(0), word(1), word(2), word(3), word(4)],
            }
        }
    }

    #[inline(always)]
    pub(super) fn is_uniform(&self) -> bool {
        // A comparison of arrays would be a call.
        let [a, b, c, d, e] = self.steps;
        a | b | c | d | e == 0
    }

    /// Applies a function to the base and to each step.
    #[inline(always)]
    pub(super) fn each(self, f: impl Fn(u64) -> u64) -> Linear {
        let [a, b, c, d, e] = self.steps;
        Linear { base: f(self.base), steps: [f(a), f(b), f(c), f(d), f(e)] }
    }

    #[inline(always)]
    pub(super) fn plus(self, other: Linear) -> Linear {
        let mut sum = self;
        sum.base = sum.base.wrapping_add(other.base);
        for bit in 0..BITS {
            sum.steps[bit] = sum.steps[bit].wrapping_add(other.steps[bit]);
        }
        sum
    }

    #[inline(always)]
    pub(super) fn scaled(self, by: u64) -> Linear {
        self.each(|word| word.wrapping_mul(by))
    }

    #[inline(always)]
    pub(super) fn times(self, other: Linear) -> Option<Linear> {
        if other.is_uniform() {
            Some(self.scaled(other.base))
        } else if self.is_uniform() {
            Some(other.scaled(self.base))
        } else {
            None
        }
    }

    /// The least and the greatest value of a lane, as signed integers; `None` if a lane leaves the range of the type.
    #[inline(always)]
    pub(super) fn signed_bounds<S: Slot>(&self) -> Option<(i64, i64)> {
        let wide = size_of::<S>() == 8;
        let base = if wide { self.base as i64 } else { i64::from(self.base as i32) };
        let (mut low, mut high) = (base, base);
        for step in self.signed_steps::<S>() {
            low = low.checked_add(step.min(0))?;
            high = high.checked_add(step.max(0))?;
        }
        let fits = wide || i64::from(i32::MIN) <= low && high <= i64::from(i32::MAX);
        fits.then_some((low, high))
    }

    /// As [`Linear::signed_bounds`], as unsigned integers.
    #[inline(always)]
    pub(super) fn unsigned_bounds<S: Slot>(&self) -> Option<(u64, u64)> {
        let wide = size_of::<S>() == 8;
        let base = if wide { self.base } else { u64::from(self.base as u32) };
        let (mut low, mut high) = (base, base);
        for step in self.signed_steps::<S>() {
            low = low.checked_add_signed(step.min(0))?;
            high = high.checked_add_signed(step.max(0))?;
        }
        (wide || high <= u64::from(u32::MAX)).then_some((low, high))
    }

    #[inline(always)]
    fn signed_steps<S: Slot>(&self) -> [i64; BITS] {
        let signed = |step: u64| if size_of::<S>() == 8 { step as i64 } else { i64::from(step as i32) };
        let [a, b, c, d, e] = self.steps;
        [signed(a), signed(b), signed(c), signed(d), signed(e)]
    }

    /// Extends numbers of 32 bits to 64 bits.
    #[inline(always)]
    pub(super) fn extended(self, signed: bool) -> Option<Linear> {
        let base = if signed {
            self.signed_bounds::<u32>()?;
            self.base as i32 as u64
        } else {
            self.unsigned_bounds::<u32>()?;
            u64::from(self.base as u32)
        };
        Some(Linear { base, ..self.each(|step| step as i32 as u64) })
    }

    #[inline(always)]
    pub(super) fn shifted_left<S: Slot>(self, by: Linear) -> Option<Linear> {
        if !by.is_uniform() {
            return None;
        }
        let factor = if by.base < 8 * size_of::<S>() as u64 { 1 << by.base } else { 0 };
        Some(self.scaled(factor))
    }

    #[inline(always)]
    pub(super) fn shifted_right<S: Slot>(self, by: Linear, signed: bool) -> Option<Linear> {
        if !by.is_uniform() {
            return None;
        }
        let bits = 8 * size_of::<S>() as u64;
        // A shift by the width or more leaves the sign, or nothing.
        let by = if signed { by.base.min(bits - 1) } else { by.base };
        if by >= bits {
            return Some(Linear::uniform(0));
        }
        let (low, high) = if signed {
            let (low, high) = self.signed_bounds::<S>()?;
            ((low >> by) as u64, (high >> by) as u64)
        } else {
            let (low, high) = self.unsigned_bounds::<S>()?;
            (low >> by, high >> by)
        };
        if low == high {
            return Some(Linear::uniform(low));
        }
        let all = self.steps.iter().fold(self.base, |all, step| all | step);
        (u64::from(all.trailing_zeros()) >= by).then(|| {
            let divided = |word: u64| (if size_of::<S>() == 8 { word as i64 } else { word as i32 as i64 } >> by) as u64;
            let base = if signed { divided(self.base) } else { self.base >> by };
            Linear { base, ..self.each(divided) }
        })
    }

    #[inline(always)]
    pub(super) fn both_uniform(self, other: Linear, f: impl Fn(u64, u64) -> u64) -> Option<Linear> {
        (self.is_uniform() && other.is_uniform()).then(|| Linear::uniform(f(self.base, other.base)))
    }

    #[inline(always)]
    pub(super) fn and<S: Slot>(self, other: Linear) -> Option<Linear> {
        let (value, mask) = match (self.is_uniform(), other.is_uniform()) {
            (_, true) => (self, other.base),
            (true, false) => (other, self.base),
            (false, false) => return None,
        };
        if value.is_uniform() || mask == 0 {
            return Some(Linear::uniform(value.base & mask));
        }
        let (low, high) = value.unsigned_bounds::<S>()?;
        let ones = S::of(u64::MAX).value();
        if (mask | mask.wrapping_sub(1)) & ones == ones {
            // The highest bits are equal in all lanes if those of the bounds are.
            return (low & mask == high & mask).then(|| Linear::uniform(low & mask));
        }
        (mask & mask.wrapping_add(1) == 0 && high <= mask).then_some(value)
    }

    /// The value that these lanes have, if it is linear.
    pub(super) fn of(values: &[u64; 32]) -> Option<Linear> {
        let steps = std::array::from_fn(|bit| values[1 << bit].wrapping_sub(values[0]));
        let linear = Linear { base: values[0], steps };
        (linear.row::<u64>() == *values).then_some(linear)
    }

    #[inline(always)]
    pub(super) fn row<S: Slot>(&self) -> [S; 32] {
        let [a, b, c, d, e] = self.steps;
        let mut near = [self.base; GROUP];
        for (lane, value) in near.iter_mut().enumerate() {
            let step = |bit: usize, step: u64| if lane >> bit & 1 == 1 { step } else { 0 };
            *value = value.wrapping_add(step(0, a)).wrapping_add(step(1, b)).wrapping_add(step(2, c));
        }
        let far = [0, d, e, d.wrapping_add(e)];
        let mut row = [S::of(0); 32];
        for group in 0..GROUPS {
            for lane in 0..GROUP {
                row[group * GROUP + lane] = S::of(near[lane].wrapping_add(far[group]));
            }
        }
        row
    }

    /// The first address of each group, and as bits whether the group's addresses are consecutive. `None` if the addresses of a
    /// group are neither consecutive nor equal.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(in crate::machine) fn groups(&self, size: u64) -> Option<([u64; GROUPS], u32)> {
        let [a, b, c, d, e] = self.steps;
        let rows = if a | b | c == 0 {
            0
        } else if (a, b, c) == (size, 2 * size, 4 * size) {
            (1 << GROUPS) - 1
        } else {
            return None;
        };
        let second = self.base.wrapping_add(d);
        Some(([self.base, second, self.base.wrapping_add(e), second.wrapping_add(e)], rows))
    }
}
