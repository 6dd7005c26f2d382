//! The registers whose values are linear in the bits of the lane number, as the analysis of a function expects them.
//!
//! The analysis follows values through the blocks of a function, as if the threads of a warp never diverged. That is an expectation, not a
//! proof: before generated code runs, the values in the registers are compared with it (`run`). From there on, the code keeps to it, since
//! all lanes of a fragment execute the same instructions. An instruction that could leave the range of a type is checked when it runs.

use super::flow::{Block, Flow};
use super::journal::is_usual;
use crate::machine::linear::Operation;
use crate::machine::program::{CONSTANT, Constant, Function, Instruction, Program, UNGUARDED, constant_bytes};
use crate::machine::special::{REGISTERS, Read};
use crate::machine::template::{Arithmetic, Template};
use rustc_hash::FxHashMap;

/// The steps of a linear value: one for each bit of the lane's number.
pub(super) type Steps = [i64; 5];

/// The steps of a value that is equal in all lanes.
pub(super) const EQUAL: Steps = [0; 5];

/// Where the value of a register is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// In its row.
    Row,
    /// The first lane's value is known; those of other lanes differ by steps. A predicate is equal in all lanes, and in the frame too.
    Linear(Steps),
}

/// How an instruction computes its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Computed {
    /// In each lane.
    Rows,
    /// Once, with the steps of the result.
    Once(Steps, Check),
}

/// A condition under which a result is linear.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Check {
    Nothing,
    /// The operand, its steps, and whether it has a sign.
    Range(u32, Steps, bool),
    /// All lanes have the same sign: the operand, its steps, and whether it has 64 bits.
    Sign(u32, Steps, bool),
    /// The lanes differ in the bits of a mask only: the operand, the greatest difference, the mask, and whether the operand has 64 bits.
    Within(u32, i32, i32, bool),
}

/// The extents of a block of threads, as far as the indices of threads depend on them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ThreadShape {
    /// The rows of the block are made of whole warps.
    Wide,
    /// A warp has several whole rows of two to the power of this number, and lies in one plane.
    Narrow(u8),
    Other,
}

impl ThreadShape {
    pub(super) fn of([x, y, _]: [u32; 3]) -> ThreadShape {
        match x {
            _ if x.is_multiple_of(32) => ThreadShape::Wide,
            1..32 if x.is_power_of_two() && x.saturating_mul(y).is_multiple_of(32) => {
                ThreadShape::Narrow(x.trailing_zeros() as u8)
            }
            _ => ThreadShape::Other,
        }
    }

    /// The steps of the index of a thread along an axis.
    fn steps(self, axis: usize) -> Option<Steps> {
        match (self, axis) {
            (ThreadShape::Other, _) => None,
            (ThreadShape::Wide, 0) => Some([1, 2, 4, 8, 16]),
            (ThreadShape::Narrow(bits), 0) => {
                Some(std::array::from_fn(|bit| if bit < bits.into() { 1 << bit } else { 0 }))
            }
            (ThreadShape::Narrow(bits), 1) => {
                Some(std::array::from_fn(|bit| if bit < bits.into() { 0 } else { 1 << (bit - usize::from(bits)) }))
            }
            _ => Some(EQUAL),
        }
    }
}

/// The numbers among a program's constants, by their places.
pub(super) fn numbers(program: &Program) -> FxHashMap<u32, u64> {
    let mut place = 0;
    let mut numbers = FxHashMap::default();
    for (constant, width) in &program.constants {
        if let Constant::Bits(bits) = constant {
            numbers.insert(place, *bits);
        }
        place += constant_bytes(*width);
    }
    numbers
}

/// The check that all lanes have the same sign. A difference beyond 31 bits is not checked.
fn sign(operand: u32, steps: Steps, wide: bool) -> Option<Check> {
    let reach = steps.iter().try_fold(0_i64, |sum, step| sum.checked_add(step.checked_abs()?))?;
    (reach < 1 << 31).then_some(Check::Sign(operand, steps, wide))
}

/// The check that the lanes differ in the lowest bits only.
fn within(operand: u32, steps: Steps, mask: u64, wide: bool) -> Option<Check> {
    let high = steps.iter().try_fold(0_i64, |sum, step| sum.checked_add(*step).filter(|_| *step >= 0))?;
    let (high, mask) = (i32::try_from(high).ok()?, i32::try_from(mask).ok()?);
    (high <= mask && mask < 1 << 30).then_some(Check::Within(operand, high, mask, wide))
}

/// The facts that the analysis uses.
#[derive(Clone, Copy)]
pub(super) struct Known<'p> {
    pub program: &'p Program,
    pub function: &'p Function,
    pub flow: &'p Flow,
    pub numbers: &'p FxHashMap<u32, u64>,
    pub shape: ThreadShape,
    /// Whether all lanes take part, so that a load can be executed once.
    pub whole: bool,
    /// Whether accesses are recorded.
    pub recorded: bool,
    /// Whether recorded accesses may be in the journal. The others are executed by their functions.
    pub journal: bool,
}

impl Known<'_> {
    /// Whether generated code may make an access itself.
    pub(super) fn makes_access(&self, pc: u32) -> bool {
        !self.recorded || self.journal && is_usual(&self.program.code[pc as usize])
    }

    pub(super) fn kind(&self, kinds: &[Kind], operand: u32) -> Kind {
        if operand & CONSTANT != 0 {
            return Kind::Linear(EQUAL);
        }
        self.flow.register(operand).map_or(Kind::Row, |register| kinds[register])
    }

    fn steps(&self, kinds: &[Kind], operand: u32) -> Option<Steps> {
        match self.kind(kinds, operand) {
            Kind::Linear(steps) => Some(steps),
            Kind::Row => None,
        }
    }

    pub(super) fn number(&self, operand: u32) -> Option<u64> {
        (operand & CONSTANT != 0).then(|| self.numbers.get(&(operand & !CONSTANT)).copied())?
    }

    /// The steps of a product, if one factor is a number or both are equal in all lanes. `extended` gives the value of a number.
    fn product(&self, kinds: &[Kind], (a, b): (u32, u32), extended: impl Fn(u64) -> i64) -> Option<Steps> {
        let (x, y) = (self.steps(kinds, a)?, self.steps(kinds, b)?);
        if x == EQUAL && y == EQUAL {
            return Some(EQUAL);
        }
        let (steps, factor) =
            if y == EQUAL { (x, self.number(b)?) } else { (y, self.number(a).filter(|_| x == EQUAL)?) };
        Some(steps.map(|step| step.wrapping_mul(extended(factor))))
    }

    /// The product of two numbers of 32 bits with 64 bits.
    fn wide_product(&self, kinds: &[Kind], (a, b): (u32, u32), signed: bool) -> Option<(Steps, Check)> {
        let extended = |factor: u64| if signed { i64::from(factor as i32) } else { i64::from(factor as u32) };
        let steps = self.product(kinds, (a, b), extended)?;
        let check = [a, b].into_iter().find_map(|operand| {
            let steps = self.steps(kinds, operand).filter(|steps| *steps != EQUAL)?;
            Some(Check::Range(operand, steps, signed))
        });
        Some((steps, check.unwrap_or(Check::Nothing)))
    }

    /// How an instruction with a template that writes a register computes its result.
    pub(super) fn computed(&self, kinds: &[Kind], pc: u32) -> Computed {
        let instruction = &self.program.code[pc as usize];
        let pattern = self.program.patterns[pc as usize];
        let found = match pattern.template {
            // Some lanes may keep their values.
            _ if instruction.guard < UNGUARDED => None,
            Some(Template::Integer(operation)) => self.of_operation(kinds, operation, instruction, pattern.wide),
            Some(Template::Further(arithmetic)) => self.of_arithmetic(kinds, arithmetic, instruction),
            Some(Template::Load) if self.whole && self.makes_access(pc) => {
                let equal = self.steps(kinds, instruction.a).filter(|steps| *steps == EQUAL);
                equal.filter(|_| super::access::is_inline(self.program, pc)).map(|steps| (steps, Check::Nothing))
            }
            _ => None,
        };
        match found {
            None => Computed::Rows,
            Some((steps, check)) if pattern.wide => Computed::Once(steps, check),
            Some((steps, check)) => Computed::Once(steps.map(|step| i64::from(step as i32)), check),
        }
    }

    /// A linear value with the bits of a number: its highest bit, its lowest bits, or all but these.
    fn masked(&self, operand: u32, steps: Steps, mask: u64, wide: bool) -> Option<(Steps, Check)> {
        let mask = if wide { mask } else { i64::from(mask as i32) as u64 };
        if mask == 1 << 63 || !wide && mask == i64::from(i32::MIN) as u64 {
            return Some((EQUAL, sign(operand, steps, wide)?));
        }
        if mask & mask.wrapping_add(1) == 0 {
            return Some((steps, within(operand, steps, mask, wide)?));
        }
        let rest = !mask;
        (rest & rest.wrapping_add(1) == 0).then(|| Some((EQUAL, within(operand, steps, rest, wide)?)))?
    }

    fn of_operation(
        &self,
        kinds: &[Kind],
        operation: Operation,
        instruction: &Instruction,
        wide: bool,
    ) -> Option<(Steps, Check)> {
        let Instruction { a, b, c, .. } = *instruction;
        let (x, y) = (self.steps(kinds, a), self.steps(kinds, b));
        let wrapping = |factor: u64| factor as i64;
        let each = |x: Steps, y: Steps, f: fn(i64, i64) -> i64| std::array::from_fn(|bit| f(x[bit], y[bit]));
        let steps = match operation {
            Operation::Copy | Operation::Truncate => x?,
            Operation::Add => each(x?, y?, i64::wrapping_add),
            Operation::Subtract => each(x?, y?, i64::wrapping_sub),
            Operation::Negate | Operation::Not => x?.map(i64::wrapping_neg),
            Operation::Multiply => self.product(kinds, (a, b), wrapping)?,
            Operation::MultiplyAdd => {
                each(self.product(kinds, (a, b), wrapping)?, self.steps(kinds, c)?, i64::wrapping_add)
            }
            Operation::MultiplyWide { signed } => return self.wide_product(kinds, (a, b), signed),
            Operation::Extend { signed } => {
                let steps = x?;
                return Some((steps, if steps == EQUAL { Check::Nothing } else { Check::Range(a, steps, signed) }));
            }
            Operation::ShiftLeft => match (x?, y?) {
                (EQUAL, EQUAL) => EQUAL,
                (x, EQUAL) => {
                    let by = self.number(b)?;
                    x.map(|step| if by < 64 { step << by } else { 0 })
                }
                _ => return None,
            },
            Operation::ShiftRight { .. } => match (x?, y?) {
                (EQUAL, EQUAL) => EQUAL,
                (steps, EQUAL) => {
                    let (by, bits) = (self.number(b)?, if wide { 64 } else { 32 });
                    if by == bits - 1 {
                        return Some((EQUAL, sign(a, steps, wide)?));
                    }
                    let mask = 1_u64.checked_shl(u32::try_from(by).ok()?)?.wrapping_sub(1);
                    return Some((EQUAL, within(a, steps, mask, wide)?));
                }
                _ => return None,
            },
            Operation::And => match (x?, y?) {
                (EQUAL, EQUAL) => EQUAL,
                (steps, EQUAL) => return self.masked(a, steps, self.number(b)?, wide),
                (EQUAL, steps) => return self.masked(b, steps, self.number(a)?, wide),
                _ => return None,
            },
            Operation::Or | Operation::Xor => match (x?, y?) {
                (EQUAL, EQUAL) => EQUAL,
                _ => return None,
            },
            // All lanes take the same side, which is not known here.
            Operation::Select => (self.kind(kinds, c) == Kind::Linear(EQUAL) && x? == y?).then_some(x?)?,
            Operation::Compare { .. } => match (x?, y?) {
                (EQUAL, EQUAL) => EQUAL,
                _ => return None,
            },
            Operation::Special => match REGISTERS[instruction.imm as usize] {
                (_, Read::Block(_) | Read::Warp(_)) => EQUAL,
                ("%laneid", _) => [1, 2, 4, 8, 16],
                (_, Read::Thread(axis)) => self.shape.steps(axis)?,
                _ => return None,
            },
            Operation::Parameter => EQUAL,
        };
        Some((steps, Check::Nothing))
    }

    fn of_arithmetic(
        &self,
        kinds: &[Kind],
        arithmetic: Arithmetic,
        instruction: &Instruction,
    ) -> Option<(Steps, Check)> {
        let Instruction { a, b, c, .. } = *instruction;
        let all = |operands: &[u32]| {
            operands.iter().all(|operand| self.steps(kinds, *operand) == Some(EQUAL)).then_some((EQUAL, Check::Nothing))
        };
        match arithmetic {
            Arithmetic::MultiplyAddWide { signed } => {
                let (product, check) = self.wide_product(kinds, (a, b), signed)?;
                let other = self.steps(kinds, c)?;
                Some((std::array::from_fn(|bit| product[bit].wrapping_add(other[bit])), check))
            }
            Arithmetic::FloatFused => all(&[a, b, c]),
            Arithmetic::Minimum { .. }
            | Arithmetic::Maximum { .. }
            | Arithmetic::FloatAdd
            | Arithmetic::FloatSubtract
            | Arithmetic::FloatMultiply
            | Arithmetic::FloatDivide
            | Arithmetic::FloatMinimum
            | Arithmetic::FloatMaximum
            | Arithmetic::FloatCompare(_)
            | Arithmetic::MaskAnd
            | Arithmetic::MaskOr
            | Arithmetic::MaskXor => all(&[a, b]),
            Arithmetic::FloatRoot
            | Arithmetic::FloatReciprocal
            | Arithmetic::FloatNegate
            | Arithmetic::FloatAbsolute
            | Arithmetic::FloatFromSigned
            | Arithmetic::FloatWiden
            | Arithmetic::FloatNarrow
            | Arithmetic::SignedFromFloat
            | Arithmetic::MaskNot => all(&[a]),
        }
    }

    /// Changes the kinds before an instruction to those behind it.
    fn pass(&self, kinds: &mut [Kind], pc: u32) {
        let computed = self.computed(kinds, pc);
        for register in self.program.operands_of.written(pc as usize) {
            if let Some(register) = self.flow.register(register.place()) {
                kinds[register] = match computed {
                    Computed::Rows => Kind::Row,
                    Computed::Once(steps, _) => Kind::Linear(steps),
                };
            }
        }
    }

    /// The kinds that are expected at the start of each block.
    pub(super) fn expected(&self) -> Vec<Vec<Kind>> {
        let rows = || vec![Kind::Row; self.flow.registers.len()];
        let mut starts: Vec<Option<Vec<Kind>>> = vec![None; self.flow.blocks.len()];
        let mut open = vec![0];
        starts[0] = Some(rows());
        while let Some(index) = open.pop() {
            let block: &Block = &self.flow.blocks[index];
            let mut kinds = starts[index].clone().unwrap_or_else(rows);
            (block.start..block.end).for_each(|pc| self.pass(&mut kinds, pc));
            for next in &block.next {
                let live = &self.flow.blocks[*next].live_in;
                let arriving = |register: usize| if live.has(register) { kinds[register] } else { Kind::Row };
                match &mut starts[*next] {
                    None => starts[*next] = Some((0..kinds.len()).map(arriving).collect()),
                    Some(known) => {
                        let mut changed = false;
                        for (register, kind) in known.iter_mut().enumerate() {
                            if *kind != Kind::Row && *kind != arriving(register) {
                                (*kind, changed) = (Kind::Row, true);
                            }
                        }
                        if !changed {
                            continue;
                        }
                    }
                }
                open.push(*next);
            }
        }
        starts.into_iter().map(|kinds| kinds.unwrap_or_else(rows)).collect()
    }
}
