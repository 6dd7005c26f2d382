//! Generated code and the interpreter: kernels that are made out of the bytes leave the same memory, faults, counts and findings both ways.
//!
//! The kernels have loops that end, branches in which threads diverge, and barriers that all threads reach. Values of all widths wrap around. Threads
//! access a buffer and shared memory at any distance. So some kernels race, some make misaligned accesses, and some fail.

use arbitrary::{Result, Unstructured};
use cuarray_ptx::{Code, Image, Launch, Outcome, Program, Region, execute, load};
use std::fmt::Write;

/// The words of the buffer, and the bytes of shared memory.
const WORDS: usize = 512;
const SHARED: u32 = 1024;
/// The address of the buffer.
const START: u64 = 0x7000_0000_0000;
/// The deepest nesting of loops and branches.
const DEPTH: u32 = 3;

/// A kernel in the making.
struct Kernel<'u, 'd> {
    bytes: &'u mut Unstructured<'d>,
    text: String,
    labels: u32,
}

/// Instructions of two operands and a result: of 32 bits, of 64 bits, and of `f32`.
const NARROW: &[&str] = &[
    "add.u32",
    "sub.u32",
    "mul.lo.u32",
    "mul.hi.s32",
    "min.s32",
    "max.u32",
    "and.b32",
    "or.b32",
    "xor.b32",
    "shl.b32",
    "shr.s32",
    "shr.u32",
    "div.u32",
    "rem.s32",
];
const WIDE: &[&str] = &["add.u64", "sub.u64", "mul.lo.u64", "min.u64", "max.s64", "and.b64", "xor.b64"];
const FLOAT: &[&str] = &["add.rn.f32", "sub.rn.f32", "mul.rn.f32", "min.f32", "max.f32", "div.rn.f32"];
const TESTS: &[&str] = &["eq.u32", "ne.u32", "lt.s32", "ge.u32", "gt.s32"];

impl Kernel<'_, '_> {
    fn below(&mut self, limit: u32) -> Result<u32> {
        self.bytes.int_in_range(0..=limit - 1)
    }

    fn one_of<'l>(&mut self, list: &[&'l str]) -> Result<&'l str> {
        self.bytes.choose(list).copied()
    }

    /// A source of 32 bits: a register, the thread, or a number.
    fn narrow(&mut self) -> Result<String> {
        Ok(match self.below(8)? {
            0 => "%t".to_owned(),
            1 => "%b".to_owned(),
            2 => self.bytes.arbitrary::<i8>()?.to_string(),
            3 => format!("0x{:x}", self.bytes.arbitrary::<u32>()?),
            number => format!("%r{}", number - 4),
        })
    }

    fn wide(&mut self) -> Result<String> {
        Ok(match self.below(5)? {
            0 => self.bytes.arbitrary::<i16>()?.to_string(),
            number => format!("%l{}", number - 1),
        })
    }

    /// A guard, which some instructions have.
    fn guard(&mut self) -> Result<String> {
        Ok(match self.below(6)? {
            0 => format!("@%p{} ", self.below(3)?),
            1 => format!("@!%p{} ", self.below(3)?),
            _ => String::new(),
        })
    }

    /// An address in shared memory or in the buffer: equal in all threads, linear in the thread, or of any value.
    fn access(&mut self) -> Result<()> {
        let (size, ty) = [(1, "u8"), (2, "u16"), (4, "u32"), (8, "u64"), (4, "f32")][self.below(5)? as usize];
        let shared = self.bytes.arbitrary()?;
        let bytes = if shared { SHARED } else { 8 * WORDS as u32 };
        match self.below(4)? {
            0 => self.line("mov.u32 %x, %b;")?,
            1 => self.line(&format!("mul.lo.u32 %x, %t, {size};"))?,
            2 => {
                let distance = self.below(64)?;
                self.line(&format!("mul.lo.u32 %x, %t, {distance};"))?;
            }
            _ => {
                let register = self.below(4)?;
                self.line(&format!("mov.u32 %x, %r{register};"))?;
            }
        }
        // Mostly inside of the memory and aligned.
        let mask = if self.below(32)? == 0 { bytes - 1 } else { (bytes - 1) & !(size - 1) };
        self.line(&format!("and.b32 %x, %x, {mask};"))?;
        let offset = if self.below(8)? == 0 { self.below(64)? * size } else { 0 };
        let place = if shared {
            self.line("mov.u32 %y, box; add.u32 %x, %x, %y;")?;
            format!("[%x+{offset}]")
        } else {
            self.line("cvt.u64.u32 %a, %x; add.u64 %a, %a, %out;")?;
            format!("[%a+{offset}]")
        };
        let space = if shared { "shared" } else { "global" };
        let register = match ty {
            "u64" => format!("%l{}", self.below(4)?),
            "f32" => format!("%f{}", self.below(3)?),
            _ => format!("%r{}", self.below(4)?),
        };
        let guard = self.guard()?;
        match self.bytes.arbitrary()? {
            true => self.line(&format!("{guard}ld.{space}.{ty} {register}, {place};")),
            false => self.line(&format!("{guard}st.{space}.{ty} {place}, {register};")),
        }
    }

    fn line(&mut self, text: &str) -> Result<()> {
        self.text += text;
        self.text.push('\n');
        Ok(())
    }

    fn arithmetic(&mut self) -> Result<()> {
        let guard = self.guard()?;
        let text = match self.below(6)? {
            0 => {
                let (operation, to) = (self.one_of(WIDE)?, self.below(4)?);
                format!("{guard}{operation} %l{to}, %l{}, {};", self.below(4)?, self.wide()?)
            }
            1 => {
                let (operation, to) = (self.one_of(FLOAT)?, self.below(3)?);
                format!("{guard}{operation} %f{to}, %f{}, %f{};", self.below(3)?, self.below(3)?)
            }
            2 => {
                let (test, to) = (self.one_of(TESTS)?, self.below(3)?);
                format!("{guard}setp.{test} %p{to}, {}, {};", self.narrow()?, self.narrow()?)
            }
            3 => match self.below(5)? {
                0 => format!("{guard}cvt.u64.u32 %l{}, %r{};", self.below(4)?, self.below(4)?),
                1 => format!("{guard}cvt.u32.u64 %r{}, %l{};", self.below(4)?, self.below(4)?),
                2 => format!("{guard}mul.wide.s32 %l{}, %r{}, {};", self.below(4)?, self.below(4)?, self.narrow()?),
                3 => format!("{guard}cvt.rn.f32.s32 %f{}, %r{};", self.below(3)?, self.below(4)?),
                _ => format!(
                    "{guard}selp.u32 %r{}, {}, {}, %p{};",
                    self.below(4)?,
                    self.narrow()?,
                    self.narrow()?,
                    self.below(3)?
                ),
            },
            _ => {
                let (operation, to) = (self.one_of(NARROW)?, self.below(4)?);
                format!("{guard}{operation} %r{to}, {}, {};", self.narrow()?, self.narrow()?)
            }
        };
        self.line(&text)
    }

    /// Instructions at a depth. Barriers are where all threads of the block come by.
    fn body(&mut self, depth: u32) -> Result<()> {
        for _ in 0..1 + self.below(6)? {
            match self.below(10)? {
                0 if depth == 0 => self.line("bar.sync 0;")?,
                1 if depth < DEPTH => {
                    self.labels += 1;
                    let (label, predicate, guard) = (self.labels, self.below(3)?, self.one_of(&["", "!"])?);
                    self.line(&format!("@{guard}%p{predicate} bra ELSE{label};"))?;
                    self.body(depth + 1)?;
                    if self.bytes.arbitrary()? {
                        self.line(&format!("bra END{label};\nELSE{label}:"))?;
                        self.body(depth + 1)?;
                        self.line(&format!("END{label}:"))?;
                    } else {
                        self.line(&format!("ELSE{label}:"))?;
                    }
                }
                2 if depth < DEPTH => {
                    self.labels += 1;
                    let (label, most) = (self.labels, 1 + self.below(5)?);
                    // Some threads make more rounds than others.
                    let source = self.one_of(&["%t", "%r0", "7"])?;
                    self.line(&format!("rem.u32 %n{depth}, {source}, {most};\nLOOP{label}:"))?;
                    self.body(depth + 1)?;
                    self.line(&format!(
                        "sub.u32 %n{depth}, %n{depth}, 1; setp.lt.u32 %q, %n{depth}, {most}; @%q bra LOOP{label};"
                    ))?;
                }
                3..=5 => self.access()?,
                _ => self.arithmetic()?,
            }
        }
        Ok(())
    }

    fn source(mut self) -> Result<String> {
        self.body(0)?;
        let mut end = String::new();
        for (offset, register) in ["u32 %r0", "u32 %r1", "u32 %r2", "u32 %r3", "f32 %f0", "f32 %f1"].iter().enumerate()
        {
            let (ty, register) = register.split_once(' ').unwrap_or_default();
            let _ = writeln!(end, "st.global.{ty} [%end+{}], {register};", 4 * offset);
        }
        for register in 0..4 {
            let _ = writeln!(end, "st.global.u64 [%end+{}], %l{register};", 24 + 8 * register);
        }
        Ok(format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 n) {{\n\
             .reg .pred %p<3>, %q; .reg .b32 %r<4>, %n<4>, %t, %b, %x, %y; .reg .b64 %l<4>, %out, %end, %a; .reg .f32 %f<3>;\n\
             .shared .align 8 .b8 box[{SHARED}];\n\
             ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %x, %ntid.x; mad.lo.u32 %x, %b, %x, %t;\n\
             mad.wide.u32 %end, %x, 56, %out; add.u64 %end, %end, {};\n\
             ld.param.u32 %r0, [n]; mov.u32 %r1, %t; mul.lo.u32 %r2, %t, 0x9e3779b1; mov.u32 %r3, %b; cvt.u64.u32 %l0, %t; mov.u64 %l1, 9;\n\
             mul.wide.u32 %l2, %r2, %r2; mov.u64 %l3, -1; cvt.rn.f32.u32 %f0, %t; mov.f32 %f1, 0f40200000; mov.f32 %f2, 0f00000000;\n\
             setp.lt.u32 %p0, %t, 13; setp.gt.s32 %p1, %r2, 0; setp.eq.u32 %p2, %b, 0;\n\
             {}{end}ret; }}\n",
            8 * WORDS,
            self.text
        ))
    }
}

/// The threads of a block, and the blocks.
const THREADS: u32 = 80;
const BLOCKS: u32 = 2;

/// Runs the kernel over a new buffer; returns it with the outcome.
fn left_by(program: &Program, code: Code, findings: bool) -> (Vec<u64>, Outcome) {
    let mut memory: Vec<u64> = (0..WORDS as u64 + u64::from(THREADS * BLOCKS * 7))
        .map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect();
    let end = START + 8 * memory.len() as u64;
    let regions = [Region { start: START, end, host: memory.as_mut_ptr() as u64, writable: true, slack: 0, group: 0 }];
    let (constants, parameters) = (program.constants(|_| 0), [START, 5]);
    let launch = Launch {
        grid: [BLOCKS, 1, 1],
        threads: [THREADS, 1, 1],
        regions: &regions,
        record: findings,
        races: findings,
        budget: 1 << 20,
        code,
        ..Launch::new(program, program.kernels()["k"], &constants, &parameters)
    };
    // SAFETY: the region is the buffer, which nothing else accesses during the call.
    let outcome = unsafe { execute(&launch) };
    (memory, outcome)
}

/// Makes a kernel, and runs it both ways, with findings and without.
pub fn check(data: &[u8]) {
    let mut bytes = Unstructured::new(data);
    let Ok(source) = (Kernel { bytes: &mut bytes, text: String::new(), labels: 0 }).source() else { return };
    let image = Image::read(source.as_bytes()).unwrap_or_else(|error| panic!("{error:?}\n{source}"));
    for findings in [true, false] {
        let [interpreted, generated] = [Code::Interpreted, Code::Generated].map(|code| {
            // Each way begins with a program that has no code yet.
            let program = load(&image).unwrap_or_else(|error| panic!("{error}\n{source}"));
            left_by(&program, code, findings)
        });
        let different = interpreted.0.iter().zip(&generated.0).position(|(one, other)| one != other);
        assert_eq!(different, None, "a word of memory, findings: {findings}\n{source}");
        let facts = |outcome: &Outcome| {
            let Outcome { fault, instructions, nanoseconds, races, misuses, touched, undefined, .. } = outcome;
            format!("{fault:?} {instructions} {nanoseconds} {races:?} {misuses:?} {touched:?} {undefined:?}")
        };
        assert_eq!(facts(&interpreted.1), facts(&generated.1), "findings: {findings}\n{source}");
    }
}
