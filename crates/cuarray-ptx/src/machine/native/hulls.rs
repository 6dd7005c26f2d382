//! Accesses of a block through one register, whose addresses are checked together.
//!
//! All of them are executed if the first one is, so the first one compares the memory of all with the site. It keeps the host's address,
//! which the others use.

use super::access::is_inline;
use super::flow::Block;
use crate::machine::access_mode::{is_wide, space};
use crate::machine::program::{CONSTANT, Program};
use crate::machine::template::Template;

/// The most groups of accesses of a block.
pub(super) const POINTERS: usize = 16;

/// Accesses that are checked together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hull {
    /// The place of the host's address in the context.
    pub place: usize,
    /// The least and the greatest offset.
    pub low: i32,
    pub high: i32,
    /// The number of the site, once the first access is emitted.
    pub site: Option<u32>,
    /// The instruction behind the loads that are in the journal already.
    pub journaled: u32,
}

/// The accesses of a group: their operand, their space with the width of addresses, whether elements have 64 bits, and whether they are stored.
type Key = (u32, (u32, bool), bool, bool);

/// The groups of accesses of a block, and the instructions with the group of each.
#[derive(Default)]
pub(super) struct Hulls {
    all: Vec<Hull>,
    of: Vec<(u32, usize)>,
}

impl Hulls {
    pub(super) fn of(program: &Program, block: &Block) -> Hulls {
        let mut open: Vec<(Key, Vec<u32>)> = Vec::new();
        let mut closed: Vec<Vec<u32>> = Vec::new();
        for pc in block.start..block.end {
            let (instruction, pattern) = (&program.code[pc as usize], program.patterns[pc as usize]);
            if is_inline(program, pc) && instruction.a & CONSTANT == 0 && offset(program, pc).is_some() {
                let mode = (space(instruction.c), is_wide(instruction.c));
                let key = (instruction.a, mode, pattern.wide, pattern.template == Some(Template::Store));
                match open.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, members)) => members.push(pc),
                    None => open.push((key, vec![pc])),
                }
            }
            for written in program.operands_of.written(pc as usize) {
                let (rest, ended) = open.into_iter().partition(|((place, ..), _)| *place != written.place());
                open = rest;
                closed.extend(ended.into_iter().map(|(_, members): (_, Vec<u32>)| members));
            }
        }
        closed.extend(open.into_iter().map(|(_, members)| members));
        let mut hulls = Hulls::default();
        for members in closed.into_iter().filter(|members| members.len() > 1).take(POINTERS) {
            let offsets = || members.iter().filter_map(|pc| offset(program, *pc));
            let (Some(low), Some(high)) = (offsets().min(), offsets().max()) else { continue };
            let place = hulls.all.len();
            hulls.all.push(Hull { place, low, high, site: None, journaled: 0 });
            hulls.of.extend(members.into_iter().map(|pc| (pc, place)));
        }
        hulls
    }

    /// The loads for which the one at `pc` stands in the journal, and the distance of each from the least offset: those that are checked
    /// with it, up to an instruction that may write memory. Empty if another one stands for it.
    pub(super) fn journaled(&mut self, program: &Program, pc: u32) -> Vec<(u32, i32)> {
        let Some((_, place)) = self.of.iter().find(|(known, _)| *known == pc) else { return Vec::new() };
        let (place, hull) = (*place, &mut self.all[*place]);
        if pc < hull.journaled {
            return Vec::new();
        }
        let members = || self.of.iter().filter(|(_, other)| *other == place).map(|(pc, _)| *pc);
        let last = members().max().unwrap_or(pc);
        hull.journaled = (pc + 1..=last).find(|pc| may_write(program, *pc)).unwrap_or(last + 1);
        let (from, low) = (pc..hull.journaled, hull.low);
        members().filter(|pc| from.contains(pc)).filter_map(|pc| Some((pc, offset(program, pc)? - low))).collect()
    }

    /// The distances of the accesses of an instruction's group from the least offset.
    pub(super) fn offsets(&self, program: &Program, pc: u32) -> Vec<i32> {
        let Some((_, place)) = self.of.iter().find(|(known, _)| *known == pc) else { return Vec::new() };
        let members = self.of.iter().filter(|(_, other)| other == place);
        members.filter_map(|(pc, _)| Some(offset(program, *pc)? - self.all[*place].low)).collect()
    }

    /// Whether nothing reads memory between the stores of an instruction's group.
    pub(super) fn stores_at_once(&self, program: &Program, pc: u32) -> bool {
        let place = self.of.iter().find(|(known, _)| *known == pc).map(|(_, place)| *place);
        let members = || self.of.iter().filter(|(_, other)| Some(*other) == place).map(|(pc, _)| *pc);
        let (first, last) = (members().min().unwrap_or(pc), members().max().unwrap_or(pc));
        !(first..last).any(|pc| may_read(program, pc))
    }

    /// The group of an instruction.
    pub(super) fn get(&mut self, pc: u32) -> Option<&mut Hull> {
        let (_, place) = self.of.iter().find(|(known, _)| *known == pc)?;
        self.all.get_mut(*place)
    }
}

/// The offset of an access, if it is small.
fn offset(program: &Program, pc: u32) -> Option<i32> {
    const FAR: i64 = 1 << 24;
    let size = if program.patterns[pc as usize].wide { 8 } else { 4 };
    let offset = program.code[pc as usize].imm;
    (offset.abs() < FAR && offset % size == 0).then_some(offset as i32)
}

/// Whether an instruction may read memory. Functions may, which execute those without a template.
fn may_read(program: &Program, pc: u32) -> bool {
    let pattern = program.patterns[pc as usize];
    match pattern.template {
        Some(template) => template == Template::Load,
        None => pattern.narrow.is_none_or(|narrow| !narrow.stores),
    }
}

/// Whether an instruction may write memory. Functions may, which execute those without a template.
fn may_write(program: &Program, pc: u32) -> bool {
    let pattern = program.patterns[pc as usize];
    match pattern.template {
        Some(template) => template == Template::Store,
        None => pattern.narrow.is_none_or(|narrow| narrow.stores),
    }
}
