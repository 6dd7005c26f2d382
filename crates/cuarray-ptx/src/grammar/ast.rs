//! What the parser makes of PTX text: declarations and statements, names still names.

use super::types::{Space, Type};

/// A module as it is written.
#[derive(Default, Debug)]
pub(crate) struct Module<'a> {
    /// `.version`: major and minor.
    pub version: (u32, u32),
    /// `.target`: `sm_90`, and what follows it.
    pub target: Vec<&'a str>,
    pub variables: Vec<Variable<'a>>,
    pub functions: Vec<Function<'a>>,
    /// `.file`: numbers and names.
    pub files: Vec<(u64, &'a str)>,
}

/// Who sees a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Linkage {
    /// This module alone.
    #[default]
    Private,
    Visible,
    /// Visible, and another definition of the name takes precedence.
    Weak,
    /// Visible, and all modules share one.
    Common,
    /// Defined in another module.
    Extern,
}

/// A variable: of a module, of a function, or a parameter.
#[derive(Clone, Debug)]
pub(crate) struct Variable<'a> {
    pub name: &'a str,
    pub space: Space,
    pub ty: Type,
    pub linkage: Linkage,
    pub align: u64,
    /// How many elements of the type; 0 for an array of open size.
    pub elements: u64,
    pub initializer: Vec<Value<'a>>,
    pub line: u32,
}

impl Variable<'_> {
    /// Its size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.ty.size() * self.elements
    }
}

/// One element of an initializer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    /// The low bytes of this.
    Bits(u64),
    Single(u32),
    Double(u64),
    /// The address of a variable or function, or its generic one, plus a number, cut to a byte of it by a mask.
    Address {
        name: &'a str,
        generic: bool,
        offset: i64,
        shift: u32,
    },
}

/// A kernel or a device function.
#[derive(Debug)]
pub(crate) struct Function<'a> {
    pub name: &'a str,
    pub entry: bool,
    pub linkage: Linkage,
    pub results: Vec<Variable<'a>>,
    pub parameters: Vec<Variable<'a>>,
    /// `None`: declared only.
    pub body: Option<Vec<Statement<'a>>>,
    /// `.maxntid` or `.reqntid` in threads, and whether it was the latter.
    pub max_threads: Option<(u32, bool)>,
    pub line: u32,
}

/// A statement of a function's body.
#[derive(Debug)]
pub(crate) enum Statement<'a> {
    Block(Vec<Statement<'a>>),
    Label(&'a str, u32),
    /// `.reg`: a type and names, each with how many of it (`%r<5>`), if it is a family.
    Registers {
        ty: Type,
        vector: u32,
        names: Vec<(&'a str, Option<u64>)>,
        line: u32,
    },
    Variable(Variable<'a>),
    /// `.loc`: file, line.
    Location {
        file: u64,
        line: u64,
    },
    /// `name: .branchtargets a, b;`
    BranchTargets {
        name: &'a str,
        labels: Vec<&'a str>,
        line: u32,
    },
    /// `name: .callprototype (results) _ (parameters);`
    Prototype(Prototype<'a>),
    Instruction(Instruction<'a>),
}

/// The shape of a function that is called through its address.
#[derive(Clone, Debug)]
pub(crate) struct Prototype<'a> {
    pub name: &'a str,
    pub results: Vec<Variable<'a>>,
    pub parameters: Vec<Variable<'a>>,
}

/// `@!%p1 opcode.modifier operand, operand;`
#[derive(Debug)]
pub(crate) struct Instruction<'a> {
    /// The predicate, and whether it is negated.
    pub guard: Option<(&'a str, bool)>,
    pub opcode: &'a str,
    pub modifiers: Vec<&'a str>,
    pub operands: Vec<Operand<'a>>,
    pub line: u32,
}

/// An operand as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand<'a> {
    /// A register, a label, a variable, a function, a special register.
    Name(&'a str),
    /// `%tid.x`, `%v.w`.
    Component(&'a str, &'a str),
    /// `-%r1.b0`: a negated register, perhaps a part of it.
    Minus(&'a str, Option<&'a str>),
    /// `!%p1`.
    Not(&'a str),
    /// `%p1|%p2`.
    Pair(&'a str, &'a str),
    Integer(u64),
    Single(u32),
    Double(u64),
    /// `[base+offset]`; no base: an absolute address.
    Address {
        base: Option<&'a str>,
        offset: i64,
    },
    /// `name+4` outside of brackets.
    Sum(&'a str, i64),
    /// `{a, b}`.
    Vector(Vec<Operand<'a>>),
    /// `(a, b)`: the lists of a call.
    List(Vec<Operand<'a>>),
    /// `_`.
    Nothing,
}
