//! Instructions of recent versions of PTX: narrow formats, floating-point reductions, pairs of `f32`, mixed precision.

use super::*;
use crate::grammar::types::Type;

/// Computes `%d` from the number of the thread, for `count` threads.
fn for_each(count: u32, declarations: &str, body: &str) -> Vec<u64> {
    let source = format!(
        ".visible .entry k(.param .u64 out) {{ .reg .b32 %i, %j, %k; .reg .b64 %d, %a, %out; {declarations}\n\
         ld.param.u64 %out, [out]; mov.u32 %i, %ctaid.x; mov.u32 %j, %ntid.x; mov.u32 %k, %tid.x; mad.lo.u32 %i, %i, %j, %k;\n\
         {body}\n mul.wide.u32 %a, %i, 8; add.u64 %a, %out, %a; st.global.u64 [%a], %d; ret; }}"
    );
    let mut out = vec![0_u64; count as usize];
    let run =
        Run { source: &source, grid: [count.div_ceil(256), 1, 1], threads: [count.min(256), 1, 1], ..Run::default() };
    let outcome = run.over(&mut [&mut out]);
    assert_eq!(outcome.fault, None, "{body}");
    out
}

/// A narrow format: its name, fraction bits, bias, bits, codes of infinity and NaN, and the code for a NaN.
type Narrow = (&'static str, u32, i32, u32, &'static [u32], &'static [u32], u32);

const NARROW: [Narrow; 5] = [
    ("e4m3x2", 3, 7, 8, &[], &[0x7f], 0x7f),
    ("e5m2x2", 2, 15, 8, &[0x7c], &[0x7d, 0x7e, 0x7f], 0x7f),
    ("e2m3x2", 3, 1, 6, &[], &[], 0x1f),
    ("e3m2x2", 2, 3, 6, &[], &[], 0x1f),
    ("e2m1x2", 1, 1, 4, &[], &[], 0x7),
];

/// The values of the finite codes, in ascending order.
fn table((_, fraction, bias, bits, infinite, nans, _): Narrow) -> Vec<f64> {
    let codes = (0..1_u32 << (bits - 1)).filter(|code| !infinite.contains(code) && !nans.contains(code));
    let value = |code: u32| {
        let (exponent, digits) = (code >> fraction, f64::from(code & ((1 << fraction) - 1)) / f64::from(1 << fraction));
        match exponent {
            0 => digits * 2_f64.powi(1 - bias),
            exponent => (1.0 + digits) * 2_f64.powi(exponent as i32 - bias),
        }
    };
    codes.map(value).collect()
}

fn half(bits: u32) -> f64 {
    let (exponent, digits) = (bits >> 10 & 31, f64::from(bits & 1023) / 1024.0);
    let magnitude = match exponent {
        0 => digits * 2_f64.powi(-14),
        31 if digits == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1.0 + digits) * 2_f64.powi(exponent as i32 - 15),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// The nearest code, found by a search in the table of all codes.
fn nearest(narrow: Narrow, table: &[f64], value: f64, relu: bool) -> u64 {
    if value.is_nan() {
        return narrow.6.into();
    }
    let sign = u64::from(value.is_sign_negative()) << (narrow.3 - 1);
    if sign != 0 && relu {
        return 0;
    }
    let magnitude = value.abs().min(*table.last().unwrap());
    let distance = |code: &usize| (table[*code] - magnitude).abs();
    let above = table.partition_point(|value| *value < magnitude);
    let best = (above.saturating_sub(1)..(above + 1).min(table.len()))
        .min_by(|one, other| distance(one).total_cmp(&distance(other)).then((one & 1).cmp(&(other & 1))));
    sign | best.unwrap() as u64
}

#[test]
fn each_half_narrows_to_the_nearest_code() {
    for narrow in NARROW {
        let table = table(narrow);
        let step = if narrow.3 == 4 { 4 } else { 8 };
        let bits = if step == 4 { "b8" } else { "b16" };
        for relu in [false, true] {
            let flag = if relu { ".relu" } else { "" };
            let body = format!(
                "xor.b32 %j, %i, 0x8421; shl.b32 %j, %j, 16; or.b32 %j, %i, %j; cvt.rn.satfinite{flag}.{}.f16x2 %n, %j; cvt.u64.u{} %d, %n;",
                narrow.0,
                &bits[1..]
            );
            for (index, found) in for_each(if relu { 1 << 12 } else { 1 << 16 }, &format!(".reg .{bits} %n;"), &body)
                .into_iter()
                .enumerate()
            {
                let code = |half_bits: u32| nearest(narrow, &table, half(half_bits), relu);
                let expected = code(index as u32 ^ 0x8421) << step | code(index as u32);
                assert_eq!(found, expected, "{}{flag} of {index:#x}", narrow.0);
            }
        }
    }
}

#[test]
fn each_narrow_code_widens_exactly() {
    for narrow in NARROW {
        let values = table(narrow);
        let (step, all) = if narrow.3 == 4 { (4, 256) } else { (8, 1 << 16) };
        let bits = if step == 4 { "b8" } else { "b16" };
        for relu in [false, true] {
            let flag = if relu { ".relu" } else { "" };
            let body =
                format!("cvt.u{}.u32 %n, %i; cvt.rn{flag}.f16x2.{} %j, %n; cvt.u64.u32 %d, %j;", &bits[1..], narrow.0);
            for (index, found) in for_each(all, &format!(".reg .{bits} %n;"), &body).into_iter().enumerate() {
                for (place, result) in [(0, found as u32 & 0xffff), (step, found as u32 >> 16)] {
                    let code = (index >> place) as u32 & ((1 << narrow.3) - 1);
                    let (negative, magnitude) = (code >> (narrow.3 - 1) == 1, code & ((1 << (narrow.3 - 1)) - 1));
                    let result = half(result);
                    if narrow.5.contains(&magnitude) {
                        assert!(result.is_nan());
                        continue;
                    }
                    let size = if narrow.4.contains(&magnitude) { f64::INFINITY } else { values[magnitude as usize] };
                    let expected = if negative && relu {
                        0.0
                    } else if negative {
                        -size
                    } else {
                        size
                    };
                    assert_eq!(result.to_bits(), expected.to_bits(), "{}{flag} of {code:#x}", narrow.0);
                }
            }
        }
    }
}

#[test]
fn numbers_of_32_bits_narrow_once() {
    for narrow in NARROW {
        let table = table(narrow);
        let step = if narrow.3 == 4 { 4 } else { 8 };
        let bits = if step == 4 { "b8" } else { "b16" };
        // Exponents from 2⁻²⁰ to 2²⁰, and digits next to ties.
        let body = format!(
            "shr.u32 %j, %i, 5; add.u32 %j, %j, 856; shl.b32 %j, %j, 20; and.b32 %k, %i, 31; sub.u32 %k, %k, 15; shl.b32 %k, %k, 15; add.u32 %j, %j, %k;\n\
             mov.b32 %f, %j; neg.f32 %g, %f; cvt.rn.satfinite.{}.f32 %n, %g, %f; cvt.u64.u{} %d, %n;",
            narrow.0,
            &bits[1..]
        );
        for (index, found) in
            for_each(10240, &format!(".reg .{bits} %n; .reg .f32 %f, %g;"), &body).into_iter().enumerate()
        {
            let pattern =
                (((index as u32 >> 5) + 856) << 20).wrapping_add(((index as u32 & 31).wrapping_sub(15)) << 15);
            let value = f64::from(f32::from_bits(pattern));
            let code = |value| nearest(narrow, &table, value, false);
            assert_eq!(found, code(-value) << step | code(value), "{} of {value}", narrow.0);
        }
    }
}

#[test]
fn powers_of_two_are_exponents() {
    for (mode, up) in [("rz", false), ("rp", true)] {
        for (flag, finite) in [("", false), (".satfinite", true)] {
            // The upper bits of each number, and a digit far below them.
            let body = format!(
                "shl.b32 %j, %i, 16; mov.b32 %f, %j; or.b32 %j, %j, 1; mov.b32 %g, %j; cvt.{mode}{flag}.ue8m0x2.f32 %n, %g, %f; cvt.u64.u16 %d, %n;"
            );
            for (index, found) in for_each(1 << 16, ".reg .b16 %n; .reg .f32 %f, %g;", &body).into_iter().enumerate() {
                let code = |bits: u32| {
                    let value = f32::from_bits(bits).abs();
                    if value.is_nan() {
                        return 0xff;
                    }
                    // The least power of two that is not less, or the greatest that is not greater, from 2⁻¹²⁷.
                    let powers = || (0..255_u32).map(|code| (code, 2_f64.powi(code as i32 - 127)));
                    let value = f64::from(value);
                    let found = match up {
                        true => powers().find(|(_, power)| *power >= value),
                        false => powers().rfind(|(_, power)| *power <= value).or(Some((0, 0.0))),
                    };
                    match found {
                        _ if value.is_infinite() => 0xff - u32::from(finite),
                        Some((code, _)) => code,
                        None => 0xff - u32::from(finite),
                    }
                };
                let bits = (index as u32) << 16;
                assert_eq!(found as u32, code(bits | 1) << 8 | code(bits), "{mode}{flag} of {bits:#x}");
            }
        }
    }
    let body = "cvt.u16.u32 %n, %i; cvt.rn.bf16x2.ue8m0x2 %j, %n; cvt.u64.u32 %d, %j;";
    for (index, found) in for_each(256, ".reg .b16 %n;", body).into_iter().enumerate() {
        let value = f32::from_bits((found as u32) << 16);
        if index == 255 {
            assert!(value.is_nan());
        } else {
            assert_eq!(f64::from(value), 2_f64.powi(index as i32 - 127));
        }
    }
}

#[test]
fn reductions_of_numbers_prefer_numbers_or_return_nan() {
    let values = [1.5_f32, -3.0, 0.0, -0.0, 2.0, f32::NAN];
    let declarations = ".reg .f32 %f; .reg .pred %p;";
    for (form, members, expected) in [
        ("min", 0x1f, (-3.0_f32).to_bits()),
        ("max", 0x1f, 2_f32.to_bits()),
        ("max.abs", 0x1f, 3_f32.to_bits()),
        ("min.abs", 0x13, 1.5_f32.to_bits()),
        ("max", 0xc, 0),
        ("min", 0xc, 0x8000_0000),
        ("max", 0x21, 1.5_f32.to_bits()),
        ("max.NaN", 0x21, 0x7fff_ffff),
        ("min.abs.NaN", 0x23, 0x7fff_ffff),
        ("min", 0x20, 0x7fff_ffff),
    ] {
        let selected: String = values
            .iter()
            .enumerate()
            .map(|(lane, value)| format!("setp.eq.u32 %p, %i, {lane}; @%p mov.b32 %f, {:#x};", value.to_bits()))
            .collect();
        let body = format!(
            "mov.b32 %f, 0; {selected} shr.u32 %k, {members:#x}, %i; and.b32 %k, %k, 1; setp.eq.u32 %p, %k, 1; mov.u64 %d, 0;\n\
             @!%p bra E; redux.sync.{form}.f32 %f, %f, {members:#x}; mov.b32 %j, %f; cvt.u64.u32 %d, %j; E:"
        );
        let found = for_each(32, declarations, &body);
        for (lane, found) in found.into_iter().enumerate().filter(|(lane, _)| members >> lane & 1 == 1) {
            assert_eq!(found as u32, expected, "{form} of {members:#x} in lane {lane}");
        }
    }
}

#[test]
fn pairs_and_mixed_precision_round_once() {
    let pair = |low: f32, high: f32| u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32;
    let run = |body: &str, a, b, c| computed(".reg .f32 %f; .reg .b16 %h, %g; .reg .b32 %r;", body, [a, b, c]);
    let (a, b, c) = (pair(1.5, -2.0), pair(0.25, 1e30), pair(-7.0, f32::INFINITY));
    assert_eq!(run("add.rn.f32x2 %d, %a, %b;", a, b, c), pair(1.75, -2.0 + 1e30));
    assert_eq!(run("sub.f32x2 %d, %a, %b;", a, b, c), pair(1.25, -2.0 - 1e30));
    assert_eq!(run("mul.ftz.f32x2 %d, %a, %b;", a, b, c), pair(0.375, -2e30));
    assert_eq!(run("fma.rn.f32x2 %d, %a, %b, %c;", a, b, c), pair(-6.625, f32::INFINITY));
    let tiny = pair(1e-40, 1.0);
    assert_eq!(run("add.ftz.f32x2 %d, %a, %a;", tiny, b, c), pair(0.0, 2.0));
    assert_eq!(run("add.rp.f32x2 %d, %a, %b;", pair(1.0, 1.0), pair(1e-10, 0.0), c), pair(1.000_000_1, 1.0));
    // 2049 and 3 are exact in f16 only below 2048.
    let with = |instruction: &str| {
        format!(
            "cvt.u16.u64 %h, %a; cvt.u16.u64 %g, %b; cvt.u32.u64 %r, %c; mov.b32 %f, %r; {instruction} mov.b32 %r, %f; cvt.u64.u32 %d, %r;"
        )
    };
    let (three, half_of, number) = (0x4200, 0x3800, u64::from(2049_f32.to_bits()));
    let result = |body: &str, a, b, c| f32::from_bits(run(&with(body), a, b, c) as u32);
    assert_eq!(result("add.f32.f16 %f, %h, %f;", three, 0, number), 2052.0);
    assert_eq!(result("sub.rn.f32.f16 %f, %h, %f;", three, 0, number), -2046.0);
    assert_eq!(result("fma.rn.f32.f16 %f, %h, %g, %f;", three, half_of, number), 2050.5);
    assert_eq!(result("add.sat.f32.bf16 %f, %h, %f;", 0x4040, 0, number), 1.0);
    assert_eq!(result("fma.rz.f32.bf16 %f, %h, %g, %f;", 0x4040, 0x3f00, number), 2050.5);
    assert!(Type::named("f32x2").is_none(), "registers of pairs have 64 bits");
}

#[test]
fn documented_forms_of_recent_versions_load() {
    for body in [
        "ld.global.v8.b32 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%d0];",
        "ld.global.v4.b64 {%d1,%d2,%d3,%d4}, [%d0];",
        "st.global.v8.f32 [%d0], {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7};",
        "ld.global.L2::evict_last.v8.f32 {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, [%d0];",
        "ld.global.nc.L2::cache_hint.v4.u64 {%d1,%d2,%d3,%d4}, [%d0], %d5;",
        "ld.mmio.relaxed.sys.global.u32 %r0, [%d0];",
        "st.mmio.relaxed.sys.global.u32 [%d0], %r0;",
        "cvt.rn.satfinite.f16.f32 %h0, %f0;",
        "cvt.rn.satfinite.relu.tf32.f32 %r0, %f0;",
        "cvt.rna.satfinite.tf32.f32 %r0, %f0;",
        "mbarrier.arrive.release.cta.shared::cta.b64 %d1, [sh], 2;",
        "mbarrier.test_wait.relaxed.cta.shared::cta.b64 %p0, [sh], %d1;",
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [sh], 16;",
        "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [sh], 16;",
        "mbarrier.arrive_drop.expect_tx.shared.b64 %d1, [sh], 16;",
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [sh], [%d0], 64, [sh+64];",
        "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%d0], [sh], 64, %d1;",
        "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%d0], [sh], 64, %h0;",
        "fence.acquire.sync_restrict::shared::cluster.cluster;",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;",
        "setmaxnreg.inc.sync.aligned.u32 64;",
        "elect.sync %r0|%p0, -1;",
        "atom.global.add.noftz.v2.f16x2 {%r0,%r1}, [%d0], {%r2,%r3};",
        "st.async.release.gpu.global.u32 [%d0], %r0;",
        "red.async.release.gpu.global.add.u32 [%d0], %r0;",
        "st.async.mmio.release.sys.global.u32 [%d0], %r0;",
        "min.f32 %f0, %f1, %f2, %f3;",
        "mov.b32 %r0, {%c0,%c1,%c2,%c3};",
        "mov.b32 {%c0,%c1,%c2,%c3}, %r0;",
        "st.bulk.weak.shared::cta [%d0], %d1, 0;",
        "discard.global.L2 [%d0], 128;",
        "applypriority.global.L2::evict_normal [%d0], 128;",
    ] {
        let source = format!(
            ".visible .entry k(.param .u64 p) {{ .reg .b16 %h<4>; .reg .b8 %c<4>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<9>;\n\
             .reg .pred %p<3>; .shared .align 16 .b8 sh[256]; ld.param.u64 %d0, [p]; {body} ret; }}"
        );
        assert!(load(&source).is_ok(), "{body}: {}", load(&source).err().unwrap());
    }
}

#[test]
fn an_inlined_line_has_the_line_of_its_call() {
    let source = ".visible .entry k() {\n.loc 1 20 3, function_name $info+16, inlined_at 2 50 9\nbar.sync 0;\n.loc 1 7 0\nret; }";
    let program = load(source).unwrap();
    let places: Vec<_> = (0..2).map(|pc| program.location(pc).unwrap()).collect();
    assert_eq!(places.iter().map(|place| (place.file, place.source_line)).collect::<Vec<_>>(), [(1, 20), (1, 7)]);
    assert_eq!(places.iter().map(|place| place.inlined_at).collect::<Vec<_>>(), [(2, 50), (0, 0)]);
}

#[test]
fn code_that_is_inlined_several_times_has_the_line_of_the_outermost_call() {
    let source = ".visible .entry k() {\n.loc 2 50 9\nbar.sync 0;\n.loc 1 20 3, function_name $a, inlined_at 2 50 9\nbar.sync 0;\n\
         .loc 1 7 3, function_name $b, inlined_at 1 20 3\nbar.sync 0;\n.loc 1 9 3, function_name $c, inlined_at 1 7 3\nbar.sync 0;\n\
         .loc 1 20 3\nbar.sync 0;\n.loc 1 7 3, function_name $b, inlined_at 1 20 3\nret; }";
    let program = load(source).unwrap();
    let calls: Vec<_> = (0..6).map(|pc| program.location(pc).unwrap().inlined_at).collect();
    assert_eq!(calls, [(0, 0), (2, 50), (2, 50), (2, 50), (0, 0), (1, 20)]);
}

#[test]
fn lines_of_inline_assembly_are_that_of_its_first_location() {
    let assembly = "// begin inline asm\n.loc 1 25 12\nbar.sync 0;\n.loc 1 26 12\nbar.sync 0;\n// end inline asm\n";
    let program = load(&format!(
        ".visible .entry k() {{\n.loc 1 24 3\n// end inline asm\n{assembly}{assembly}.loc 1 27 3\nbar.sync 0;\n.loc 1 28 3\nret; }}"
    ))
    .unwrap();
    let lines: Vec<_> = (0..6).map(|pc| program.location(pc).unwrap().source_line).collect();
    assert_eq!(lines, [25, 25, 25, 25, 27, 28]);
}
