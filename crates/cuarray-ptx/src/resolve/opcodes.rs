//! The resolution of an instruction by its opcode, with the opcodes that are executed in one list.
//!
//! The list of `docs/reference/kernels.md` is compared with this one, and each opcode has a kernel in `tests/kernels`.

use super::builder::Builder;
use super::operand::Modifiers;
use crate::Error;
use crate::grammar::ast::Instruction;
use crate::grammar::types::Type;
use crate::machine::undefined::Way;

/// The registers and memory that an instruction can change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// A register of each lane, from the lane's own registers alone. An instruction with a wider effect is slower, not wrong.
    OwnRegisters,
    /// No global memory, apart from plain stores and atomic operations on single words.
    NoGlobalMemory,
    Any,
}

macro_rules! opcodes {
    ($($family:ident, $effect:ident: $($opcode:literal)+;)+) => {
        impl<'a> Builder<'_, 'a> {
            fn by_opcode(
                &mut self,
                instruction: &'a Instruction<'a>,
                words: &mut Modifiers<'a>,
            ) -> Result<(), Error> {
                match instruction.opcode {
                    $($($opcode)|+ => {
                        self.changes(instruction, Effect::$effect);
                        self.$family(instruction, words)
                    })+
                    _ => self.not_executed(instruction),
                }
            }
        }
    };
}

opcodes! {
    arithmetic, OwnRegisters: "add" "sub" "mul" "mad" "min" "max" "abs" "neg" "div";
    floating, OwnRegisters: "fma" "rcp" "sqrt" "rsqrt" "sin" "cos" "lg2" "ex2" "tanh" "copysign" "testp";
    carried, OwnRegisters: "addc" "subc" "madc";
    integer, OwnRegisters: "sad" "rem" "popc" "clz" "bfind" "brev" "bfe" "bfi" "bmsk";
    integer, NoGlobalMemory: "mul24" "mad24" "fns" "szext" "dp4a" "dp2a";
    logic, OwnRegisters: "and" "or" "xor" "not" "cnot" "lop3" "shl" "shr" "shf" "prmt";
    comparison, OwnRegisters: "set" "setp" "selp" "slct";
    video, Any: "vadd" "vsub" "vabsdiff" "vmin" "vmax" "vshl" "vshr" "vmad" "vset";
    video, Any: "vadd2" "vsub2" "vavrg2" "vabsdiff2" "vmin2" "vmax2" "vset2";
    video, Any: "vadd4" "vsub4" "vavrg4" "vabsdiff4" "vmin4" "vmax4" "vset4";
    mov, OwnRegisters: "mov";
    convert, OwnRegisters: "cvt";
    space, OwnRegisters: "cvta" "isspacep";
    space, NoGlobalMemory: "mapa" "getctarank";
    memory, NoGlobalMemory: "ld" "ldu" "st" "prefetch" "prefetchu" "applypriority";
    memory, Any: "discard";
    asynchronous, Any: "cp";
    stack, NoGlobalMemory: "alloca" "stacksave" "stackrestore";
    atomic, NoGlobalMemory: "atom" "red";
    control, NoGlobalMemory: "bra" "brx" "ret" "exit" "trap" "brkpt" "nanosleep" "membar" "fence";
    control, NoGlobalMemory: "pmevent" "setmaxnreg" "griddepcontrol";
    control, Any: "call";
    mbarrier, Any: "mbarrier";
    barrier, NoGlobalMemory: "bar" "barrier";
    collective, NoGlobalMemory: "shfl" "vote" "match" "activemask" "redux" "elect";
    matrix, NoGlobalMemory: "ldmatrix" "movmatrix";
    matrix, Any: "stmatrix";
    wmma, Any: "wmma";
    mma, NoGlobalMemory: "mma";
    texture, NoGlobalMemory: "tex" "tld4";
    texture_query, NoGlobalMemory: "txq" "suq" "istypep";
    surface, NoGlobalMemory: "suld";
    surface, Any: "sust" "sured";
    policy, NoGlobalMemory: "createpolicy";
}

/// How undefined values reach the results of an instruction, apart from its accesses to memory.
fn way(instruction: &Instruction<'_>, effect: Effect) -> Way {
    let is_video = |opcode: &str| opcode.starts_with('v') && opcode != "vote";
    match instruction.opcode {
        "max" | "min" | "set" | "setp" | "testp" => Way::Compares,
        _ if instruction.modifiers.iter().any(|word| matches!(*word, "async" | "bulk")) => Way::Uses,
        // The conversions around an access.
        "atom" | "ld" | "ldu" | "red" | "st" | "wmma" => Way::Computes,
        "dp2a" | "dp4a" | "fns" | "mad24" | "match" | "mma" | "movmatrix" | "mul24" | "redux" | "shfl" | "szext"
        | "vote" => Way::Computes,
        opcode if effect == Effect::OwnRegisters || is_video(opcode) => Way::Computes,
        _ => Way::Uses,
    }
}

impl<'a> Builder<'_, 'a> {
    /// Resolves an instruction.
    ///
    /// # Errors
    /// For an unsupported instruction, with its name.
    pub(super) fn instruction(&mut self, instruction: &'a Instruction<'a>) -> Result<(), Error> {
        let mut modifiers = Modifiers::of(instruction);
        self.by_opcode(instruction, &mut modifiers)?;
        self.mark_linear(instruction);
        self.mark_arithmetic(instruction);
        self.all_taken(instruction, &modifiers)
    }

    fn changes(&mut self, instruction: &Instruction<'_>, effect: Effect) {
        self.per_lane = effect == Effect::OwnRegisters;
        self.way = way(instruction, effect);
        self.built().writes_otherwise |= effect == Effect::Any;
    }

    /// Resolves arithmetic, whose operation follows from its type and the carry flag.
    fn arithmetic(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        let has = |test: fn(&str) -> bool| instruction.modifiers.iter().any(|word| test(word));
        if has(|word| word == "f32x2" || Type::named(word).is_some_and(Type::is_float)) {
            self.floating(instruction, words)
        } else if matches!(instruction.opcode, "add" | "sub" | "mad") && has(|word| word == "cc") {
            self.carried(instruction, words)
        } else {
            self.integer(instruction, words)
        }
    }
}
