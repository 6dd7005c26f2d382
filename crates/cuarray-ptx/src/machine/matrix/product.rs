//! `mma`: the product of two matrices, added to accumulators.
//!
//! PTX manual:
//! [mma](https://docs.nvidia.com/cuda/parallel-thread-execution/#warp-level-matrix-instructions-mma). Register `r` of `B`
//! holds, in each lane, neighbouring elements of column `lane / 4`. Together the lanes hold a *slab* of rows of `B`. The
//! registers of `A` for a slab hold the columns of the same numbers, eight rows in each.
//!
//! The manual leaves the order and precision of the accumulation open. Here products of floating-point numbers are exact,
//! sums are in `f64`, and the result is rounded once, to nearest even. Products of `f64` are fused multiply-adds in the
//! order of `k`.

use super::super::lanes::versions;
use super::super::{Flow, Machine};
use super::element::{Element, floats, integers};
use super::fragment::{Sum, Tile};
use crate::float::{F64, Rounding, fma};
use crate::machine::program::{Exec, Instruction};

/// The form of a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Form {
    pub a: Element,
    pub b: Element,
    pub c: Sum,
    pub d: Sum,
    /// 8 or 16 rows of `A`.
    pub rows: u32,
    /// The number of registers of `B`.
    pub slabs: u32,
    pub saturates: bool,
    /// Bits are combined with `and`, not with `xor`.
    pub conjunction: bool,
    /// The rounding mode of `f64`: near, zero, down, up.
    pub rounding: u32,
}

impl Form {
    pub(crate) fn code(self) -> i64 {
        let flags = i64::from(self.saturates) | i64::from(self.conjunction) << 1 | i64::from(self.rounding) << 2;
        let elements = self.a as i64 | (self.b as i64) << 4 | (self.c as i64) << 8 | (self.d as i64) << 12;
        elements | i64::from(self.rows) << 16 | i64::from(self.slabs) << 24 | flags << 32
    }

    pub(super) fn of(code: i64) -> Form {
        let part = |at: u32, bits: u32| (code >> at) as u32 & ((1 << bits) - 1);
        Form {
            a: Element::ALL[part(0, 4) as usize],
            b: Element::ALL[part(4, 4) as usize],
            c: Sum::ALL[part(8, 4) as usize],
            d: Sum::ALL[part(12, 4) as usize],
            rows: part(16, 8),
            slabs: part(24, 8),
            saturates: part(32, 1) == 1,
            conjunction: part(33, 1) == 1,
            rounding: part(34, 2),
        }
    }

    /// The number of registers with accumulators of a format.
    pub(crate) fn sums(self, format: Sum) -> usize {
        (self.rows / 8 * if format == Sum::F16 { 1 } else { 2 }) as usize
    }
}

/// The registers of a product.
struct Registers<'p> {
    d: &'p [u32],
    c: &'p [u32],
    a: &'p [u32],
    b: &'p [u32],
    members: u32,
}

impl<'p> Registers<'p> {
    #[inline(always)]
    fn of(machine: &Machine<'p>, instruction: &Instruction, form: Form) -> Registers<'p> {
        let operands = &machine.program.operands[instruction.extra as usize..];
        let (d, rest) = operands.split_at(form.sums(form.d));
        let (c, rest) = rest.split_at(form.sums(form.c));
        let (a, rest) = rest.split_at((form.slabs * form.rows / 8) as usize);
        let (b, rest) = rest.split_at(form.slabs as usize);
        Registers { d, c, a, b, members: rest[0] }
    }
}

/// Adds the products of `depth` columns of `A` and rows of `B`.
#[inline(always)]
fn accumulate<T: Copy, S: Copy, const DEPTH: usize>(
    sums: &mut Tile<S>,
    a: &[[T; DEPTH]; 16],
    b: &[[T; 8]; DEPTH],
    (rows, depth): (usize, usize),
    f: impl Fn(T, T, S) -> S,
) {
    for (sums, a) in sums.iter_mut().zip(a).take(rows) {
        let mut sum = *sums;
        for (a, b) in a.iter().zip(b).take(depth) {
            for column in 0..8 {
                sum[column] = f(*a, b[column], sum[column]);
            }
        }
        *sums = sum;
    }
}

/// Reads the slabs of a product, and calls `$accumulate` for each with `$a`, `$b` and the depth of the slab. `$decode`
/// turns a slot into up to eight values.
macro_rules! slabs {
    ($machine:ident, $form:ident, $registers:ident, $slot:ty, $value:ty, $depth:literal, $decode:expr,
     |$a:ident, $b:ident, $count:ident| $accumulate:expr) => {{
        let decode = $decode;
        let mut values: [$value; 8] = Default::default();
        let mut $a = [<[$value; $depth]>::from([Default::default(); $depth]); 16];
        let mut $b = [<[$value; 8]>::default(); $depth];
        let blocks = $form.rows as usize / 8;
        for (slab, b) in $registers.b.iter().enumerate() {
            let mut each = 0;
            for lane in 0..32 {
                each = decode($form.b, $machine.slots::<$slot>(*b).add(lane).read(), &mut values);
                for (index, value) in values.iter().take(each).enumerate() {
                    $b[(lane % 4 * each + index) % $depth][lane / 4] = *value;
                }
            }
            for (block, a) in $registers.a[slab * blocks..][..blocks].iter().enumerate() {
                for lane in 0..32 {
                    let count = decode($form.a, $machine.slots::<$slot>(*a).add(lane).read(), &mut values);
                    for (index, value) in values.iter().take(count).enumerate() {
                        $a[(lane / 4 + block * 8) & 15][(lane % 4 * count + index) % $depth] = *value;
                    }
                }
            }
            let $count = each * 4;
            $accumulate
        }
    }};
}

#[inline(always)]
unsafe fn floating_body(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let form = Form::of(instruction.imm);
    let registers = Registers::of(machine, instruction, form);
    // SAFETY: the resolver checked the number and the widths of the operands.
    unsafe {
        if !machine.whole_warp(registers.members, true) {
            return Flow::Stop;
        }
        let rows = form.rows as usize;
        let mut sums = machine.floating_tile(registers.c, form.c, rows);
        slabs!(machine, form, registers, u32, f64, 16, floats, |a, b, depth| {
            accumulate(&mut sums, &a, &b, (rows, depth), |a, b, sum| sum + a * b);
        });
        machine.set_floating_tile(registers.d, form.d, &sums);
    }
    Flow::Next
}

#[inline(always)]
unsafe fn double_body(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let form = Form::of(instruction.imm);
    let registers = Registers::of(machine, instruction, form);
    let rounding = [Rounding::Near, Rounding::Zero, Rounding::Down, Rounding::Up][form.rounding as usize];
    // SAFETY: as above.
    unsafe {
        if !machine.whole_warp(registers.members, true) {
            return Flow::Stop;
        }
        let rows = form.rows as usize;
        let mut sums = machine.floating_tile(registers.c, form.c, rows);
        let decode = |_: Element, bits: u64, into: &mut [f64; 8]| {
            into[0] = f64::from_bits(bits);
            1
        };
        slabs!(machine, form, registers, u64, f64, 4, decode, |a, b, depth| {
            accumulate(&mut sums, &a, &b, (rows, depth), |a: f64, b: f64, sum: f64| match rounding {
                Rounding::Near => a.mul_add(b, sum),
                _ => f64::from_bits(fma(F64, a.to_bits(), b.to_bits(), sum.to_bits(), rounding)),
            });
        });
        machine.set_floating_tile(registers.d, form.d, &sums);
    }
    Flow::Next
}

#[inline(always)]
unsafe fn integer_body(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let form = Form::of(instruction.imm);
    let registers = Registers::of(machine, instruction, form);
    // SAFETY: as above.
    unsafe {
        if !machine.whole_warp(registers.members, true) {
            return Flow::Stop;
        }
        // The sum of products without the accumulator fits.
        let mut sums: Tile<i32> = [[0; 8]; 16];
        slabs!(machine, form, registers, u32, i32, 32, integers, |a, b, depth| {
            accumulate(&mut sums, &a, &b, (form.rows as usize, depth), |a, b, sum| sum + a * b);
        });
        machine.set_integer_tile(registers.d, registers.c, &sums, form.saturates);
    }
    Flow::Next
}

#[inline(always)]
unsafe fn bits_body(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let form = Form::of(instruction.imm);
    let registers = Registers::of(machine, instruction, form);
    // SAFETY: as above.
    unsafe {
        if !machine.whole_warp(registers.members, true) {
            return Flow::Stop;
        }
        let mut sums: Tile<i32> = [[0; 8]; 16];
        let decode = |_: Element, word: u32, into: &mut [u32; 8]| {
            into[0] = word;
            1
        };
        slabs!(machine, form, registers, u32, u32, 4, decode, |a, b, depth| {
            accumulate(&mut sums, &a, &b, (form.rows as usize, depth), |a: u32, b: u32, sum: i32| {
                sum + (if form.conjunction { a & b } else { a ^ b }).count_ones() as i32
            });
        });
        machine.set_integer_tile(registers.d, registers.c, &sums, form.saturates);
    }
    Flow::Next
}

versions! {
    /// `mma` of floating-point numbers of up to 16 bits, and of `tf32`. The further operands are the registers of `D`,
    /// `C`, `A` and `B`, and the mask of all lanes; `imm` is the [`Form`].
    fn floating<>() = floating_body;
}
versions! {
    /// `mma` of `f64`.
    fn double<>() = double_body;
}
versions! {
    /// `mma` of integers.
    fn integer<>() = integer_body;
}
versions! {
    /// `mma` of bits.
    fn bits<>() = bits_body;
}
