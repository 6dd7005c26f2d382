//! At least one case for each family of instructions on the values of one thread.

use super::computed;

/// Runs `op d, a, b, c` on registers of 32 bits.
fn op32(instruction: &str, a: u32, b: u32, c: u32) -> u32 {
    let declarations = ".reg .b32 %x, %y, %z, %r; .reg .pred %p, %q;";
    let count = instruction.matches('$').count();
    let operands = ["%x", "%y", "%z"];
    let mut text = instruction.to_owned();
    for operand in operands.iter().take(count) {
        text = text.replacen('$', operand, 1);
    }
    let body = format!("cvt.u32.u64 %x, %a; cvt.u32.u64 %y, %b; cvt.u32.u64 %z, %c; {text}; cvt.u64.u32 %d, %r;");
    computed(declarations, &body, [a.into(), b.into(), c.into()]) as u32
}

fn op64(instruction: &str, a: u64, b: u64, c: u64) -> u64 {
    let declarations = ".reg .b32 %x, %y, %z, %r; .reg .pred %p, %q; .reg .b128 %w;";
    let mut text = instruction.to_owned();
    for operand in ["%a", "%b", "%c"] {
        text = text.replacen('$', operand, 1);
    }
    computed(declarations, &format!("cvt.u32.u64 %z, %c; {text};"), [a, b, c])
}

fn float(instruction: &str, a: f32, b: f32, c: f32) -> f32 {
    f32::from_bits(op32(instruction, a.to_bits(), b.to_bits(), c.to_bits()))
}

#[test]
fn integer_arithmetic_follows_the_manual() {
    assert_eq!(op32("add.s32 %r, $, $", u32::MAX, 3, 0), 2);
    assert_eq!(op32("add.sat.s32 %r, $, $", i32::MAX as u32, 3, 0), i32::MAX as u32);
    assert_eq!(op32("mul.hi.s32 %r, $, $", -2_i32 as u32, 3, 0), u32::MAX);
    assert_eq!(op32("mad.lo.s32 %r, $, $, $", 7, 6, 1), 43);
    assert_eq!(op64("mul.wide.s32 %d, %z, %z", 0, 0, -3_i32 as u32 as u64), 9);
    assert_eq!(op64("mul.hi.u64 %d, $, $", u64::MAX, u64::MAX, 0), u64::MAX - 1);
    assert_eq!(op32("div.s32 %r, $, $", i32::MIN as u32, u32::MAX, 0), i32::MIN as u32);
    assert_eq!(op32("div.u32 %r, $, $", 5, 0, 0), u32::MAX);
    assert_eq!(op32("rem.s32 %r, $, $", -7_i32 as u32, 3, 0), -1_i32 as u32);
    assert_eq!(op32("sad.s32 %r, $, $, $", -7_i32 as u32, 3, 1), 11);
    assert_eq!(op32("popc.b32 %r, $", 0xf0f0, 0, 0), 8);
    assert_eq!(op32("clz.b32 %r, $", 1, 0, 0), 31);
    assert_eq!(op32("bfind.s32 %r, $", -1_i32 as u32, 0, 0), u32::MAX);
    assert_eq!(op32("bfind.shiftamt.u32 %r, $", 1 << 30, 0, 0), 1);
    assert_eq!(op32("brev.b32 %r, $", 1, 0, 0), 1 << 31);
    assert_eq!(op32("bfe.s32 %r, $, 4, 4", 0xf0, 0, 0), u32::MAX);
    assert_eq!(op32("bfe.u32 %r, $, 28, 8", 0xf000_0000, 0, 0), 15);
    assert_eq!(op32("bfi.b32 %r, $, $, 8, 4", 0xff, 0, 0), 0xf00);
    assert_eq!(op32("dp4a.s32.s32 %r, $, $, $", 0xff01_ff01, 0x0101_0101, 5), 5);
    assert_eq!(op32("dp4a.u32.u32 %r, $, $, $", 0xff01_ff01, 0x0101_0101, 5), 517);
    assert_eq!(op32("fns.b32 %r, $, 0, 2", 0b10110, 0, 0), 2);
    assert_eq!(op32("mul24.lo.u32 %r, $, $", 0x0100_0003, 5, 0), 15);
}

#[test]
fn carries_propagate() {
    let body =
        "mov.b64 {%x, %y}, %a; mov.b64 {%z, %r}, %b; add.cc.u32 %x, %x, %z; addc.u32 %y, %y, %r; mov.b64 %d, {%x, %y};";
    let declarations = ".reg .b32 %x, %y, %z, %r;";
    assert_eq!(computed(declarations, body, [0xffff_ffff, 1, 0]), 1 << 32);
    let body = body.replace("add.cc", "sub.cc").replace("addc", "subc");
    assert_eq!(computed(declarations, &body, [1 << 32, 1, 0]), 0xffff_ffff);
    let body = "mad.lo.cc.u64 %d, %a, %b, %c; madc.hi.u64 %d, %a, %b, 0;";
    assert_eq!(computed("", body, [u64::MAX, 1, 1]), 1);
}

#[test]
fn logic_and_shifts_follow_the_manual() {
    assert_eq!(op32("lop3.b32 %r, $, $, $, 0x96", 0b1100, 0b1010, 0b1111), 0b1001);
    assert_eq!(op32("shl.b32 %r, $, $", 1, 40, 0), 0);
    assert_eq!(op32("shr.s32 %r, $, $", 0x8000_0000, 40, 0), u32::MAX);
    assert_eq!(op32("shf.l.wrap.b32 %r, $, $, $", 0x8000_0000, 1, 33), 3);
    assert_eq!(op32("shf.r.clamp.b32 %r, $, $, $", 1, 7, 40), 7);
    assert_eq!(op32("prmt.b32 %r, $, $, 0x5410", 0x3333_1111, 0x4444_2222, 0), 0x2222_1111);
    assert_eq!(op32("prmt.b32 %r, $, $, 0x8888", 0x80, 0, 0), u32::MAX);
    assert_eq!(op32("cnot.b32 %r, $", 0, 0, 0), 1);
    assert_eq!(op32("setp.lt.and.s32 %p|%q, $, $, 1; selp.u32 %r, 1, 2, %p", 1, 2, 0), 1);
    assert_eq!(op32("set.gt.u32.f32 %r, $, $", 2_f32.to_bits(), 1_f32.to_bits(), 0), u32::MAX);
    assert_eq!(op32("slct.u32.s32 %r, $, $, $", 5, 6, -1_i32 as u32), 6);
}

#[test]
fn float_arithmetic_follows_the_manual() {
    assert_eq!(float("add.f32 %r, $, $", 1.5, 2.25, 0.0), 3.75);
    assert_eq!(op32("mul.f32 %r, $, $", f32::INFINITY.to_bits(), 0, 0), 0x7fff_ffff);
    assert_eq!(
        float("fma.rn.f32 %r, $, $, $", 1.0 + f32::EPSILON, 1.0 - f32::EPSILON, -1.0),
        -f32::EPSILON * f32::EPSILON
    );
    assert_eq!(float("add.rz.f32 %r, $, $", 1.0, 1e-10, 0.0), 1.0);
    assert_eq!(float("add.rp.f32 %r, $, $", 1.0, 1e-10, 0.0), 1.0_f32.next_up());
    assert_eq!(float("add.sat.f32 %r, $, $", 1.0, 1.0, 0.0), 1.0);
    assert_eq!(float("mul.ftz.f32 %r, $, $", f32::MIN_POSITIVE, 0.5, 0.0), 0.0);
    assert_eq!(float("min.f32 %r, $, $", f32::NAN, 1.0, 0.0), 1.0);
    assert_eq!(op32("max.f32 %r, $, $", (-0.0_f32).to_bits(), 0, 0), 0);
    assert_eq!(op32("max.NaN.f32 %r, $, $", f32::NAN.to_bits(), 0, 0), 0x7fff_ffff);
    assert_eq!(float("div.rn.f32 %r, $, $", 1.0, 3.0, 0.0), 1.0 / 3.0);
    assert_eq!(float("sqrt.rm.f32 %r, $", 3.0, 0.0, 0.0), 1.732_050_8_f32);
    assert_eq!(float("sqrt.rp.f32 %r, $", 3.0, 0.0, 0.0), 1.732_050_8_f32.next_up());
    assert_eq!(float("ex2.approx.f32 %r, $", 3.0, 0.0, 0.0), 8.0);
    assert_eq!(f64::from_bits(op64("fma.rn.f64 %d, $, $, $", 2_f64.to_bits(), 3_f64.to_bits(), 1_f64.to_bits())), 7.0);
    assert_eq!(op32("add.f16x2 %r, $, $", 0x3c00_4000, 0x3c00_3c00, 0), 0x4000_4200);
}

#[test]
fn conversions_follow_the_manual() {
    assert_eq!(op32("cvt.rzi.s32.f32 %r, $", (-2.7_f32).to_bits(), 0, 0), -2_i32 as u32);
    assert_eq!(op32("cvt.rni.u32.f32 %r, $", 2.5_f32.to_bits(), 0, 0), 2);
    assert_eq!(op32("cvt.rzi.u32.f32 %r, $", (-1_f32).to_bits(), 0, 0), 0);
    assert_eq!(op32("cvt.rzi.s32.f32 %r, $", 1e20_f32.to_bits(), 0, 0), i32::MAX as u32);
    assert_eq!(op32("cvt.sat.u8.s32 %r, $", 300, 0, 0), 255);
    assert_eq!(op32("cvt.s8.s32 %r, $", 0x80, 0, 0), 0xffff_ff80);
    assert_eq!(op64("cvt.s64.s32 %d, %z", 0, 0, 0xffff_ffff), u64::MAX);
    assert_eq!(op32("cvt.rn.f32.s32 %r, $", 3, 0, 0), 3_f32.to_bits());
    assert_eq!(op32("cvt.rmi.f32.f32 %r, $", (-1.5_f32).to_bits(), 0, 0), (-2_f32).to_bits());
    assert_eq!(op32("cvt.rn.f16x2.f32 %r, $, $", 1_f32.to_bits(), 2_f32.to_bits(), 0), 0x3c00_4000);
    assert_eq!(op64("cvt.rn.f64.u64 %d, $", 1 << 60, 0, 0), 2_f64.powi(60).to_bits());
    let half = "{ .reg .b16 %h; cvt.rn.f16.f32 %h, $; cvt.f32.f16 %r, %h; }";
    assert_eq!(float(half, 1.000_5, 0.0, 0.0), 1.0 + 1.0 / 1024.0);
    assert_eq!(op64("mov.b128 %w, {%a, %b}; mov.b128 {%c, %d}, %w", 1, 2, 0), 2);
}
