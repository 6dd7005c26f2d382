//! Barrier objects in shared memory: `mbarrier`.
//!
//! PTX manual:
//! [mbarrier](https://docs.nvidia.com/cuda/parallel-thread-execution/#parallel-synchronization-and-communication-instructions-mbarrier).
//! The 64 bits of the object are implementation-defined: the expected arrivals of a phase (20 bits), the missing
//! arrivals (20 bits), and the number of the phase. Every operation is one atomic exchange of the word. Transactions
//! of the bulk copy engine are not supported.

use super::builder::Builder;
use super::draft::{Draft, Operand};
use super::operand::Modifiers;
use crate::Error;
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::{Space, Type, Width};
use crate::machine::access_mode::{RELEASES, STRONG};
use crate::machine::atomic::atomic;
use crate::machine::branching::sleep;
use crate::machine::lanes::{compare, map1};
use crate::machine::memory::load;
use crate::machine::program::{Constant, Exec};

const COUNT: u64 = (1 << 20) - 1;

/// Counts `count` arrivals; the last of a phase starts the next one.
fn arrive(old: u64, count: u64) -> u64 {
    let (expected, missing, phase) = (old & COUNT, old >> 20 & COUNT, old >> 40);
    match missing.saturating_sub(count) {
        0 => expected | expected << 20 | (phase + 1) << 40,
        missing => expected | missing << 20 | phase << 40,
    }
}

/// Counts `count` arrivals, and lowers the expected number of later phases.
fn drop_out(old: u64, count: u64) -> u64 {
    let expected = (old & COUNT).saturating_sub(count);
    arrive(old & !COUNT | expected, count)
}

impl<'a> Builder<'_, 'a> {
    pub(super) fn mbarrier(
        &mut self,
        instruction: &'a Instruction<'a>,
        words: &mut Modifiers<'a>,
    ) -> Result<(), Error> {
        let kinds = ["init", "inval", "arrive_drop", "arrive", "test_wait", "try_wait", "pending_count"];
        let kind = words.one_of(&kinds);
        let kind = self.needed(instruction, kind)?;
        words.take("noComplete");
        for order in ["release", "acquire", "relaxed", "cta", "cluster"] {
            words.take(order);
        }
        let parity = words.take("parity");
        let space = words.space().unwrap_or(Space::Generic);
        words.ty();
        let operands = &instruction.operands;
        if kind == 6 {
            self.count(instruction, &[2])?;
            let (d, a) = (self.target(&operands[0], Type::U32)?, self.source(&operands[1], Type::B64)?);
            self.emit(map1(|state: u64| (state >> 20 & COUNT) as u32), d, [a, Operand::Nothing, Operand::Nothing]);
            return Ok(());
        }
        // The result, the address of the object, and the values.
        let (target, rest) = match kind {
            0 | 1 => (&Written::Nothing, operands.as_slice()),
            _ => match operands.as_slice() {
                [target, rest @ ..] => (target, rest),
                [] => return self.refuse(instruction),
            },
        };
        let [address, values @ ..] = rest else { return self.refuse(instruction) };
        let (base, offset, mode) = self.place(address, space)?;
        if kind >= 4 {
            return self.wait(instruction, target, (base, offset, mode), values, parity, kind == 5);
        }
        let count = match values.first() {
            Some(count) => self.source(count, Type::U32)?,
            None => self.bits(Type::U32, u64::from(kind != 1)),
        };
        let b = Operand::Register(self.register(Width::W64));
        self.emit_always(map1(|count: u32| u64::from(count) & COUNT), b, [count, Operand::Nothing, Operand::Nothing]);
        let exec: Exec = match kind {
            0 | 1 => atomic(|_: u64, count, _| count | count << 20),
            2 => atomic(|old: u64, count, _| drop_out(old, count)),
            _ => atomic(|old: u64, count, _| arrive(old, count)),
        };
        let d = if *target == Written::Nothing { Operand::Nothing } else { self.target(target, Type::B64)? };
        let (c, extra) = (Operand::Number(mode | RELEASES), vec![Operand::Nothing]);
        let draft = Draft { d, a: base, b, c, extra, imm: offset, ..self.draft(exec) };
        self.push(draft);
        Ok(())
    }

    /// `cp.async.mbarrier.arrive`: arrives at once, because copies are done at once. Without `.noinc` the phase also
    /// expects one more arrival, so the two cancel out.
    pub(super) fn asynchronous_arrival(
        &mut self,
        instruction: &'a Instruction<'a>,
        words: &mut Modifiers<'a>,
    ) -> Result<(), Error> {
        let counts = words.take("noinc");
        let space = words.space().unwrap_or(Space::Generic);
        if !words.take("arrive") || words.ty() != Some(Type::B64) {
            return self.refuse(instruction);
        }
        self.count(instruction, &[1])?;
        let (a, imm, mode) = self.place(&instruction.operands[0], space)?;
        let b = self.constant(Constant::Bits(u64::from(counts)), Width::W64);
        let exec = atomic(|old: u64, count, _| if count == 0 { old } else { arrive(old, count) });
        let draft = Draft { a, b, c: Operand::Number(mode), extra: vec![Operand::Nothing], imm, ..self.draft(exec) };
        self.push(draft);
        Ok(())
    }

    /// Tests whether the phase of a state or parity is complete.
    fn wait(
        &mut self,
        instruction: &'a Instruction<'a>,
        target: &'a Written<'a>,
        (base, offset, mode): (Operand, i64, u32),
        values: &'a [Written<'a>],
        parity: bool,
        tries: bool,
    ) -> Result<(), Error> {
        // A time limit may follow. It is a hint and is ignored.
        let ([state] | [state, _]) = values else { return self.refuse(instruction) };
        let now = Operand::Register(self.register(Width::W64));
        let draft =
            Draft { d: now, a: base, c: Operand::Number(mode | STRONG), imm: offset, ..self.draft(load::<u64, u64>()) };
        self.push(draft);
        let Written::Name(name) = target else { return Err(self.wrong("mbarrier", "the target is not a predicate")) };
        let d = self.predicate_target(name)?;
        if parity {
            let narrow = self.source(state, Type::U32)?;
            let wide = Operand::Register(self.register(Width::W64));
            self.emit_always(
                map1(|parity: u32| u64::from(parity) << 40),
                wide,
                [narrow, Operand::Nothing, Operand::Nothing],
            );
            self.emit(compare(|now: u64, of: u64| (now ^ of) >> 40 & 1 != 0), d, [now, wide, Operand::Nothing]);
        } else {
            let state = self.source(state, Type::B64)?;
            self.emit(compare(|now: u64, state: u64| now >> 40 != state >> 40), d, [now, state, Operand::Nothing]);
        }
        if tries {
            // A thread that waits in a loop yields to other threads.
            let draft = self.draft(sleep);
            self.push(draft);
        }
        Ok(())
    }
}
