//! Addresses of every state space in registers of 32 and 64 bits, on every way to an access.
//!
//! Each array has the elements 10 to 13. A way brings the address of element 2 into `%x`; the selection brings that of
//! element 0 in lane 5. PTX manual: [state
//! spaces](https://docs.nvidia.com/cuda/parallel-thread-execution/#state-spaces), [generic
//! addressing](https://docs.nvidia.com/cuda/parallel-thread-execution/#generic-addressing).

use super::*;

/// An array: its name, the space of accesses to it, and the space of its addresses.
struct Array {
    name: &'static str,
    space: &'static str,
    window: &'static str,
    in_function: bool,
}

const fn array(name: &'static str, space: &'static str, window: &'static str, in_function: bool) -> Array {
    Array { name, space, window, in_function }
}

const ARRAYS: &[Array] = &[
    array("a", "param", "param", false),
    array("a", "param::entry", "param", false),
    array("%outer", "param::entry", "param", true),
    array("q", "param", "local", true),
    array("q", "param::func", "local", true),
    array("q", "local", "local", true),
    array("y", "param", "local", true),
    array("y", "local", "local", true),
    array("l", "local", "local", false),
    array("l", "local", "local", true),
    array("s", "shared", "shared", false),
    array("s", "shared", "shared", true),
    array("c", "const", "const", false),
    array("c", "const", "const", true),
    array("g", "global", "global", false),
    array("g", "global", "global", true),
];

/// The ways: `W` is the width, `V` the array, and `+` an offset that the array's name or a sum gives.
const WAYS: &[(&str, &str)] = &[
    ("sum", "mov.bW %x, V; add.uW %x, %x, 16;"),
    ("selection", "mov.bW %x, V; add.uW %x1, %x, 16; selp.bW %x, %x1, %x, %not5;"),
    (
        "loop",
        "mov.bW %x, V; mov.u32 %n, 0; AGAIN: add.uW %x, %x, 4; add.u32 %n, %n, 1; setp.lt.u32 %p, %n, 4; @%p bra AGAIN;",
    ),
    ("branch", "mov.bW %x, V; @!%not5 bra OVER; add.uW %x, %x, 16; OVER:"),
    (
        "call",
        "mov.bW %x, V; { .param .bW in; .param .bW out; st.param.bW [in], %x; call (out), bump, (in); ld.param.bW %x, [out]; }",
    ),
    ("memory", "mov.bW %x, V; add.uW %x, %x, 16; st.local.bW [spill], %x; ld.local.bW %x, [spill];"),
    ("halves", "mov.bW %x, V; mov.bW {%h0, %h1}, %x; mov.bW %x, {%h0, %h1}; add.uW %x, %x, 16;"),
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Access {
    Load,
    Vector,
    Store,
    Add,
    GenericLoad,
    GenericStore,
    GenericAdd,
    /// `cvta` both ways.
    Back,
    /// `isspacep` of each space.
    Space,
}

impl Access {
    const ALL: [Access; 9] = [
        Access::Load,
        Access::Vector,
        Access::Store,
        Access::Add,
        Access::GenericLoad,
        Access::GenericStore,
        Access::GenericAdd,
        Access::Back,
        Access::Space,
    ];

    /// The instructions; `S` is the space of the access, and `N` that of the address.
    fn text(self) -> &'static str {
        match self {
            Access::Load => "ld.S.u64 %d, [%x];",
            Access::Vector => "ld.S.v2.u64 {%d, %z}, [%x]; sub.u64 %z, %z, 1; max.u64 %d, %d, %z;",
            Access::Store => "bar.sync 0; st.S.u64 [%x], 77; bar.sync 0; ld.S.u64 %d, [%x];",
            Access::Add => "bar.sync 0; atom.S.add.u64 %z, [%x], 1; bar.sync 0; ld.S.u64 %d, [%x];",
            Access::GenericLoad => "cvta.N.uW %x, %x; ld.u64 %d, [%x];",
            Access::GenericStore => "cvta.N.uW %x, %x; bar.sync 0; st.u64 [%x], 77; bar.sync 0; ld.u64 %d, [%x];",
            Access::GenericAdd => "cvta.N.uW %x, %x; bar.sync 0; red.add.u64 [%x], 1; bar.sync 0; ld.u64 %d, [%x];",
            Access::Back => "cvta.N.uW %x, %x; cvta.to.N.uW %x, %x; ld.S.u64 %d, [%x];",
            Access::Space => {
                "cvta.N.uW %x, %x; mov.u64 %d, 0;\n\
                 isspacep.param %p, %x; @%p or.b64 %d, %d, 1; isspacep.local %p, %x; @%p or.b64 %d, %d, 2;\n\
                 isspacep.shared %p, %x; @%p or.b64 %d, %d, 4; isspacep.const %p, %x; @%p or.b64 %d, %d, 8;\n\
                 isspacep.global %p, %x; @%p or.b64 %d, %d, 16;"
            }
        }
    }

    fn is_generic(self) -> bool {
        matches!(self, Access::GenericLoad | Access::GenericStore | Access::GenericAdd | Access::Back | Access::Space)
    }
}

/// The result of a kernel.
#[derive(PartialEq, Eq, Debug)]
enum Outcome {
    /// ptxas refuses the source.
    Refused,
    Fault(FaultKind),
    /// The value of element 0 or 2, in the lanes that access it.
    Values([u64; 2]),
    /// The manual does not define the result.
    Undefined,
}

fn expected(array: &Array, width: u32, selected: bool, access: Access) -> Outcome {
    let only_read = matches!(array.window, "param" | "const");
    let atomic = matches!(array.window, "shared" | "global");
    // The lanes that add to element 0 and to element 2.
    let lanes = if selected { [1, 31] } else { [0, 32] };
    match access {
        _ if width == 32 && (array.window == "global" || access.is_generic()) => Outcome::Refused,
        Access::Load | Access::Vector | Access::GenericLoad | Access::Back => Outcome::Values([10, 12]),
        Access::Space => {
            let spaces = match array.window {
                // The manual: the window of a kernel's parameters is in the global one.
                "param" => 1 | 16,
                "local" => 2,
                "shared" => 4,
                "const" => 8,
                _ => 16,
            };
            Outcome::Values([spaces; 2])
        }
        Access::Store if only_read => Outcome::Refused,
        Access::Store => Outcome::Values([77; 2]),
        Access::Add if !atomic => Outcome::Refused,
        Access::Add => Outcome::Values([10 + lanes[0], 12 + lanes[1]]),
        Access::GenericStore | Access::GenericAdd if array.window == "param" => Outcome::Fault(FaultKind::ReadOnly),
        Access::GenericStore | Access::GenericAdd if array.window == "const" => Outcome::Undefined,
        Access::GenericStore => Outcome::Values([77; 2]),
        Access::GenericAdd if !atomic => Outcome::Undefined,
        Access::GenericAdd => Outcome::Values([10 + lanes[0], 12 + lanes[1]]),
    }
}

fn source(array: &Array, width: u32, way: &str, access: Access) -> String {
    let outer = if width == 32 { "%outer32" } else { "%outer64" };
    let name = if array.name == "%outer" { outer } else { array.name };
    let body = format!("{way}\n{}", access.text())
        .replace(".N.", &format!(".{}.", array.window))
        .replace(".S.", &format!(".{}.", array.space))
        .replace("V;", &format!("{name};"))
        .replace(".bW", &format!(".b{width}"))
        .replace(".uW", &format!(".u{width}"));
    let registers = format!(
        ".reg .b64 %o, %d, %z, %outer64; .reg .b32 %t, %n, %outer32; .reg .b{width} %x, %x1; .reg .b{} %h0, %h1;\n\
         .reg .pred %p, %not5; .local .align 16 .b8 spill[8]; .local .align 16 .b8 l[32];\n\
         mov.u32 %t, %tid.x; setp.ne.u32 %not5, %t, 5;\n\
         st.local.u64 [l], 10; st.local.u64 [l+8], 11; st.local.u64 [l+16], 12; st.local.u64 [l+24], 13;\n\
         st.shared.u64 [s], 10; st.shared.u64 [s+8], 11; st.shared.u64 [s+16], 12; st.shared.u64 [s+24], 13;",
        width / 2
    );
    let store = "mul.wide.u32 %z, %t, 8; add.u64 %o, %o, %z; st.global.u64 [%o], %d; ret;";
    let of_function = if array.in_function { body.as_str() } else { "mov.u64 %d, 0;" };
    let of_kernel = if array.in_function {
        "mov.b64 %outer64, a;\n\
         { .param .align 16 .b8 in[32]; .param .b64 to; .param .b64 place; .param .align 16 .b8 out[32];\n\
         st.param.u64 [in], 10; st.param.u64 [in+8], 11; st.param.u64 [in+16], 12; st.param.u64 [in+24], 13;\n\
         st.param.u64 [to], %o; st.param.u64 [place], %outer64; call (out), f, (in, to, place); } ret;"
            .to_owned()
    } else {
        format!("{body}\n{store}")
    };
    format!(
        ".const .align 16 .u64 c[4] = {{10, 11, 12, 13}}; .global .align 16 .u64 g[4] = {{10, 11, 12, 13}};\n\
         .shared .align 16 .b8 s[32];\n\
         .func (.param .b{width} out) bump(.param .b{width} in) {{ .reg .b{width} %v; ld.param.b{width} %v, [in];\n\
         add.u{width} %v, %v, 16; st.param.b{width} [out], %v; ret; }}\n\
         .func (.param .align 16 .b8 y[32]) f(.param .align 16 .b8 q[32], .param .b64 to, .param .b64 place) {{ {registers}\n\
         ld.param.u64 %o, [to]; ld.param.u64 %outer64, [place]; cvt.u32.u64 %outer32, %outer64;\n\
         st.param.u64 [y], 10; st.param.u64 [y+8], 11; st.param.u64 [y+16], 12; st.param.u64 [y+24], 13;\n\
         {of_function}\n{store} }}\n\
         .visible .entry k(.param .u64 o, .param .align 16 .b8 a[32]) {{ {registers}\n\
         ld.param.u64 %o, [o];\n{of_kernel} }}"
    )
}

#[test]
fn addresses_of_every_space_reach_it_on_every_way_or_are_refused() {
    for array in ARRAYS {
        for width in [32, 64] {
            for (name, way) in WAYS {
                for access in Access::ALL {
                    let source = source(array, width, way, access);
                    let what = format!("{access:?} of {} in {} by {width} bits, {name}", array.name, array.space);
                    let selected = matches!(*name, "selection" | "branch");
                    let wanted = expected(array, width, selected, access);
                    if wanted == Outcome::Refused {
                        let error = load(&source).err().unwrap_or_else(|| panic!("{what} is accepted"));
                        assert!(!error.unsupported, "{what}: {error}");
                        continue;
                    }
                    let mut out = vec![0; 32];
                    let run = Run { source: &source, more: vec![0, 10, 11, 12, 13], ..Run::default() };
                    let fault = run.over(&mut [&mut out]).fault.map(|fault| fault.kind);
                    match wanted {
                        Outcome::Fault(kind) => assert_eq!(fault, Some(kind), "{what}"),
                        Outcome::Values([first, third]) => {
                            assert_eq!(fault, None, "{what}");
                            for (lane, value) in out.iter().enumerate() {
                                let wanted = if selected && lane == 5 { first } else { third };
                                assert_eq!(*value, wanted, "{what}, lane {lane}");
                            }
                        }
                        Outcome::Refused | Outcome::Undefined => {}
                    }
                }
            }
        }
    }
}

#[test]
fn names_of_another_space_are_refused() {
    let declared = ".const .align 8 .u64 c[4]; .global .align 8 .u64 g[4]; .shared .align 16 .b8 s[32];";
    let kernel = |instruction: &str| {
        format!(
            ".func f(.param .b64 q) {{ ret; }}\n{declared} .visible .entry k(.param .u64 a) {{ .local .align 16 .b8 l[32];\n\
             .reg .b32 %x, %r; .reg .b64 %d; .param .b64 z; mov.b32 %r, a; mov.u64 %d, 0; mov.u32 %x, 0; {instruction} ret; }}"
        )
    };
    for instruction in [
        "ld.u32 %x, [g];",
        "ld.u32 %x, [s];",
        "ld.u32 %x, [l];",
        "atom.add.u32 %x, [s], 1;",
        "ld.const.u32 %x, [c];",
        "cvta.param.u64 %d, a;",
        "cvta.shared.u64 %d, s;",
    ] {
        assert!(load(&kernel(instruction)).is_ok(), "{instruction}: {}", load(&kernel(instruction)).err().unwrap());
    }
    for instruction in [
        "ld.global.u32 %x, [s];",
        "ld.shared.u32 %x, [g];",
        "ld.local.u32 %x, [s];",
        "st.local.u32 [s], %x;",
        "ld.const.u32 %x, [g];",
        "ld.global.u32 %x, [c];",
        "ld.u32 %x, [c];",
        "ld.u32 %x, [a];",
        "ld.param.u32 %x, [l];",
        "ld.local.u32 %x, [a];",
        "atom.global.add.u32 %x, [s], 1;",
        "cvta.shared.u64 %d, l;",
        "cvta.local.u64 %d, a;",
        "st.param.b64 [a], %d;",
        "ld.param::func.b64 %d, [a];",
        "ld.param::func.b64 %d, [%r];",
        "st.param::entry.b64 [%r], %d;",
        "st.const.u32 [c], %x;",
        "mov.b64 %d, z;",
        "mov.b32 %r, g;",
    ] {
        let error = load(&kernel(instruction)).err().unwrap_or_else(|| panic!("{instruction} is accepted"));
        assert!(!error.unsupported, "{instruction}: {error}");
    }
}

/// Several kernels of a module have variables of their own. One of them reads its variable and dynamic memory before it writes them.
#[test]
fn each_block_begins_with_undefined_shared_memory_beside_that_of_other_kernels() {
    let other = |name: &str| {
        format!(
            ".visible .entry {name}() {{ .shared .align 4 .b8 own_{name}[4096]; st.shared.u32 [own_{name}], 7; ret; }}\n"
        )
    };
    let source = format!(
        "{} .extern .shared .align 4 .b8 dynamic[]; .visible .entry k(.param .u64 out) {{ .reg .b32 %t, %s, %d, %n, %c, %v, %w; .reg .b64 %out, %i;\n\
         .shared .align 4 .b8 own[128]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x;\n\
         mov.u32 %s, own; mad.lo.u32 %s, %t, 4, %s; mov.u32 %d, dynamic; mad.lo.u32 %d, %t, 4, %d;\n\
         ld.shared.u32 %v, [%s]; ld.shared.u32 %w, [%d]; st.shared.u32 [%s], %t; st.shared.u32 [%d], %t;\n\
         mad.lo.u32 %n, %c, 32, %t; mul.wide.u32 %i, %n, 8; add.u64 %out, %out, %i; st.global.u32 [%out], %v;\n\
         st.global.u32 [%out+4], %w; ret; }} {}",
        other("first"),
        other("last")
    );
    let mut read = vec![0_u64; 8 * 32];
    let outcome = Run { source: &source, grid: [8, 1, 1], dynamic_shared: 128, workers: 1, ..Run::default() }
        .over(&mut [&mut read]);
    assert_eq!(outcome.fault, None);
    assert!(read.iter().all(|pair| *pair == 0xfff5_a5a5_fff5_a5a5), "{read:x?}");
}
