//! The two formats of 8-bit floating-point numbers, E4M3 and E5M2, as the Open Compute Project defines them.

/// A format: a sign, an exponent and a mantissa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fp8 {
    /// No infinities; the largest finite number is 448.
    E4M3,
    /// As a 16-bit number with a shorter mantissa; the largest finite number is 57344.
    E5M2,
}

impl Fp8 {
    fn mantissa_bits(self) -> u32 {
        match self {
            Fp8::E4M3 => 3,
            Fp8::E5M2 => 2,
        }
    }

    fn bias(self) -> i32 {
        match self {
            Fp8::E4M3 => 7,
            Fp8::E5M2 => 15,
        }
    }

    /// The code of the largest finite number.
    fn largest(self) -> u8 {
        match self {
            Fp8::E4M3 => 0x7e,
            Fp8::E5M2 => 0x7b,
        }
    }

    /// The number of a code.
    pub(crate) fn decode(self, code: u8) -> f64 {
        let bits = self.mantissa_bits();
        let magnitude = code & 0x7f;
        let sign = if code & 0x80 == 0 { 1.0 } else { -1.0 };
        if magnitude > self.largest() {
            let is_infinite = self == Fp8::E5M2 && magnitude == 0x7c;
            return if is_infinite { sign * f64::INFINITY } else { f64::NAN };
        }
        let (exponent, mantissa) = (i32::from(magnitude >> bits), f64::from(magnitude & ((1 << bits) - 1)));
        let one = f64::from(1_u32 << bits);
        let value = match exponent {
            0 => mantissa / one * 2_f64.powi(1 - self.bias()),
            _ => (1.0 + mantissa / one) * 2_f64.powi(exponent - self.bias()),
        };
        sign * value
    }

    /// The code of the nearest number, the even one of two. Larger numbers become the largest finite one, as cuBLAS stores them.
    pub(crate) fn encode(self, value: f64) -> u8 {
        if value.is_nan() {
            return 0x7f;
        }
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        let magnitude = value.abs();
        // Codes of one sign have the order of their numbers.
        let (mut below, mut above) = (0, self.largest());
        if magnitude >= self.decode(above) {
            return sign | above;
        }
        while above - below > 1 {
            let middle = below + (above - below) / 2;
            if self.decode(middle) <= magnitude {
                below = middle;
            } else {
                above = middle;
            }
        }
        let (down, up) = (magnitude - self.decode(below), self.decode(above) - magnitude);
        let nearest = if down < up || (down == up && below & 1 == 0) { below } else { above };
        sign | nearest
    }

    /// The numbers of all codes.
    pub(crate) fn table(self) -> [f64; 256] {
        let mut table = [0.0; 256];
        for (code, value) in (0..=u8::MAX).zip(&mut table) {
            *value = self.decode(code);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::Fp8;

    #[test]
    fn numbers_of_all_codes_have_these_codes() {
        for format in [Fp8::E4M3, Fp8::E5M2] {
            for code in 0..=u8::MAX {
                let value = format.decode(code);
                if value.is_finite() {
                    assert_eq!(format.encode(value), code, "{format:?} {value}");
                }
            }
        }
    }

    #[test]
    fn known_numbers_have_their_codes() {
        assert_eq!(Fp8::E4M3.decode(0x7e), 448.0);
        assert_eq!(Fp8::E4M3.decode(0x01), 2_f64.powi(-9));
        assert_eq!(Fp8::E5M2.decode(0x7b), 57344.0);
        assert_eq!(Fp8::E5M2.decode(0x01), 2_f64.powi(-16));
        assert_eq!(Fp8::E5M2.decode(0x7c), f64::INFINITY);
        // 17 lies between 16 and 18, and 19 between 18 and 20: the even mantissa is taken.
        assert_eq!([17.0, 19.0].map(|value| Fp8::E4M3.decode(Fp8::E4M3.encode(value))), [16.0, 20.0]);
        assert_eq!(Fp8::E4M3.encode(1e9), 0x7e);
        assert_eq!(Fp8::E5M2.encode(-f64::INFINITY), 0xfb);
        assert!(Fp8::E4M3.decode(Fp8::E4M3.encode(f64::NAN)).is_nan());
    }
}
