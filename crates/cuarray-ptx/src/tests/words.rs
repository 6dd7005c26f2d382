//! Operations on words, bit by bit against their definitions in the manual.

use super::rounding::{NUMBERS, results, spelled};

/// Reproducible words: small, large, near limits, and of any bits.
fn words(seed: u64) -> Vec<u64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 32
    };
    (0..NUMBERS)
        .map(|_| match (next() % 6, next()) {
            (0, bits) => bits % 8,
            (1, bits) => 0x8000_0000_u64.wrapping_add(bits % 3).wrapping_sub(1) & 0xffff_ffff,
            (2, bits) => 0xffff_ffff - bits % 3,
            (3, bits) => bits & 0xffff,
            (_, bits) => bits,
        })
        .collect()
}

/// Compares an instruction of three words with its definition.
fn compare(opcode: &str, sources: usize, expected: impl Fn(u32, u32, u32) -> u32) {
    let inputs = [1, 2, 3].map(words);
    let text = spelled(opcode, sources, 32, 32);
    for (at, found) in results(&text, [&inputs[0], &inputs[1], &inputs[2]]).into_iter().enumerate() {
        let [a, b, c] = [0, 1, 2].map(|input| inputs[input][at] as u32);
        assert_eq!(found as u32, expected(a, b, c), "{text}: {a:#x} {b:#x} {c:#x}");
    }
}

#[test]
fn quotients_and_rests_are_those_of_wider_integers() {
    let signed = |word: u32| i64::from(word as i32);
    compare("div.u32", 2, |a, b, _| a.checked_div(b).unwrap_or(u32::MAX));
    compare("rem.u32", 2, |a, b, _| a.checked_rem(b).unwrap_or(a));
    compare("div.s32", 2, |a, b, _| signed(a).checked_div(signed(b)).unwrap_or(-1) as u32);
    compare("rem.s32", 2, |a, b, _| signed(a).checked_rem(signed(b)).unwrap_or(signed(a)) as u32);
}

#[test]
fn fields_are_taken_and_put_bit_by_bit() {
    let bit = |word: u32, at: u32| if at < 32 { word >> at & 1 } else { 0 };
    let field = |a: u32, start: u32, length: u32, rest: u32| {
        (0..32).fold(0, |all, at| all | if at < length { bit(a, start + at) } else { rest } << at)
    };
    compare("bfe.u32", 3, |a, b, c| field(a, b & 255, c & 255, 0));
    compare("bfe.s32", 3, |a, b, c| {
        let (start, length) = (b & 255, c & 255);
        let sign = if length == 0 { 0 } else { bit(a, (start + length - 1).min(31)) };
        (0..32).fold(0, |all, at| all | if at < length && start + at < 32 { bit(a, start + at) } else { sign } << at)
    });
    // The start and the length of the field.
    for (start, length) in [(0, 0), (0, 32), (4, 8), (31, 1), (28, 8), (32, 4), (40, 4), (0, 200), (3, 255)] {
        let inserted = |a: u32, b: u32| {
            (0..32).fold(0, |all, at| {
                let inside = at >= start && at - start < length;
                all | if inside { bit(a, at - start) } else { bit(b, at) } << at
            })
        };
        let inputs = [1, 2].map(words);
        let text = format!("bfi.b32 %r, %x, %y, {start}, {length}; cvt.u64.u32 %d, %r");
        for (at, found) in results(&text, [&inputs[0], &inputs[1], &inputs[0]]).into_iter().enumerate() {
            let (a, b) = (inputs[0][at] as u32, inputs[1][at] as u32);
            assert_eq!(found as u32, inserted(a, b), "{text}: {a:#x} {b:#x}");
        }
    }
}

#[test]
fn selected_bytes_may_copy_their_sign() {
    compare("prmt.b32", 3, |a, b, c| {
        let bytes = [a.to_le_bytes(), b.to_le_bytes()].concat();
        u32::from_le_bytes(std::array::from_fn(|at| {
            let selector = c >> (4 * at) & 15;
            let byte = bytes[selector as usize & 7];
            if selector < 8 { byte } else { (byte as i8 >> 7) as u8 }
        }))
    });
}

#[test]
fn carries_go_through_all_words_of_a_sum() {
    let inputs = [1, 2, 3].map(words);
    for (opcode, subtracts) in [("add", false), ("sub", true)] {
        let text = format!(
            "{{ .reg .b32 %low, %high; {opcode}.cc.u32 %low, %x, %y; {opcode}c.u32 %high, %z, %x; mov.b64 %d, {{%low, %high}}; }}"
        );
        for (at, found) in results(&text, [&inputs[0], &inputs[1], &inputs[2]]).into_iter().enumerate() {
            let [a, b, c] = [0, 1, 2].map(|input| inputs[input][at]);
            let (left, right) = (c << 32 | a, a << 32 | b);
            let expected = if subtracts { left.wrapping_sub(right) } else { left.wrapping_add(right) };
            assert_eq!(found, expected, "{text}: {left:#x} {right:#x}");
        }
    }
}

#[test]
fn shuffles_take_values_from_the_lanes_of_their_modes() {
    let inputs = [1, 2, 3].map(words);
    for (number, mode) in ["up", "down", "bfly", "idx"].into_iter().enumerate() {
        let text = format!(
            "{{ .reg .pred %p; shfl.sync.{mode}.b32 %r|%p, %x, %y, %z, -1; selp.b64 %d, 0x100000000, 0, %p; cvt.u64.u32 %a, %r; or.b64 %d, %d, %a; }}"
        );
        for (at, found) in results(&text, [&inputs[0], &inputs[1], &inputs[2]]).into_iter().enumerate() {
            let (lane, warp) = ((at % 32) as i64, at / 32 * 32);
            let (offset, clamp) = ((inputs[1][at] & 31) as i64, (inputs[2][at] & 31) as i64);
            let segment = (inputs[2][at] >> 8 & 31) as i64;
            let (last, first) = (lane & segment | clamp & !segment, lane & segment);
            let (from, inside) = match number {
                0 => (lane - offset, lane - offset >= last),
                1 => (lane + offset, lane + offset <= last),
                2 => (lane ^ offset, lane ^ offset <= last),
                _ => (first | offset & !segment, (first | offset & !segment) <= last),
            };
            let value = inputs[0][if inside { warp + from as usize } else { at }] & 0xffff_ffff;
            assert_eq!(found, u64::from(inside) << 32 | value, "{text}: lane {lane}, {offset}, {clamp}, {segment}");
        }
    }
}

#[test]
fn equal_values_of_a_warp_are_found_by_each_lane() {
    let mut values = words(1);
    values.iter_mut().for_each(|value| *value %= 5);
    for mask in [u32::MAX, 0xff] {
        let text = format!(
            "{{ .reg .pred %p; mov.u32 %y, %laneid; mov.u32 %r, 0; setp.lt.u32 %p, %y, {}; @%p match.any.sync.b32 %r, %x, {mask:#x}; cvt.u64.u32 %d, %r; }}",
            mask.count_ones()
        );
        for (at, found) in results(&text, [&values; 3]).into_iter().enumerate() {
            let (lane, warp) = (at % 32, at / 32 * 32);
            let equal =
                (0..32).filter(|other| values[warp + other] == values[at]).fold(0, |all, other| all | 1 << other);
            let expected = if mask >> lane & 1 == 1 { equal & mask } else { 0 };
            assert_eq!(found, expected.into(), "{text}: lane {lane}");
        }
    }
}
