//! The syntax tree of PTX text: declarations and statements with unresolved names.

use super::types::{Space, Type};

/// A parsed module.
#[derive(Default, Debug)]
pub(crate) struct Module<'a> {
    /// The name for errors; empty if the image has none.
    pub name: &'a str,
    /// `.version`: major and minor.
    pub version: (u32, u32),
    /// `.target`: `sm_90`, and the options after it.
    pub target: Vec<&'a str>,
    pub variables: Vec<Variable<'a>>,
    pub functions: Vec<Function<'a>>,
    /// `.alias`: the further name of a function, the function, and the line.
    pub aliases: Vec<(&'a str, &'a str, u32)>,
    /// `.file`: numbers and names.
    pub files: Vec<(u64, &'a str)>,
    /// Whether the first comment names NVIDIA's compiler, which nvcc, NVRTC and Numba use.
    pub is_of_nvvm: bool,
}

/// The visibility of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Linkage {
    /// Visible in this module only.
    #[default]
    Private,
    Visible,
    /// Visible; another definition takes precedence.
    Weak,
    /// Visible; all modules share one.
    Common,
    /// Defined in another module.
    Extern,
}

/// A variable of a module or function, or a parameter.
#[derive(Clone, Debug)]
pub(crate) struct Variable<'a> {
    pub name: &'a str,
    pub space: Space,
    pub ty: Type,
    pub linkage: Linkage,
    pub align: u64,
    /// The number of elements; 0 for an array of open size.
    pub elements: u64,
    pub initializer: Vec<Value<'a>>,
    /// The kind of an opaque variable.
    pub opaque: Option<Opaque<'a>>,
    /// Whether the variable lies in managed memory.
    pub managed: bool,
    pub line: u32,
}

/// The kind of a variable whose contents are opaque.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Opaque<'a> {
    /// `.texref`.
    Texture,
    /// `.samplerref`, with the names and values of its initializer.
    Sampler(Vec<(&'a str, &'a str)>),
    /// `.surfref`.
    Surface,
}

impl Variable<'_> {
    /// The size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.ty.size() * self.elements
    }
}

/// One element of an initializer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    /// The low bytes of a number.
    Bits(u64),
    Single(u32),
    Double(u64),
    /// The address, or the generic address, of a variable or function, plus an offset. A mask such as `0xFF00(name)` selects the byte
    /// at bit `shift`.
    Address {
        name: &'a str,
        generic: bool,
        offset: i64,
        shift: u32,
    },
}

/// The directives of a kernel about its clusters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClusterDirectives {
    /// `.reqnctapercluster`: the blocks of a cluster along x, y and z.
    pub size: Option<[u32; 3]>,
    /// `.explicitcluster`: a launch without a cluster size fails.
    pub explicit: bool,
    /// `.maxclusterrank`: the maximum number of blocks of a cluster.
    pub max_blocks: Option<u32>,
}

/// A kernel or a device function.
#[derive(Debug)]
pub(crate) struct Function<'a> {
    pub name: &'a str,
    pub entry: bool,
    pub linkage: Linkage,
    pub results: Vec<Variable<'a>>,
    pub parameters: Vec<Variable<'a>>,
    /// `None` for a declaration.
    pub body: Option<Body<'a>>,
    /// The threads of `.maxntid` or `.reqntid`, and whether it was `.reqntid`.
    pub max_threads: Option<(u32, bool)>,
    pub cluster: ClusterDirectives,
    /// `.maxnreg`; 0 without it.
    pub max_registers: u32,
    /// `.minnctapersm`; 0 without it.
    pub min_blocks: u32,
    pub line: u32,
}

/// The body of a function, whose brackets are in pairs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'a> {
    /// The text after the opening bracket, with the closing one.
    pub text: &'a str,
    /// The line of its start.
    pub line: u32,
}

/// A statement of a function's body.
#[derive(Debug)]
pub(crate) enum Statement<'a> {
    Block(Vec<Statement<'a>>),
    Label(&'a str, u32),
    /// `.reg`: a type and names. A family such as `%r<5>` has a count.
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
        /// File and line of the call that was inlined.
        inlined_at: Option<(u64, u64)>,
    },
    /// `name: .branchtargets a, b;`
    BranchTargets {
        name: &'a str,
        labels: Vec<&'a str>,
        line: u32,
    },
    /// `name: .calltargets f, g;`: functions of one signature.
    CallTargets {
        name: &'a str,
        function: &'a str,
    },
    /// `name: .callprototype (results) _ (parameters);`
    Prototype(Prototype<'a>),
    Instruction(Instruction<'a>),
}

/// The signature of a function that is called through its address.
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

/// An operand before names are resolved.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand<'a> {
    /// A register, a label, a variable, a function, or a special register.
    Name(&'a str),
    /// `%tid.x`, `%v.w`.
    Component(&'a str, &'a str),
    /// `-%r1.b0`: a negated register, or a part of it.
    Minus(&'a str, Option<&'a str>),
    /// `!%p1`.
    Not(&'a str),
    /// `%p1|%p2`.
    Pair(&'a str, &'a str),
    Integer(u64),
    Single(u32),
    Double(u64),
    /// `[base+offset]`; an absolute address has no base.
    Address {
        base: Option<&'a str>,
        offset: i64,
    },
    /// `[base, {x, y}]`: an address with further operands, as of textures and tensors. The base may be a number.
    Coordinates {
        base: Option<&'a str>,
        rest: Vec<Operand<'a>>,
    },
    /// `{a, b}|%p`: the results of a texture fetch, and the predicate that tells whether the texels are resident.
    Resident(Vec<Operand<'a>>, &'a str),
    /// `name+4` outside of brackets.
    Sum(&'a str, i64),
    /// `name[4]`, `name[%r1]` or `name[%r1+4]`: an element of an array, by its index.
    Element {
        name: &'a str,
        register: Option<&'a str>,
        index: i64,
    },
    /// `{a, b}`.
    Vector(Vec<Operand<'a>>),
    /// `(a, b)`: an argument or result list of a call.
    List(Vec<Operand<'a>>),
    /// `_`.
    Nothing,
}
