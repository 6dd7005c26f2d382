//! The dispatch of an instruction to its family.

use super::builder::Builder;
use super::operand::Modifiers;
use crate::Error;
use crate::grammar::ast::Instruction;
use crate::machine::undefined::Way;

/// Whether an instruction is known to compute its result in each lane from the lane's own registers. One that is not listed
/// is slower, not wrong.
fn is_per_lane(opcode: &str) -> bool {
    matches!(
        opcode,
        "abs"
            | "add"
            | "addc"
            | "and"
            | "bfe"
            | "bfi"
            | "bfind"
            | "bmsk"
            | "brev"
            | "clz"
            | "cnot"
            | "copysign"
            | "cos"
            | "cvt"
            | "cvta"
            | "div"
            | "ex2"
            | "fma"
            | "isspacep"
            | "lg2"
            | "lop3"
            | "mad"
            | "madc"
            | "max"
            | "min"
            | "mov"
            | "mul"
            | "neg"
            | "not"
            | "or"
            | "popc"
            | "prmt"
            | "rcp"
            | "rem"
            | "rsqrt"
            | "sad"
            | "selp"
            | "set"
            | "setp"
            | "shf"
            | "shl"
            | "shr"
            | "sin"
            | "slct"
            | "sqrt"
            | "sub"
            | "subc"
            | "tanh"
            | "testp"
            | "xor"
    )
}

/// How undefined values reach the results of an instruction, apart from its accesses to memory.
fn way(instruction: &Instruction<'_>) -> Way {
    match instruction.opcode {
        "max" | "min" | "set" | "setp" | "testp" => Way::Compares,
        _ if instruction.modifiers.iter().any(|word| matches!(*word, "async" | "bulk")) => Way::Uses,
        // The conversions around an access.
        "atom" | "ld" | "ldu" | "red" | "st" | "wmma" => Way::Computes,
        "dp2a" | "dp4a" | "fns" | "mad24" | "match" | "mma" | "movmatrix" | "mul24" | "redux" | "shfl" | "szext"
        | "vote" => Way::Computes,
        opcode if is_per_lane(opcode) || is_video(opcode) => Way::Computes,
        _ => Way::Uses,
    }
}

/// Whether an opcode is that of a video instruction.
fn is_video(opcode: &str) -> bool {
    opcode.strip_prefix('v').is_some_and(|rest| rest != "ote")
}

/// Whether another instruction writes no global memory, apart from plain stores.
fn writes_no_global_memory(opcode: &str) -> bool {
    matches!(
        opcode,
        "activemask"
            | "alloca"
            | "applypriority"
            | "bar"
            | "barrier"
            | "bra"
            | "brkpt"
            | "brx"
            | "createpolicy"
            | "dp2a"
            | "dp4a"
            | "elect"
            | "exit"
            | "fence"
            | "fns"
            | "getctarank"
            | "griddepcontrol"
            | "istypep"
            | "ld"
            | "ldmatrix"
            | "ldu"
            | "mad24"
            | "mapa"
            | "match"
            | "membar"
            | "mma"
            | "movmatrix"
            | "mul24"
            | "nanosleep"
            | "pmevent"
            | "prefetch"
            | "prefetchu"
            | "redux"
            | "ret"
            | "setmaxnreg"
            | "shfl"
            | "st"
            | "stackrestore"
            | "stacksave"
            | "suld"
            | "suq"
            | "szext"
            | "tex"
            | "tld4"
            | "trap"
            | "txq"
            | "vote"
    )
}

impl<'a> Builder<'_, 'a> {
    /// Resolves an instruction.
    ///
    /// # Errors
    /// For an unsupported instruction, with its name.
    pub(super) fn instruction(&mut self, instruction: &'a Instruction<'a>) -> Result<(), Error> {
        let mut modifiers = Modifiers::of(instruction);
        let words = &mut modifiers;
        self.per_lane = is_per_lane(instruction.opcode);
        self.way = way(instruction);
        let writes_none = self.per_lane || writes_no_global_memory(instruction.opcode);
        self.built().writes_otherwise |= !writes_none;
        match instruction.opcode {
            "add" | "sub" | "mul" | "mad" | "min" | "max" | "abs" | "neg" | "div" if is_float(instruction) => {
                self.floating(instruction, words)?;
            }
            "fma" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" | "copysign" | "testp" => {
                self.floating(instruction, words)?;
            }
            "add" | "addc" | "sub" | "subc" | "mad" | "madc" if carries(instruction) => {
                self.carried(instruction, words)?
            }
            "add" | "sub" | "mul" | "mad" | "mul24" | "mad24" | "sad" | "div" | "rem" | "abs" | "neg" | "min"
            | "max" | "popc" | "clz" | "bfind" | "fns" | "brev" | "bfe" | "bfi" | "bmsk" | "szext" | "dp4a"
            | "dp2a" => {
                self.integer(instruction, words)?;
            }
            "and" | "or" | "xor" | "not" | "cnot" | "lop3" | "shl" | "shr" | "shf" | "prmt" => {
                self.logic(instruction, words)?;
            }
            "set" | "setp" | "selp" | "slct" => self.comparison(instruction, words)?,
            "vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax" | "vshl" | "vshr" | "vmad" | "vset" | "vadd2" | "vsub2"
            | "vavrg2" | "vabsdiff2" | "vmin2" | "vmax2" | "vset2" | "vadd4" | "vsub4" | "vavrg4" | "vabsdiff4"
            | "vmin4" | "vmax4" | "vset4" => self.video(instruction, words)?,
            "mov" => self.mov(instruction, words)?,
            "cvt" => self.convert(instruction, words)?,
            "cvta" | "isspacep" | "mapa" | "getctarank" => self.space(instruction, words)?,
            "ld" | "ldu" | "st" | "prefetch" | "prefetchu" | "discard" | "applypriority" => {
                self.memory(instruction, words)?;
            }
            "cp" => self.asynchronous(instruction, words)?,
            "alloca" | "stacksave" | "stackrestore" => self.stack(instruction, words)?,
            "atom" | "red" => self.atomic(instruction, words)?,
            "bra" | "brx" | "call" | "ret" | "exit" | "trap" | "brkpt" | "nanosleep" | "membar" | "fence"
            | "pmevent" | "setmaxnreg" | "griddepcontrol" => self.control(instruction, words)?,
            "mbarrier" => self.mbarrier(instruction, words)?,
            "bar" | "barrier" => self.barrier(instruction, words)?,
            "shfl" | "vote" | "match" | "activemask" | "redux" | "elect" => self.collective(instruction, words)?,
            "ldmatrix" | "stmatrix" | "movmatrix" => self.matrix(instruction, words)?,
            "wmma" => self.wmma(instruction, words)?,
            "mma" => self.mma(instruction, words)?,
            "tex" | "tld4" => self.texture(instruction, words)?,
            "txq" | "suq" | "istypep" => self.texture_query(instruction, words)?,
            "suld" | "sust" | "sured" => self.surface(instruction, words)?,
            "createpolicy" => self.policy(instruction, words)?,
            _ => return self.not_executed(instruction),
        }
        self.mark_linear(instruction);
        self.all_taken(instruction, &modifiers)
    }
}

/// Whether the instruction's type is a floating-point type.
fn is_float(instruction: &Instruction<'_>) -> bool {
    use crate::grammar::types::Type;
    instruction.modifiers.iter().any(|word| *word == "f32x2" || Type::named(word).is_some_and(Type::is_float))
}

fn carries(instruction: &Instruction<'_>) -> bool {
    instruction.opcode.ends_with('c') || instruction.modifiers.contains(&"cc")
}
