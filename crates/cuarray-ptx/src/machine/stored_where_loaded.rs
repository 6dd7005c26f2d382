//! Stores at the address of a load of the same statement: updates such as `x += 1`, and stores under a condition such as `if (x == 0) x = 1`.

use super::program::{Program, UNGUARDED};
use super::undefined::Way;

/// The most instructions between a load and a store of one statement.
const LONGEST: u32 = 64;

/// The use of a loaded value in a store at its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Use {
    /// The stored value is computed from it.
    Value,
    /// It decides whether the store is executed.
    Condition,
}

impl Program {
    /// Whether an instruction stores a value at the address from which another one, shortly before it, has loaded what the value is
    /// computed from: an update such as `x += 1`.
    pub fn is_update(&self, load: u32, store: u32) -> bool {
        self.use_in_store(load, store) == Some(Use::Value)
    }

    /// Whether an instruction stores at the address from which another one, shortly before it, has loaded, if the loaded value meets
    /// a condition: `if (x == 0) x = 1`.
    pub fn is_checked(&self, load: u32, store: u32) -> bool {
        self.use_in_store(load, store) == Some(Use::Condition)
    }

    /// Whether a store, of one instruction, is executed if the value that its thread has loaded there shortly before meets a condition.
    pub fn checks(&self, store: u32) -> bool {
        let loads = (store.saturating_sub(LONGEST)..store).filter(|load| {
            let pc = *load as usize;
            self.operands_of.way(pc) == Way::Accesses && !self.operands_of.written(pc).is_empty()
        });
        loads.into_iter().any(|load| self.is_checked(load, store))
    }

    /// The use of a loaded value in a store at its address, shortly behind the load.
    fn use_in_store(&self, load: u32, store: u32) -> Option<Use> {
        let (from, to) = (self.code.get(load as usize)?, self.code.get(store as usize)?);
        if load >= store || store - load > LONGEST || (from.a, from.imm) != (to.a, to.imm) {
            return None;
        }
        let registers = |pc| (self.operands_of.read(pc), self.operands_of.written(pc));
        let mut computed = registers(load as usize).1.to_vec();
        let mut decides = false;
        for pc in load as usize + 1..=store as usize {
            let (read, written) = registers(pc);
            let guard = self.code[pc].guard;
            decides |= guard < UNGUARDED && computed.iter().any(|register| register.place() == guard >> 1);
            let computes = read.iter().any(|register| computed.contains(register));
            decides |= computes && self.operands_of.way(pc) == Way::Branches;
            if pc == store as usize {
                let condition = decides.then_some(Use::Condition);
                return if computes { Some(Use::Value) } else { condition };
            }
            if written.iter().any(|register| register.place() == from.a) {
                return None;
            }
            if computes {
                computed.extend(written);
            } else if guard & UNGUARDED != 0 {
                computed.retain(|register| !written.contains(register));
            }
        }
        None
    }
}
