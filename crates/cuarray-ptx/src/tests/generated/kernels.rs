//! Random kernels of arithmetic, accesses, loops and divergence.

use super::super::random::Random;

/// The registers whose values each thread stores at the end, in words of 64 bits.
pub(super) const REGISTERS: [&str; 20] = [
    "%r0", "%r1", "%r2", "%r3", "%r4", "%r5", "%l0", "%l1", "%l2", "%l3", "%f0", "%f1", "%f2", "%f3", "%d0", "%d1",
    "%d2", "%pr0", "%pr1", "%pr2",
];
const NARROW: [&str; 8] = ["%r0", "%r1", "%r2", "%r3", "%r4", "%r5", "%t", "%b"];
const WIDE: [&str; 4] = ["%l0", "%l1", "%l2", "%l3"];
const SINGLE: [&str; 4] = ["%f0", "%f1", "%f2", "%f3"];
const DOUBLE: [&str; 3] = ["%d0", "%d1", "%d2"];
const PREDICATES: [&str; 3] = ["%p0", "%p1", "%p2"];

const NUMBERS: [&str; 17] = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "5",
    "7",
    "15",
    "31",
    "32",
    "63",
    "127",
    "0x7fffffff",
    "0x80000000",
    "0xfffffff0",
    "-32",
    "4096",
];
const SINGLES: [&str; 8] =
    ["0f00000000", "0f80000000", "0f3f800000", "0f7f800000", "0fffc00001", "0f00000001", "0f4f000000", "0fcf000001"];
const DOUBLES: [&str; 5] =
    ["0d0000000000000000", "0d8000000000000000", "0d3ff0000000000000", "0d7ff0000000000000", "0d7ff8000000000123"];

/// A launch of a random kernel.
pub(super) struct Kernel {
    pub source: String,
    pub grid: [u32; 3],
    pub threads: [u32; 3],
    pub parameters: Vec<u64>,
}

/// A number whose bits look random.
pub(super) fn scattered(number: u64) -> u64 {
    let mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ mixed >> 29).wrapping_mul(0x94d0_49bb_1331_11eb)
}

struct Writer<'r> {
    random: &'r mut Random,
    text: String,
    labels: u32,
    depth: u32,
    /// Whether all threads of the block are known to be here.
    together: bool,
    /// Whether addresses may lie outside of the buffer.
    strays: bool,
}

impl Kernel {
    pub(super) fn random(random: &mut Random) -> Kernel {
        let shapes: [[u32; 3]; 12] = [
            [128, 1, 1],
            [32, 1, 1],
            [64, 1, 1],
            [96, 1, 1],
            [33, 1, 1],
            [16, 4, 1],
            [8, 8, 1],
            [4, 2, 8],
            [20, 1, 1],
            [16, 3, 1],
            [5, 7, 1],
            [1, 1, 1],
        ];
        let threads = shapes[random.below(shapes.len() as u64) as usize];
        let grid = [1 + random.below(3) as u32, 1, 1];
        let numbers = [0, 1, 5, 33, 1 << 31, u32::MAX.into()];
        let parameters = (0..4)
            .map(|_| {
                if random.below(2) == 0 { numbers[random.below(6) as usize] } else { scattered(random.below(1 << 30)) }
            })
            .collect();
        let strays = random.below(12) == 0;
        let fills = random.below(2) == 0;
        // The warps of a block without barriers run one after the other.
        let together = random.below(4) > 0;
        let mut writer = Writer { random, text: String::new(), labels: 0, depth: 0, together, strays };
        if together {
            writer.add("bar.sync 0;");
        }
        let count = 4 + writer.random.below(14);
        writer.statements(count);
        let stores: String = REGISTERS
            .iter()
            .enumerate()
            .map(|(index, register)| {
                let offset = 8 * index;
                match &register[..2] {
                    "%r" => format!("st.global.u32 [%at+{offset}], {register};\n"),
                    "%f" => format!("st.global.f32 [%at+{offset}], {register};\n"),
                    "%l" => format!("st.global.u64 [%at+{offset}], {register};\n"),
                    "%d" => format!("st.global.f64 [%at+{offset}], {register};\n"),
                    _ => format!("selp.u32 %x, 1, 0, %p{}; st.global.u32 [%at+{offset}], %x;\n", &register[3..]),
                }
            })
            .collect();
        let fill = if fills { FILL } else { "" };
        let source = format!("{BEGIN}{fill}{}DONE:\n{stores}ret; }}", writer.text);
        Kernel { source, grid, threads, parameters }
    }
}

/// The first instructions: each register gets a value that is equal in all threads, linear, or neither. `%at` is the thread's own part
/// of the buffer, and `%in` the buffer.
const BEGIN: &str = "\
.visible .entry k(.param .u64 out, .param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {
.reg .pred %p<3>, %q; .reg .b32 %r<6>, %t, %b, %n<4>, %x, %y, %m; .reg .b64 %l<4>, %at, %in, %z, %w; .reg .f32 %f<4>; .reg .f64 %d<3>;
.reg .b32 %unread; .reg .b64 %unreadw; .reg .f32 %unreadf; .reg .f64 %unreadd;
.shared .align 16 .b8 s[2048];
ld.param.u64 %in, [out]; cvta.to.global.u64 %in, %in;
mov.u32 %x, %tid.y; mov.u32 %y, %ntid.x; mov.u32 %t, %tid.x; mad.lo.s32 %t, %x, %y, %t;
mov.u32 %x, %tid.z; mov.u32 %m, %ntid.y; mul.lo.s32 %x, %x, %m; mad.lo.s32 %t, %x, %y, %t;
mov.u32 %m, %ntid.z; mov.u32 %x, %ntid.y; mul.lo.s32 %m, %m, %x; mul.lo.s32 %m, %m, %y;
mov.u32 %b, %ctaid.x; mad.lo.s32 %x, %b, %m, %t; mul.wide.u32 %at, %x, 160; add.s64 %at, %at, %in;
ld.param.u32 %r0, [a]; mov.u32 %r1, %t; ld.param.u32 %r2, [b+4]; mov.u32 %r3, %laneid; mul.lo.s32 %r4, %t, 0x9e3779b1; mov.u32 %r5, 7;
ld.param.u64 %l0, [a]; mul.wide.s32 %l1, %r1, 12; ld.param.u64 %l2, [c]; mul.wide.u32 %l3, %r4, %r4;
ld.param.f32 %f0, [d]; cvt.rn.f32.s32 %f1, %r1; mov.f32 %f2, 0f3fc00000; mov.b32 %f3, %r4;
mov.f64 %d0, 0d3ff8000000000000; cvt.rn.f64.s32 %d1, %r4; cvt.f64.f32 %d2, %f1;
setp.lt.s32 %p0, %r3, 9; setp.ne.s32 %p1, %r0, 0; setp.gt.u32 %p2, %r4, 0x70000000;
shl.b32 %x, %t, 3; and.b32 %x, %x, 2040; mov.u32 %y, s; add.u32 %x, %x, %y; st.shared.u64 [%x], %l3;
";

/// Writes all of the shared memory.
const FILL: &str = "\
mov.u32 %x, %t; FILL: mov.u32 %y, s; mad.lo.u32 %y, %x, 8, %y; mul.wide.u32 %z, %x, 0x9e3779b1; st.shared.u64 [%y], %z;
add.u32 %x, %x, %m; setp.lt.u32 %q, %x, 256; @%q bra FILL;
";

/// The atomic operations on words of shared memory.
const UPDATES: [(&str, &str); 20] = [
    ("add", "u32"),
    ("add", "s32"),
    ("and", "b32"),
    ("or", "b32"),
    ("xor", "b32"),
    ("exch", "b32"),
    ("min", "s32"),
    ("min", "u32"),
    ("max", "s32"),
    ("max", "u32"),
    ("add", "u64"),
    ("and", "b64"),
    ("or", "b64"),
    ("xor", "b64"),
    ("exch", "b64"),
    ("min", "s64"),
    ("min", "u64"),
    ("max", "s64"),
    ("add", "f32"),
    ("add", "f64"),
];

impl Writer<'_> {
    fn add(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn narrow(&mut self) -> String {
        if self.random.below(4) == 0 {
            self.random.one_of(&NUMBERS).to_owned()
        } else {
            self.random.one_of(&NARROW).to_owned()
        }
    }

    fn wide(&mut self) -> String {
        match self.random.below(6) {
            0 => self.random.one_of(&NUMBERS).to_owned(),
            1 => "0x8000000000000000".to_owned(),
            _ => self.random.one_of(&WIDE).to_owned(),
        }
    }

    fn single(&mut self) -> String {
        if self.random.below(5) == 0 {
            self.random.one_of(&SINGLES).to_owned()
        } else {
            self.random.one_of(&SINGLE).to_owned()
        }
    }

    fn double(&mut self) -> String {
        if self.random.below(5) == 0 {
            self.random.one_of(&DOUBLES).to_owned()
        } else {
            self.random.one_of(&DOUBLE).to_owned()
        }
    }

    fn statements(&mut self, count: u64) {
        for _ in 0..count {
            match self.random.below(20) {
                0..3 if self.depth < 3 => self.branch(),
                3 if self.depth < 2 => self.cases(),
                4..6 if self.depth < 2 => self.repeat(),
                6 if self.together => self.barrier(),
                7 if self.together && self.random.below(2) == 0 => self.collective(),
                7 if self.random.below(2) == 0 => self.update(),
                7 => self.exchange(),
                8 if self.random.below(6) == 0 => self.leave(),
                8..10 => self.access(),
                10 => self.accesses(),
                11 => self.vector(),
                _ => {
                    let guard =
                        if self.random.below(6) == 0 { self.random.one_of(&["@%p0 ", "@!%p1 ", "@%p2 "]) } else { "" };
                    let line = self.computation();
                    self.add(&format!("{guard}{line}"));
                }
            }
        }
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    fn inside(&mut self, f: impl FnOnce(&mut Self)) {
        let together = std::mem::replace(&mut self.together, false);
        self.depth += 1;
        f(self);
        self.depth -= 1;
        self.together = together;
    }

    /// A branch around statements, or with two sides.
    fn branch(&mut self) {
        let (other, end) = (self.label(), self.label());
        let guard = self.random.one_of(&["@%p0", "@%p1", "@!%p2", "@!%p0"]);
        let two = self.random.below(2) == 0;
        // Addresses that are linear in the lane's number also where some lanes do not take part.
        let before = self.random.below(3) == 0;
        if before {
            self.add("mov.u32 %x, %laneid; shl.b32 %x, %x, 2; mov.u32 %y, s; add.u32 %y, %y, %x;");
        }
        self.add(&format!("{guard} bra {other};"));
        self.inside(|writer| {
            if before {
                let (a, b) = (writer.random.one_of(&NARROW), writer.random.one_of(&NARROW[..6]));
                writer.add(&format!(
                    "st.shared.u32 [%y+128], {a}; ld.shared.u32 {b}, [%y+132]; st.shared.u32 [%y], {b};"
                ));
            }
            let count = 1 + writer.random.below(5);
            writer.statements(count);
            if two {
                writer.add(&format!("bra {end};"));
            }
            writer.add(&format!("{other}:"));
            if two {
                writer.statements(count);
                writer.add(&format!("{end}:"));
            }
        });
    }

    /// Several jumps to cases. Behind a case, threads continue with the next one, leave all of them, or some of them jump over a few.
    fn cases(&mut self) {
        let end = self.label();
        let cases: Vec<String> = (0..2 + self.random.below(4)).map(|_| self.label()).collect();
        self.inside(|writer| {
            let guard = |writer: &mut Self| writer.random.one_of(&["@%p0", "@%p1", "@!%p2", "@!%p0"]);
            for case in &cases {
                let guard = guard(writer);
                writer.add(&format!("{guard} bra {case};"));
                let count = writer.random.below(3);
                writer.statements(count);
            }
            if writer.random.below(2) == 0 {
                writer.add(&format!("bra {end};"));
            }
            for (number, case) in cases.iter().enumerate() {
                writer.add(&format!("{case}:"));
                let count = 1 + writer.random.below(3);
                writer.statements(count);
                let later = &cases[number + 1..];
                let to = later.get(writer.random.below(3) as usize).unwrap_or(&end);
                match writer.random.below(3) {
                    0 => {}
                    1 => writer.add(&format!("bra {end};")),
                    _ => {
                        let guard = guard(writer);
                        writer.add(&format!("{guard} bra {to};"));
                    }
                }
            }
            writer.add(&format!("{end}:"));
        });
    }

    /// A loop whose number of rounds is equal in all threads, or depends on the lane.
    fn repeat(&mut self) {
        let (start, counter) = (self.label(), format!("%n{}", self.depth));
        let (rounds, equal) = match self.random.below(5) {
            0 => ("and.b32 %x, %r4, 7;", false),
            1 => ("and.b32 %x, %t, 3;", false),
            2 | 3 => ("mov.u32 %x, 5;", true),
            _ => ("and.b32 %x, %r0, 15;", false),
        };
        self.add(&format!("{rounds} add.u32 {counter}, %x, 1;\n{start}:"));
        let together = self.together && equal;
        self.inside(|writer| {
            // Barriers may be in a loop of all threads.
            writer.together = together;
            let count = 1 + writer.random.below(6);
            writer.statements(count);
        });
        self.add(&format!("sub.u32 {counter}, {counter}, 1; setp.ne.u32 %q, {counter}, 0; @%q bra {start};"));
    }

    /// Some threads end early, or go to the end.
    fn leave(&mut self) {
        // A thread that has ended arrives at no barrier.
        let how = if self.random.below(2) == 0 { "bra DONE" } else { "exit" };
        let guard = self.random.one_of(&["@%p0", "@%p1", "@%p2"]);
        self.add(&format!("{guard} {how};"));
    }

    fn barrier(&mut self) {
        let (p, q) = (self.random.one_of(&PREDICATES), self.random.one_of(&PREDICATES));
        let line = match self.random.below(8) {
            0 => format!("bar.red.popc.u32 {}, 0, {p};", self.random.one_of(&NARROW[..6])),
            1 => format!("bar.red.{}.pred {p}, 0, {q};", self.random.one_of(&["and", "or"])),
            2 => "barrier.sync 1;".to_owned(),
            _ => "bar.sync 0;".to_owned(),
        };
        self.add(&line);
    }

    /// An instruction of all lanes of a warp.
    fn collective(&mut self) {
        let (d, a) = (self.random.one_of(&NARROW[..6]), self.random.one_of(&NARROW));
        let (p, q) = (self.random.one_of(&PREDICATES), self.random.one_of(&PREDICATES));
        let line = match self.random.below(6) {
            0..3 => {
                let (mode, by) = (self.random.one_of(&["up", "down", "bfly", "idx"]), self.random.below(32));
                let clamp = self.random.one_of(&["31", "0", "0x101f"]);
                let result = if self.random.below(3) == 0 { format!("{d}|{p}") } else { d.to_owned() };
                format!("shfl.sync.{mode}.b32 {result}, {a}, {by}, {clamp}, -1;")
            }
            3 => format!("vote.sync.ballot.b32 {d}, {q}, -1;"),
            4 => format!("vote.sync.{}.pred {p}, {q}, -1;", self.random.one_of(&["any", "all", "uni"])),
            _ => "bar.warp.sync -1;".to_owned(),
        };
        self.add(&line);
    }

    fn exchange(&mut self) {
        let (d, a) = (self.random.one_of(&NARROW[..6]), self.random.one_of(&NARROW));
        let line = match self.random.below(8) {
            0 => format!("activemask.b32 %y; shfl.sync.bfly.b32 {d}, {a}, 4, 31, %y;"),
            1 => format!("activemask.b32 {d};"),
            2 => format!("popc.b32 {d}, {a};"),
            3 => format!("atom.shared.add.u32 {d}, [s+8], {a};"),
            4 => format!("red.shared.{}.u32 [s+12], {a};", self.random.one_of(&["add", "max", "min"])),
            5 => format!(
                "and.b32 %x, {a}, 255; shl.b32 %x, %x, 2; mov.u32 %y, s; add.u32 %x, %x, %y; atom.shared.add.u32 {d}, [%x], {a};"
            ),
            6 => format!(
                "and.b32 %x, {a}, 127; mul.wide.u32 %z, %x, 8; add.s64 %z, %z, %in; red.global.add.u32 [%z+98304], {a};"
            ),
            _ => format!("atom.shared.cas.b32 {d}, [s+16], {a}, {d};"),
        };
        let guard = if self.random.below(8) == 0 { "@%p1 " } else { "" };
        // The guard is that of the last instruction.
        let at = line.trim_end_matches(';').rfind("; ").map_or(0, |at| at + 2);
        self.add(&format!("{}{guard}{}", &line[..at], &line[at..]));
    }

    /// An atomic operation on shared memory, whose result is left out, unread or read.
    fn update(&mut self) {
        let (operation, ty) = UPDATES[self.random.below(UPDATES.len() as u64) as usize];
        let (d, b, unread) = match ty {
            "f32" => (self.random.one_of(&SINGLE).to_owned(), self.single(), "%unreadf"),
            "f64" => (self.random.one_of(&DOUBLE).to_owned(), self.double(), "%unreadd"),
            _ if ty.ends_with("64") => (self.random.one_of(&WIDE).to_owned(), self.wide(), "%unreadw"),
            _ => (self.random.one_of(&NARROW[..6]).to_owned(), self.narrow(), "%unread"),
        };
        let index = match self.random.below(5) {
            0 => "mov.u32 %x, 3;".to_owned(),
            1 => "mov.u32 %x, %laneid;".to_owned(),
            2 => "and.b32 %x, %t, 127;".to_owned(),
            _ => format!("and.b32 %x, {}, 127;", self.random.one_of(&NARROW)),
        };
        let scale = if self.strays { self.random.one_of(&["4", "8", "32"]) } else { "8" };
        let offset = self.random.one_of(&["", "+8", "+1024"]);
        let address = match self.random.below(2) {
            0 => {
                self.add(&format!("{index} mov.u32 %y, s; mad.lo.u32 %y, %x, {scale}, %y;"));
                "%y"
            }
            _ => {
                self.add(&format!("{index} mov.u64 %z, s; mul.wide.u32 %w, %x, {scale}; add.s64 %z, %z, %w;"));
                "%z"
            }
        };
        let guard = if self.random.below(4) == 0 { self.random.one_of(&["@%p0 ", "@!%p1 ", "@%p2 "]) } else { "" };
        let reduces = operation != "exch" && self.random.below(3) == 0;
        let result = match self.random.below(3) {
            0 => unread.to_owned(),
            1 => "_".to_owned(),
            _ => d,
        };
        self.add(&match reduces {
            true => format!("{guard}red.shared.{operation}.{ty} [{address}{offset}], {b};"),
            false => format!("{guard}atom.shared.{operation}.{ty} {result}, [{address}{offset}], {b};"),
        });
    }

    /// Several accesses through one register, some of them at the end of the shared memory.
    fn accesses(&mut self) {
        let (size, bytes) = [("u32", 4), ("f32", 4), ("u64", 8), ("f64", 8)][self.random.below(4) as usize];
        let (index, scale) = (
            self.random.one_of(&["%tid.x", "%laneid", "%ctaid.x"]),
            if self.strays {
                self.random.one_of(&["4", "8"])
            } else {
                self.random.one_of(&[if bytes == 4 { "4" } else { "8" }, "8"])
            },
        );
        self.add(&format!("mov.u32 %x, {index}; and.b32 %x, %x, 63; mul.lo.u32 %x, %x, {scale};"));
        let shared = self.random.below(3) > 0;
        let start =
            if self.strays { self.random.one_of(&["1024", "1536", "1792"]) } else { self.random.one_of(&["0", "512"]) };
        let place = if shared {
            self.add(&format!("mov.u32 %y, s; add.u32 %y, %y, %x; add.u32 %y, %y, {start};"));
            ("shared", "%y")
        } else {
            self.add(&format!("cvt.u64.u32 %z, %x; add.s64 %z, %z, %in; add.s64 %z, %z, {start};"));
            ("global", "%z")
        };
        let base = if shared { 0 } else { 98304 };
        for _ in 0..2 + self.random.below(4) {
            let register = match size {
                "u32" => self.random.one_of(&NARROW[..6]),
                "f32" => self.random.one_of(&SINGLE),
                "u64" => self.random.one_of(&WIDE),
                _ => self.random.one_of(&DOUBLE),
            };
            let offset = base + bytes * self.random.below(32);
            match self.random.below(3) {
                0 => self.add(&format!("st.{}.{size} [{}+{offset}], {register};", place.0, place.1)),
                _ => self.add(&format!("ld.{}.{size} {register}, [{}+{offset}];", place.0, place.1)),
            }
            if self.random.below(2) == 0 {
                let line = self.computation();
                self.add(&line);
            }
        }
    }

    /// Vectors, and elements of fewer than 32 bits that follow each other.
    fn vector(&mut self) {
        let (a, b) = (self.random.below(5) as usize, self.random.one_of(&["u8", "s8", "u16", "s16"]));
        let index = self.random.one_of(&["%tid.x", "%laneid", "%ctaid.x"]);
        let (scale, elements, size) = match self.random.below(5) {
            0 => (8, format!("{{{}, {}}}", NARROW[a], NARROW[(a + 1) % 6]), "v2.u32".to_owned()),
            1 => (16, "{%f0, %f1, %f2, %f3}".to_owned(), "v4.f32".to_owned()),
            2 => (16, "{%l0, %l1}".to_owned(), "v2.u64".to_owned()),
            _ => (if self.strays { 1 } else { u64::from(b.ends_with("16")) + 1 }, NARROW[a].to_owned(), b.to_owned()),
        };
        self.add(&format!("mov.u32 %x, {index}; and.b32 %x, %x, 63; mul.lo.u32 %x, %x, {scale};"));
        match self.random.below(4) {
            // The code does not know that addresses are linear.
            0 => self.add("selp.b32 %x, %x, 16, %p1;"),
            1 => {
                let a = self.random.one_of(&NARROW);
                self.add(&format!("and.b32 %x, {a}, 63; mul.lo.u32 %x, %x, {scale};"));
            }
            _ => {}
        }
        let place = match self.random.below(2) {
            0 => {
                self.add("mov.u32 %y, s; add.u32 %y, %y, %x;");
                "shared"
            }
            _ => {
                self.add("cvt.u64.u32 %z, %x; add.s64 %z, %z, %in; add.s64 %z, %z, 98304;");
                "global"
            }
        };
        let address = if place == "shared" { "%y" } else { "%z" };
        match self.random.below(2) {
            0 => self.add(&format!("ld.{place}.{size} {elements}, [{address}];")),
            _ => self.add(&format!("st.{place}.{size} [{address}], {elements};")),
        }
    }

    /// A load or store of shared memory, or of a part of the buffer that other threads use too.
    fn access(&mut self) {
        let shared = self.random.below(2) == 0;
        let (size, register) = match self.random.below(6) {
            0 | 1 => ("u32", self.random.one_of(&NARROW[..6])),
            2 => ("f32", self.random.one_of(&SINGLE)),
            3 => ("u64", self.random.one_of(&WIDE)),
            4 => ("u8", self.random.one_of(&NARROW[..6])),
            _ => ("f64", self.random.one_of(&DOUBLE)),
        };
        let index = match self.random.below(7) {
            0 => "mov.u32 %x, %t;".to_owned(),
            1 => "mov.u32 %x, 5;".to_owned(),
            2 => "shr.u32 %x, %t, 3;".to_owned(),
            3 => "and.b32 %x, %r0, 63;".to_owned(),
            4 => format!("and.b32 %x, {}, 127;", self.random.one_of(&NARROW)),
            5 => "mul.lo.s32 %x, %t, 3;".to_owned(),
            _ => "mov.u32 %x, %tid.y; mad.lo.s32 %x, %x, 16, %r5; and.b32 %x, %x, 127; mov.u32 %y, %tid.x; add.u32 %x, %x, %y;".to_owned(),
        };
        self.add(&index);
        let stray = self.strays && self.random.below(4) == 0;
        let offset = match self.random.below(3) {
            _ if stray => self.random.one_of(&["+4000000", "+2", "-8"]),
            0 => "+8",
            _ => "",
        };
        if !stray {
            self.add("and.b32 %x, %x, 127;");
        }
        let space = if shared {
            self.add("mov.u32 %y, s; mad.lo.u32 %y, %x, 8, %y;");
            ("shared", "%y")
        } else {
            // The part of the buffer behind those of the threads.
            self.add("mul.wide.u32 %z, %x, 8; add.s64 %z, %z, %in; add.s64 %z, %z, 98304;");
            (["global", "global", "volatile.global"][self.random.below(3) as usize], "%z")
        };
        let strong = if self.random.below(12) == 0 && space.0 == "global" { "relaxed.gpu." } else { "" };
        let line = match self.random.below(2) {
            0 => format!("ld.{strong}{}.{size} {register}, [{}{offset}];", space.0, space.1),
            _ => format!("st.{strong}{}.{size} [{}{offset}], {register};", space.0, space.1),
        };
        let guard = if self.random.below(12) == 0 { "@%p2 " } else { "" };
        self.add(&format!("{guard}{line}"));
    }

    /// An instruction that computes a register from others.
    fn computation(&mut self) -> String {
        match self.random.below(10) {
            0..3 => self.of_32_bits(),
            3..5 => self.of_64_bits(),
            5 | 6 => self.of_singles(),
            7 => self.of_doubles(),
            8 => self.of_predicates(),
            _ => self.conversion(),
        }
    }

    fn of_32_bits(&mut self) -> String {
        let (d, a, b, c) = (self.random.one_of(&NARROW[..6]), self.narrow(), self.narrow(), self.narrow());
        let ty = self.random.one_of(&["u32", "s32"]);
        match self.random.below(20) {
            0..3 => format!("{}.{ty} {d}, {a}, {b};", self.random.one_of(&["add", "sub"])),
            3 => format!("mul.lo.{ty} {d}, {a}, {b};"),
            4 => format!("mul.hi.{ty} {d}, {a}, {b};"),
            5 | 6 => format!("mad.lo.{ty} {d}, {a}, {b}, {c};"),
            7 | 8 => format!("{}.{ty} {d}, {a}, {b};", self.random.one_of(&["min", "max"])),
            9 | 10 => format!("{}.b32 {d}, {a}, {b};", self.random.one_of(&["and", "or", "xor"])),
            11 => format!("not.b32 {d}, {a};"),
            12 => format!("neg.s32 {d}, {a};"),
            13 => format!("shl.b32 {d}, {a}, {b};"),
            14 => format!("shr.{ty} {d}, {a}, {b};"),
            15 => format!("selp.b32 {d}, {a}, {b}, {};", self.random.one_of(&PREDICATES)),
            16 => format!("{}.{ty} {d}, {a}, {b};", self.random.one_of(&["div", "rem"])),
            17 => format!("abs.s32 {d}, {a};"),
            18 => format!("bfe.{ty} {d}, {a}, {b}, {c};"),
            _ => format!("mov.b32 {d}, {a};"),
        }
    }

    fn of_64_bits(&mut self) -> String {
        let (d, a, b, c) = (self.random.one_of(&WIDE), self.wide(), self.wide(), self.wide());
        let ty = self.random.one_of(&["u64", "s64"]);
        match self.random.below(16) {
            0..3 => format!("{}.{ty} {d}, {a}, {b};", self.random.one_of(&["add", "sub"])),
            3 => format!("mul.lo.{ty} {d}, {a}, {b};"),
            4 => format!("mad.lo.{ty} {d}, {a}, {b}, {c};"),
            5 => format!("{}.{ty} {d}, {a}, {b};", self.random.one_of(&["min", "max"])),
            6 => format!("{}.b64 {d}, {a}, {b};", self.random.one_of(&["and", "or", "xor"])),
            7 => format!("not.b64 {d}, {a};"),
            8 => format!("neg.s64 {d}, {a};"),
            9 => format!("shl.b64 {d}, {a}, {};", self.narrow()),
            10 => format!("shr.{ty} {d}, {a}, {};", self.narrow()),
            11 => format!("selp.b64 {d}, {a}, {b}, {};", self.random.one_of(&PREDICATES)),
            12 | 13 => {
                let ty = self.random.one_of(&["u32", "s32"]);
                format!("mul.wide.{ty} {d}, {}, {};", self.narrow(), self.narrow())
            }
            14 => {
                let ty = self.random.one_of(&["u32", "s32"]);
                format!("mad.wide.{ty} {d}, {}, {}, {c};", self.narrow(), self.narrow())
            }
            _ => format!("mov.b64 {d}, {a};"),
        }
    }

    fn of_singles(&mut self) -> String {
        let (d, a, b, c) = (self.random.one_of(&SINGLE), self.single(), self.single(), self.single());
        match self.random.below(14) {
            0..3 => format!("{}.f32 {d}, {a}, {b};", self.random.one_of(&["add", "sub", "mul", "add.rn", "mul.rn"])),
            3..5 => format!("fma.rn.f32 {d}, {a}, {b}, {c};"),
            5 => format!("fma.rn.f32 {d}, {a}, {b}, {d};"),
            6 => format!("div.rn.f32 {d}, {a}, {b};"),
            7 => format!("{}.f32 {d}, {a};", self.random.one_of(&["sqrt.rn", "rcp.rn", "sqrt.approx", "rsqrt.approx"])),
            8 | 9 => format!("{}.f32 {d}, {a}, {b};", self.random.one_of(&["min", "max", "min.NaN", "max.ftz"])),
            10 => format!("{}.f32 {d}, {a};", self.random.one_of(&["neg", "abs", "neg.ftz"])),
            11 => format!("{}.f32 {d}, {a}, {b};", self.random.one_of(&["add.rz", "mul.ftz", "add.sat", "sub.rp"])),
            12 => format!("selp.f32 {d}, {a}, {b}, {};", self.random.one_of(&PREDICATES)),
            _ => format!("mov.f32 {d}, {a};"),
        }
    }

    fn of_doubles(&mut self) -> String {
        let (d, a, b, c) = (self.random.one_of(&DOUBLE), self.double(), self.double(), self.double());
        match self.random.below(8) {
            0 | 1 => format!("{}.f64 {d}, {a}, {b};", self.random.one_of(&["add", "sub", "mul"])),
            2 => format!("fma.rn.f64 {d}, {a}, {b}, {c};"),
            3 => format!("div.rn.f64 {d}, {a}, {b};"),
            4 => format!("{}.f64 {d}, {a};", self.random.one_of(&["sqrt.rn", "rcp.rn", "neg", "abs"])),
            5 => format!("{}.f64 {d}, {a}, {b};", self.random.one_of(&["min", "max"])),
            6 => format!("selp.f64 {d}, {a}, {b}, {};", self.random.one_of(&PREDICATES)),
            _ => format!("mov.f64 {d}, {a};"),
        }
    }

    fn of_predicates(&mut self) -> String {
        let (p, q, r) =
            (self.random.one_of(&PREDICATES), self.random.one_of(&PREDICATES), self.random.one_of(&PREDICATES));
        let test = self.random.one_of(&["eq", "ne", "lt", "le", "gt", "ge"]);
        let float = self
            .random
            .one_of(&["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]);
        match self.random.below(9) {
            0..2 => format!("setp.{test}.s32 {p}, {}, {};", self.narrow(), self.narrow()),
            2 => format!("setp.{test}.u32 {p}, {}, {};", self.narrow(), self.narrow()),
            3 => format!("setp.{test}.s64 {p}, {}, {};", self.wide(), self.wide()),
            4 => format!("setp.{test}.u64 {p}, {}, {};", self.wide(), self.wide()),
            5 => format!("setp.{float}.f32 {p}, {}, {};", self.single(), self.single()),
            6 => format!("setp.{float}.f64 {p}, {}, {};", self.double(), self.double()),
            7 => format!("{}.pred {p}, {q}, {r};", self.random.one_of(&["and", "or", "xor"])),
            _ => format!("not.pred {p}, {q};"),
        }
    }

    fn conversion(&mut self) -> String {
        let (n, w) = (self.random.one_of(&NARROW[..6]), self.random.one_of(&WIDE));
        let (f, d) = (self.random.one_of(&SINGLE), self.random.one_of(&DOUBLE));
        let a = self.random.one_of(&NARROW);
        match self.random.below(13) {
            0 => format!("cvt.u64.u32 {w}, {a};"),
            1 => format!("cvt.s64.s32 {w}, {a};"),
            2 => format!("cvt.u32.u64 {n}, {w};"),
            3 => format!("cvt.rn.f32.s32 {f}, {a};"),
            4 => format!("cvt.rn.f32.u32 {f}, {a};"),
            5 => format!("cvt.rn.f64.s32 {d}, {a};"),
            6 => format!("cvt.f64.f32 {d}, {f};"),
            7 => format!("cvt.rn.f32.f64 {f}, {d};"),
            8 => format!("cvt.rzi.s32.f32 {n}, {f};"),
            9 => format!("cvt.rzi.u32.f32 {n}, {f};"),
            10 => format!("mov.b32 {n}, {f};"),
            11 => format!("mov.b64 {w}, {d};"),
            _ => format!("cvt.s32.s64 {n}, {w};"),
        }
    }
}
