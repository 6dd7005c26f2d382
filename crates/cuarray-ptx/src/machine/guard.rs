//! The branches that decide whether a thread comes to an instruction: the guard of a barrier, or the early return in front of a wait.

use super::program::{Function, Program, UNGUARDED};
use super::undefined::Way;
use crate::grammar::types::Width;

/// The most instructions of a function that is searched.
const LARGEST: usize = 1 << 20;

impl Program {
    /// The branches in front of an instruction that lead some threads to it and others past it, in the order of the code. The condition
    /// of a loop around the instruction is none.
    pub fn guards_of(&self, pc: u32) -> Vec<u32> {
        let holds = |function: &&Function| (function.start..function.end).contains(&pc);
        let Some(function) = self.functions.iter().find(holds) else { return Vec::new() };
        let (start, length) = (function.start as usize, (function.end - function.start) as usize);
        if length > LARGEST {
            return Vec::new();
        }
        let next: Vec<Vec<usize>> = (0..length).map(|index| self.next(start + index, start, length)).collect();
        let target = pc as usize - start;
        let mut reaches = vec![false; length];
        reaches[target] = true;
        // Blocks precede their successors but for loops, so few rounds suffice.
        loop {
            let mut changed = false;
            for index in (0..length).rev() {
                if !reaches[index] && next[index].iter().any(|next| reaches[*next]) {
                    (reaches[index], changed) = (true, true);
                }
            }
            if !changed {
                break;
            }
        }
        let (mut behind, mut pending) = (vec![false; length], next[target].clone());
        while let Some(index) = pending.pop() {
            if !std::mem::replace(&mut behind[index], true) {
                pending.extend(&next[index]);
            }
        }
        let decides = |index: &usize| {
            let ways = &next[*index];
            let leaves = self.ends(start + index) || ways.iter().any(|next| !reaches[*next]);
            !behind[*index] && leaves && ways.iter().any(|next| reaches[*next])
        };
        (0..target).filter(decides).map(|index| (start + index) as u32).collect()
    }

    /// Whether a thread may end, or return, at an instruction.
    fn ends(&self, pc: usize) -> bool {
        self.operands_of.way(pc) == Way::Ends
    }

    /// The instructions of a function, from `start` on, that a thread may execute next, as distances from its start.
    fn next(&self, pc: usize, start: usize, length: usize) -> Vec<usize> {
        let Some(instruction) = self.code.get(pc) else { return Vec::new() };
        let on = pc + 1;
        let mut next = match self.operands_of.way(pc) {
            Way::Ends if instruction.guard < UNGUARDED => vec![on],
            Way::Ends => Vec::new(),
            Way::Branches => match self.operands_of.read(pc) {
                [] => vec![instruction.imm as usize],
                [predicate, ..] if predicate.width() == Width::Predicate => vec![instruction.imm as usize, on],
                _ => {
                    let first = instruction.extra as usize;
                    let targets = self.operands.get(first..first + instruction.imm as usize);
                    targets.unwrap_or_default().iter().map(|target| *target as usize).collect()
                }
            },
            _ => vec![on],
        };
        next.retain_mut(|next| {
            *next = next.wrapping_sub(start);
            *next < length
        });
        next
    }
}
