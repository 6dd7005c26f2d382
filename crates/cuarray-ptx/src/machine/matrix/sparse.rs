//! `mma.sp`: products with a sparse matrix `A`. Only half of its elements are stored.
//!
//! PTX manual: [sparse matrix
//! storage](https://docs.nvidia.com/cuda/parallel-thread-execution/#warp-level-sparse-matrix-storage). The stored
//! elements have the fragment of a matrix with half the columns. The metadata gives the column of each. A lane's word
//! holds it for 16 bits of two rows, or for 32 bits of one row.

use super::super::lanes::versions;
use super::super::{Flow, Machine};
use super::element::{Element, floats, integers};
use super::fragment::Tile;
use super::product::Form;
use crate::machine::program::{Exec, Instruction};

/// The most stored columns, and the most columns.
const STORED: usize = 64;
const COLUMNS: usize = 128;

/// The column of stored element `index` of a row, from the row's metadata.
#[inline(always)]
fn column(element: Element, metadata: u64, index: usize) -> usize {
    let pair = |at: usize| (metadata >> (2 * at)) as usize & 3;
    match element.bits() {
        // One of two elements; four bits name its halves.
        32 => 2 * index + pair(2 * index) / 2,
        // Two of four pairs.
        4 => index / 4 * 8 + pair(index / 2) * 2 + index % 2,
        // Two of four elements.
        _ => index / 2 * 4 + pair(index),
    }
}

/// The metadata of each row.
fn rows(element: Element, words: [u32; 32], selector: usize, units: usize) -> [u64; 16] {
    std::array::from_fn(|row| {
        let (group, half) = (row % 8, row / 8);
        let unit = |unit: usize| {
            if element.bits() >= 16 {
                let word = words[(group * 4 + selector * units + unit) & 31];
                u64::from(word >> (16 * half) & 0xffff) << (16 * unit)
            } else {
                u64::from(words[(group * 4 + selector * 2 + unit * 2 + half) & 31]) << (32 * unit)
            }
        };
        (0..units).fold(0, |bits, at| bits | unit(at))
    })
}

/// The stored elements of `A`, and the rows of `B`.
struct Operands<T> {
    a: [[T; STORED]; 16],
    b: [[T; 8]; COLUMNS],
}

impl<T: Copy + Default> Operands<T> {
    /// Reads the registers of `A` and `B`.
    ///
    /// # Safety
    /// The operands are registers or constants of 32 bits.
    #[inline(always)]
    unsafe fn read(
        machine: &Machine<'_>,
        form: Form,
        a: &[u32],
        b: &[u32],
        decode: impl Fn(Element, u32, &mut [T; 8]) -> usize,
    ) -> Operands<T> {
        let mut operands = Operands { a: [[T::default(); STORED]; 16], b: [[T::default(); 8]; COLUMNS] };
        let mut values = [T::default(); 8];
        for (register, operand) in a.iter().enumerate() {
            for lane in 0..32 {
                // SAFETY: this function's contract.
                let count = decode(form.a, unsafe { machine.slots::<u32>(*operand).add(lane).read() }, &mut values);
                let first = (register / 2 * 4 + lane % 4) * count;
                operands.a[lane / 4 + register % 2 * 8][first..first + count].copy_from_slice(&values[..count]);
            }
        }
        for (register, operand) in b.iter().enumerate() {
            for lane in 0..32 {
                // SAFETY: as above.
                let count = decode(form.b, unsafe { machine.slots::<u32>(*operand).add(lane).read() }, &mut values);
                for (index, value) in values.iter().take(count).enumerate() {
                    operands.b[(register * 4 + lane % 4) * count + index][lane / 4] = *value;
                }
            }
        }
        operands
    }

    /// Adds the products of the stored elements.
    #[inline(always)]
    fn accumulate<S: Copy>(&self, form: Form, metadata: [u64; 16], sums: &mut Tile<S>, f: impl Fn(T, T, S) -> S) {
        let stored = form.slabs as usize * 2 * 32 / form.a.bits() as usize;
        for (row, sums) in sums.iter_mut().enumerate() {
            for (index, a) in self.a[row].iter().take(stored).enumerate() {
                let b = &self.b[column(form.a, metadata[row], index) % COLUMNS];
                for at in 0..8 {
                    sums[at] = f(*a, b[at], sums[at]);
                }
            }
        }
    }
}

/// The registers of a sparse product, and the metadata of each row.
struct Registers<'p> {
    d: &'p [u32],
    c: &'p [u32],
    a: &'p [u32],
    b: &'p [u32],
    members: u32,
    metadata: u32,
    selector: usize,
}

impl<'p> Registers<'p> {
    fn of(machine: &Machine<'p>, instruction: &Instruction, form: Form) -> Registers<'p> {
        let operands = &machine.program.operands[instruction.extra as usize..];
        let (d, rest) = operands.split_at(form.sums(form.d));
        let (c, rest) = rest.split_at(form.sums(form.c));
        let (a, rest) = rest.split_at(form.slabs as usize);
        let (b, rest) = rest.split_at(form.slabs as usize);
        Registers { d, c, a, b, members: rest[0], metadata: rest[1], selector: rest[2] as usize }
    }

    /// # Safety
    /// The metadata is a register or constant of 32 bits.
    unsafe fn rows(&self, machine: &Machine<'_>, form: Form) -> [u64; 16] {
        // SAFETY: this function's contract.
        let words = unsafe { machine.slots::<[u32; 32]>(self.metadata).read() };
        // Two or four registers are one unit or two.
        rows(form.a, words, self.selector, form.slabs as usize / 2)
    }
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
        let mut sums = machine.floating_tile(registers.c, form.c, 16);
        let operands = Operands::read(machine, form, registers.a, registers.b, floats);
        operands.accumulate(form, registers.rows(machine, form), &mut sums, |a, b, sum: f64| sum + a * b);
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
        let mut sums: Tile<i32> = [[0; 8]; 16];
        let operands = Operands::read(machine, form, registers.a, registers.b, integers);
        operands.accumulate(form, registers.rows(machine, form), &mut sums, |a, b, sum: i32| sum + a * b);
        machine.set_integer_tile(registers.d, registers.c, &sums, form.saturates);
    }
    Flow::Next
}

versions! {
    /// `mma.sp` of floating-point numbers. The further operands are the registers of `D`, `C`, `A` and `B`, the mask of all
    /// lanes, the metadata, and the selector; `imm` is the [`Form`].
    fn floating<>() = floating_body;
}
versions! {
    /// `mma.sp` of integers.
    fn integer<>() = integer_body;
}
