use super::*;

/// Numbers of all kinds: limits of ranges, powers, and some with random digits.
fn numbers() -> Vec<u64> {
    let mut numbers =
        vec![0.0, 1.0, 1.5, 3.0, 0.1, 1e300, 1e-300, 5e-324, f64::MAX, f64::MIN_POSITIVE, f64::INFINITY, f64::NAN]
            .into_iter()
            .flat_map(|value: f64| [value.to_bits(), (-value).to_bits()])
            .collect::<Vec<_>>();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..60 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        numbers.push(state);
        // Exponents close to each other.
        numbers.push(state & !(0x7ff << 52) | 0x3fa << 52 | (state & 7) << 52);
    }
    numbers
}

fn same(format: Format, result: u64, expected: u64) -> bool {
    result == expected || (format.is_nan(result) && format.is_nan(expected))
}

#[test]
fn rounding_to_nearest_agrees_with_the_processor() {
    for a in numbers() {
        let x = f64::from_bits(a);
        assert!(same(F64, sqrt(F64, a, Rounding::Near), x.sqrt().to_bits()), "sqrt {x:e}");
        assert!(same(F32, convert(F64, F32, a, Rounding::Near), u64::from((x as f32).to_bits())), "{x:e} as f32");
        for b in numbers() {
            let y = f64::from_bits(b);
            assert!(same(F64, add(F64, a, b, Rounding::Near), (x + y).to_bits()), "{x:e} + {y:e}");
            assert!(same(F64, mul(F64, a, b, Rounding::Near), (x * y).to_bits()), "{x:e} * {y:e}");
            assert!(same(F64, div(F64, a, b, Rounding::Near), (x / y).to_bits()), "{x:e} / {y:e}");
            for c in [a, b, a ^ F64.sign(), (x * y).to_bits() ^ F64.sign(), 1] {
                let z = f64::from_bits(c);
                let result = fma(F64, a, b, c, Rounding::Near);
                assert!(same(F64, result, x.mul_add(y, z).to_bits()), "{x:e} * {y:e} + {z:e}");
            }
            let (p, q) = ((a >> 32) as u32, (b >> 32) as u32);
            let (x, y) = (f32::from_bits(p), f32::from_bits(q));
            assert!(same(F32, div(F32, p.into(), q.into(), Rounding::Near), (x / y).to_bits().into()), "{x:e} / {y:e}");
        }
    }
}

#[test]
fn directed_results_enclose_the_exact_one() {
    for a in numbers() {
        for b in numbers() {
            for operation in [add, mul, div] {
                let of = |rounding| operation(F64, a, b, rounding);
                let (down, up, near, zero) =
                    (of(Rounding::Down), of(Rounding::Up), of(Rounding::Near), of(Rounding::Zero));
                let value = f64::from_bits;
                if value(near).is_nan() {
                    assert!(value(down).is_nan() && value(up).is_nan() && value(zero).is_nan());
                    continue;
                }
                assert!(value(down) <= value(near) && value(near) <= value(up));
                assert!(near == down || near == up || (value(near) == 0.0));
                let towards = if value(near).is_sign_negative() { up } else { down };
                assert!(zero == towards || value(zero) == 0.0, "{a:x} {b:x}");
                // Results of the two directions are equal or adjacent.
                if down != up && value(down) != 0.0 && value(up) != 0.0 {
                    assert_eq!(value(down).next_up(), value(up), "{a:x} {b:x}");
                }
            }
        }
    }
}

#[test]
fn conversions_to_integers_round_and_saturate() {
    let of = |value: f64, rounding| to_integer(F64, value.to_bits(), rounding, -128, 127);
    assert_eq!(of(2.5, Rounding::Near), Some(2));
    assert_eq!(of(3.5, Rounding::Near), Some(4));
    assert_eq!(of(-2.5, Rounding::Down), Some(-3));
    assert_eq!(of(2.1, Rounding::Up), Some(3));
    assert_eq!(of(-2.9, Rounding::Zero), Some(-2));
    assert_eq!(of(1e300, Rounding::Zero), Some(127));
    assert_eq!(of(f64::NEG_INFINITY, Rounding::Zero), Some(-128));
    assert_eq!(of(1e-300, Rounding::Up), Some(1));
    assert_eq!(of(f64::NAN, Rounding::Zero), None);
    assert_eq!(from_integer(F32, 16_777_217, Rounding::Near), u64::from(16_777_216_f32.to_bits()));
    assert_eq!(from_integer(F32, 16_777_217, Rounding::Up), u64::from(16_777_218_f32.to_bits()));
    assert_eq!(from_integer(F16, 70_000, Rounding::Zero), 0x7bff);
    assert_eq!(integral(F32, (-0.4_f32).to_bits().into(), Rounding::Near), u64::from((-0.0_f32).to_bits()));
    assert_eq!(integral(F32, 1e30_f32.to_bits().into(), Rounding::Up), u64::from(1e30_f32.to_bits()));
}

#[test]
fn conversions_to_half_precision_round_once() {
    // 1 + 2^-11 is a tie; 1 + 2^-11 + 2^-24 is not.
    assert_eq!(convert(F64, F16, (1.0 + 2_f64.powi(-11)).to_bits(), Rounding::Near), 0x3c00);
    assert_eq!(convert(F64, F16, (1.0 + 2_f64.powi(-11) + 2_f64.powi(-24)).to_bits(), Rounding::Near), 0x3c01);
    assert_eq!(fma(F16, 0x3c01, 0x3c01, 0x0001, Rounding::Near), 0x3c02);
    assert_eq!(convert(F32, BF16, u64::from(1.003_906_3_f32.to_bits()), Rounding::Zero), 0x3f80);
    for bits in 0..=0xffff_u64 {
        if !F16.is_nan(bits) {
            assert_eq!(convert(F64, F16, convert(F16, F64, bits, Rounding::Near), Rounding::Near), bits);
        }
    }
}
