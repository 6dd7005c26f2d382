//! Barrier objects in shared memory: `mbarrier`.
//!
//! PTX manual:
//! [mbarrier](https://docs.nvidia.com/cuda/parallel-thread-execution/#parallel-synchronization-and-communication-instructions-mbarrier).
//! Every operation but the initialization is one atomic exchange of the object's word.

use super::builder::Builder;
use super::draft::{Draft, Operand};
use super::operand::Modifiers;
use crate::Error;
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::{Space, Type, Width};
use crate::machine::access_mode::{ACQUIRES, RELEASES, STRONG, Scope, UPDATES, scope_bits};
use crate::machine::asynchronous::barrier::{
    arrive, complete_bytes, drop_out, expect_bytes, initialize, missing, operation, wait,
};
use crate::machine::asynchronous::copies::arrive_after;
use crate::machine::branching::sleep;
use crate::machine::lanes::map1;
use crate::machine::program::Exec;

impl<'a> Builder<'_, 'a> {
    pub(super) fn mbarrier(
        &mut self,
        instruction: &'a Instruction<'a>,
        words: &mut Modifiers<'a>,
    ) -> Result<(), Error> {
        let kinds = [
            "init",
            "inval",
            "arrive_drop",
            "arrive",
            "test_wait",
            "try_wait",
            "pending_count",
            "expect_tx",
            "complete_tx",
        ];
        let kind = words.one_of(&kinds);
        let kind = self.needed(instruction, kind)?;
        // `arrive.expect_tx` first expects bytes.
        let expects = matches!(kind, 2 | 3) && words.take("expect_tx");
        words.take("noComplete");
        let relaxed = words.take("relaxed");
        for order in ["release", "acquire"] {
            words.take(order);
        }
        // Code without a scope arrives at objects of other blocks too, although the manual's scope is the block then.
        let scope = if words.take("cta") { Scope::Block } else { Scope::Cluster };
        words.take("cluster");
        let parity = words.take("parity");
        let space = words.space().unwrap_or(Space::Generic);
        words.ty();
        let operands = &instruction.operands;
        if kind == 6 {
            self.count(instruction, &[2])?;
            let (d, a) = (self.target(&operands[0], Type::U32)?, self.source(&operands[1], Type::B64)?);
            self.emit(map1(|state: u64| missing(state) as u32), d, [a, Operand::Nothing, Operand::Nothing]);
            return Ok(());
        }
        // The result, the address of the object, and the values. An arrival may have no result.
        let (target, rest) = match (kind, operands.as_slice()) {
            (0 | 1 | 7 | 8, all) | (2 | 3, all @ [Written::Address { .. }, ..]) => (&Written::Nothing, all),
            (_, [target, rest @ ..]) => (target, rest),
            (_, []) => return self.refuse(instruction),
        };
        let [address, values @ ..] = rest else { return self.refuse(instruction) };
        let (base, offset, mode) = self.place(address, space)?;
        self.built().hand_over.strong = true;
        self.built().hand_over.invalidates |= kind == 1;
        if matches!(kind, 4 | 5) {
            let mode = mode | STRONG | scope_bits(scope) | if relaxed { 0 } else { ACQUIRES };
            return self.wait(instruction, target, (base, offset, mode), values, parity, kind == 5);
        }
        let bytes = match values.first() {
            Some(bytes) if expects => self.source(bytes, Type::U32)?,
            _ => self.bits(Type::U32, 0),
        };
        let count = match values.first() {
            Some(count) if !expects => self.source(count, Type::U32)?,
            _ => self.bits(Type::U32, u64::from(kind != 1)),
        };
        let (b, c) = (Operand::Register(self.register(Width::W64)), Operand::Register(self.register(Width::W64)));
        for (wide, narrow) in [(b, count), (c, bytes)] {
            self.emit_always(map1(|count: u32| u64::from(count)), wide, [narrow, Operand::Nothing, Operand::Nothing]);
        }
        let exec: Exec = match kind {
            0 | 1 => initialize,
            2 => operation(|old, count, bytes| drop_out(expect_bytes(old, bytes), count)),
            3 => operation(|old, count, bytes| arrive(expect_bytes(old, bytes), count)),
            7 => operation(|old, bytes, _| expect_bytes(old, bytes)),
            _ => operation(|old, bytes, _| complete_bytes(old, bytes)),
        };
        let d = if *target == Written::Nothing { Operand::Nothing } else { self.target(target, Type::B64)? };
        let releases = if relaxed || !matches!(kind, 2 | 3) { 0 } else { RELEASES };
        let updates = if kind < 2 { 0 } else { UPDATES | scope_bits(scope) };
        let draft = Draft {
            d,
            a: base,
            b,
            c: Operand::Number(mode | releases | updates),
            extra: vec![if kind < 2 { Operand::Number(kind as u32) } else { c }],
            imm: offset,
            ..self.draft(exec)
        };
        self.push(draft);
        Ok(())
    }

    /// `cp.async.mbarrier.arrive`: arrives once the earlier copies of the thread have run. Without `.noinc` the phase also
    /// expects one more arrival.
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
        self.built().hand_over.strong = true;
        let (a, imm, mode) = self.place(&instruction.operands[0], space)?;
        let b = Operand::Number(u32::from(counts));
        let draft = Draft { a, b, c: Operand::Number(mode), imm, ..self.draft(arrive_after) };
        self.push(draft);
        Ok(())
    }

    /// Tests whether the phase of a state or parity is complete.
    fn wait(
        &mut self,
        instruction: &'a Instruction<'a>,
        target: &'a Written<'a>,
        (a, imm, mode): (Operand, i64, u32),
        values: &'a [Written<'a>],
        parity: bool,
        tries: bool,
    ) -> Result<(), Error> {
        // A time limit may follow. It is a hint and is ignored.
        let ([state] | [state, _]) = values else { return self.refuse(instruction) };
        let Written::Name(name) = target else { return Err(self.wrong("mbarrier", "the target is not a predicate")) };
        let d = self.predicate_target(name)?;
        let b = self.source(state, if parity { Type::U32 } else { Type::B64 })?;
        let (c, extra) = (Operand::Number(mode), vec![Operand::Number(u32::from(parity))]);
        let draft = Draft { d, a, b, c, extra, imm, ..self.draft(wait) };
        self.push(draft);
        if tries {
            // A thread that waits in a loop yields to other threads.
            let draft = self.draft(sleep);
            self.push(draft);
        }
        Ok(())
    }
}
