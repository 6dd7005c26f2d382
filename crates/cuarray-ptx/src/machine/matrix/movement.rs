//! `ldmatrix`, `stmatrix` and `movmatrix`: matrices between shared memory and registers, by rows of 16 bytes.
//!
//! The address of each row comes from one lane. The accesses belong to that lane, for bounds, alignment and races.

use super::super::access_mode::{GENERIC, space};
use super::super::address_windows::SHARED_WINDOW;
use super::super::fault::FaultKind;
use super::super::memory::Cell;
use super::super::{Flow, Machine};
use crate::machine::program::{Instruction, LEFT_OUT};
use crate::races::cell::digest;

/// The distribution of a matrix's elements over lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Distribution {
    /// A lane has four bytes of one row.
    Rows,
    /// A lane has two elements of 16 bits of one column.
    Columns16,
    /// A lane has two elements of 8 bits in each of two columns.
    Columns8,
    /// Two registers of a lane have four elements of 8 bits in each of two columns.
    PairedColumns8,
}

/// The format of the elements in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    Whole,
    /// 16 elements of 4 bits, and 64 bits of padding.
    Bits4,
    /// 16 elements of 6 bits, and 32 bits of padding.
    Bits6,
}

/// The form of a load or store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Form {
    /// The number of rows. One lane has the address of a row.
    pub rows: u32,
    /// The number of registers of a lane.
    pub registers: u32,
    pub distribution: Distribution,
    pub source: Source,
}

impl Form {
    pub(crate) fn code(self) -> u32 {
        self.rows | self.registers << 8 | (self.distribution as u32) << 16 | (self.source as u32) << 20
    }

    fn of(code: u32) -> Form {
        let distribution = match code >> 16 & 3 {
            0 => Distribution::Rows,
            1 => Distribution::Columns16,
            2 => Distribution::Columns8,
            _ => Distribution::PairedColumns8,
        };
        let source = match code >> 20 & 3 {
            0 => Source::Whole,
            1 => Source::Bits4,
            _ => Source::Bits6,
        };
        Form { rows: code & 0xff, registers: code >> 8 & 0xff, distribution, source }
    }

    /// The row and the byte within it that byte `byte` of a lane's register holds.
    #[inline(always)]
    fn place(self, register: usize, lane: usize, byte: usize) -> (usize, usize) {
        let (group, member) = (lane / 4, lane % 4);
        match self.distribution {
            Distribution::Rows => (register * 8 + group, member * 4 + byte),
            Distribution::Columns16 => (register * 8 + member * 2 + byte / 2, group * 2 + byte % 2),
            Distribution::Columns8 => (register * 8 + member * 2 + byte % 2, group + byte / 2 * 8),
            Distribution::PairedColumns8 => {
                (register / 2 * 16 + member * 4 + register % 2 * 2 + byte % 2, group + byte / 2 * 8)
            }
        }
    }
}

type Rows = [[u8; 16]; 32];

/// Widens elements of 4 bits, to the middle of a byte, or of 6 bits.
fn widened(row: [u8; 16], source: Source) -> [u8; 16] {
    let bits = u128::from_le_bytes(row);
    let element = |index: usize| match source {
        Source::Whole => row[index],
        Source::Bits4 => ((bits >> (4 * index) & 0xf) as u8) << 2,
        Source::Bits6 => (bits >> (6 * index) & 0x3f) as u8,
    };
    std::array::from_fn(element)
}

impl Machine<'_> {
    /// Resolves the addresses of the rows; only the lanes that provide them take part.
    ///
    /// # Safety
    /// As for [`Machine::locate`].
    unsafe fn locate_rows(&mut self, instruction: &Instruction, form: Form, write: bool) -> Flow {
        self.mask &= u32::MAX >> (32 - form.rows);
        if self.mask == 0 {
            return Flow::Next;
        }
        self.unused = match form.source {
            Source::Whole => 0,
            Source::Bits4 => 8,
            Source::Bits6 => 4,
        };
        // SAFETY: this function's contract.
        let flow = unsafe { self.locate(instruction, 16, write) };
        self.unused = 0;
        if flow == Flow::Next && space(instruction.c) == GENERIC {
            // A generic address must be in shared memory.
            let outside = (0..32)
                .find(|lane| self.mask >> lane & 1 == 1 && self.addresses[*lane as usize] >> 56 != SHARED_WINDOW >> 56);
            if let Some(lane) = outside {
                return self.fail(FaultKind::IllegalAddress, lane, self.addresses[lane as usize], 16, write);
            }
        }
        flow
    }
}

/// `ldmatrix`: the further operands are the targets, the mask of all lanes, and the [`Form`]. The address is `a + imm`
/// with the mode `c`.
pub(crate) unsafe fn load(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let count = instruction.d as usize;
    let form = Form::of(machine.extra(instruction, count + 1));
    // SAFETY: the resolver checked the operands; `locate` returned valid pointers for the lanes of the mask.
    unsafe {
        if !machine.whole_warp(machine.extra(instruction, count), false) {
            return Flow::Stop;
        }
        let all = machine.mask;
        if machine.locate_rows(instruction, form, false) == Flow::Stop {
            return Flow::Stop;
        }
        if machine.races.on && machine.mask != 0 {
            let padding = match form.source {
                Source::Whole => 0,
                Source::Bits4 => 8,
                Source::Bits6 => 4,
            };
            machine.watch_read(instruction, 16 - padding);
        }
        let mut rows: Rows = [[0; 16]; 32];
        for (lane, row) in rows.iter_mut().enumerate().filter(|(lane, _)| machine.mask >> lane & 1 == 1) {
            for word in 0..4 {
                let value = u32::get(machine.pointers[lane].add(word * 4)) as u32;
                row[word * 4..][..4].copy_from_slice(&value.to_le_bytes());
            }
            if form.source != Source::Whole {
                *row = widened(*row, form.source);
            }
        }
        for register in 0..form.registers as usize {
            let target = machine.extra(instruction, register);
            if target == LEFT_OUT {
                continue;
            }
            let target = machine.slots::<u32>(target);
            for lane in (0..32).filter(|lane| all >> lane & 1 == 1) {
                let byte = |byte| {
                    let (row, place) = form.place(register, lane, byte);
                    rows[row & 31][place & 15]
                };
                target.add(lane).write(u32::from_le_bytes(std::array::from_fn(byte)));
            }
        }
    }
    Flow::Next
}

/// `stmatrix`: like [`load`], with the sources first.
pub(crate) unsafe fn store(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    let count = instruction.d as usize;
    let form = Form::of(machine.extra(instruction, count + 1));
    // SAFETY: as for `load`.
    unsafe {
        if !machine.whole_warp(machine.extra(instruction, count), false) {
            return Flow::Stop;
        }
        let mut rows: Rows = [[0; 16]; 32];
        for register in 0..form.registers as usize {
            let values = machine.slots::<[u32; 32]>(machine.extra(instruction, register)).read();
            for (lane, value) in values.iter().enumerate() {
                for (byte, value) in value.to_le_bytes().into_iter().enumerate() {
                    let (row, place) = form.place(register, lane, byte);
                    rows[row & 31][place & 15] = value;
                }
            }
        }
        if machine.locate_rows(instruction, form, true) == Flow::Stop {
            return Flow::Stop;
        }
        for word in 0..4 {
            let part = |row: [u8; 16]| std::array::from_fn(|byte| row[word * 4 + byte]);
            let words = rows.map(|row| u32::from_le_bytes(part(row)));
            if machine.races.on && machine.mask != 0 {
                machine.watch_write(instruction, 4, 4 * word as u32, &words.map(|word| digest(word.into())));
            }
            for lane in (0..32).filter(|lane| machine.mask >> lane & 1 == 1) {
                u32::set(machine.pointers[lane].add(word * 4), words[lane].into());
            }
        }
    }
    Flow::Next
}

/// `movmatrix`: transposes an 8 by 8 matrix `a` of 16 bits into `d`. `b` is the mask of all lanes.
pub(crate) unsafe fn transpose(machine: &mut Machine<'_>, instruction: &Instruction) -> Flow {
    // SAFETY: the operands are registers of 32 bits.
    unsafe {
        if !machine.whole_warp(instruction.b, true) {
            return Flow::Stop;
        }
        let source = machine.slots::<[u32; 32]>(instruction.a).read();
        let half = |row: usize, column: usize| source[row * 4 + column / 2] >> (column % 2 * 16) & 0xffff;
        let target = machine.slots::<u32>(instruction.d);
        for lane in (0..32).filter(|lane| machine.mask >> lane & 1 == 1) {
            let (column, row) = (lane / 4, lane % 4 * 2);
            target.add(lane).write(half(row, column) | half(row + 1, column) << 16);
        }
    }
    Flow::Next
}
