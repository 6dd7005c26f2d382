//! Formatting of numbers and texts as in C's `printf`.

/// Flags, width and precision of a conversion.
#[derive(Default)]
pub(super) struct Pad {
    left: bool,
    zeros: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
}

/// The widest field.
const WIDEST: usize = 4096;

impl Pad {
    pub(super) fn read(spec: &[u8]) -> Pad {
        let mut pad = Pad::default();
        let mut at = 0;
        while let Some(byte) = spec.get(at) {
            match byte {
                b'-' => pad.left = true,
                b'0' => pad.zeros = true,
                b'+' => pad.plus = true,
                b' ' => pad.space = true,
                b'#' => pad.alternate = true,
                _ => break,
            }
            at += 1;
        }
        let number = |at: &mut usize| {
            let mut value = 0_usize;
            while let Some(digit) = spec.get(*at).filter(|byte| byte.is_ascii_digit()) {
                value = (value * 10 + usize::from(digit - b'0')).min(WIDEST);
                *at += 1;
            }
            value
        };
        pad.width = number(&mut at);
        if spec.get(at) == Some(&b'.') {
            at += 1;
            pad.precision = Some(number(&mut at));
        }
        pad
    }

    /// Writes sign and digits into the field.
    fn field(&self, line: &mut Vec<u8>, sign: &str, digits: &str, zeros: bool) {
        let fill = self.width.saturating_sub(sign.len() + digits.len());
        if !self.left && !zeros {
            line.extend(std::iter::repeat_n(b' ', fill));
        }
        line.extend_from_slice(sign.as_bytes());
        if !self.left && zeros {
            line.extend(std::iter::repeat_n(b'0', fill));
        }
        line.extend_from_slice(digits.as_bytes());
        if self.left {
            line.extend(std::iter::repeat_n(b' ', fill));
        }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, _, _) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        }
    }

    pub(super) fn text(&self, line: &mut Vec<u8>, text: &[u8]) {
        let text = &text[..self.precision.unwrap_or(text.len()).min(text.len())];
        let fill = self.width.saturating_sub(text.len());
        let (before, after) = if self.left { (0, fill) } else { (fill, 0) };
        line.extend(std::iter::repeat_n(b' ', before));
        line.extend_from_slice(text);
        line.extend(std::iter::repeat_n(b' ', after));
    }

    pub(super) fn signed(&self, line: &mut Vec<u8>, value: i64) {
        let digits = format!("{:0>1$}", value.unsigned_abs(), self.precision.unwrap_or(1));
        self.field(line, self.sign(value < 0), &digits, self.zeros && self.precision.is_none());
    }

    pub(super) fn unsigned(&self, line: &mut Vec<u8>, value: u64, kind: u8) {
        let digits = match kind {
            b'x' => format!("{value:x}"),
            b'X' => format!("{value:X}"),
            b'o' => format!("{value:o}"),
            _ => value.to_string(),
        };
        let digits = format!("{digits:0>0$}", self.precision.unwrap_or(1).max(digits.len()));
        let prefix = match kind {
            b'x' if self.alternate && value != 0 => "0x",
            b'X' if self.alternate && value != 0 => "0X",
            b'o' if self.alternate => "0",
            _ => "",
        };
        self.field(line, prefix, &digits, self.zeros && self.precision.is_none());
    }

    pub(super) fn float(&self, line: &mut Vec<u8>, value: f64, kind: u8) {
        let upper = kind.is_ascii_uppercase();
        let digits = if value.is_nan() {
            "nan".to_owned()
        } else if value.is_infinite() {
            "inf".to_owned()
        } else {
            self.digits(value.abs(), kind.to_ascii_lowercase())
        };
        let digits = if upper { digits.to_uppercase() } else { digits };
        let sign = self.sign(value.is_sign_negative());
        self.field(line, sign, &digits, self.zeros && value.is_finite());
    }

    fn digits(&self, value: f64, kind: u8) -> String {
        let precision = self.precision.unwrap_or(6);
        match kind {
            b'f' => format!("{value:.precision$}"),
            b'e' => exponential(value, precision),
            b'a' => hexadecimal(value),
            _ => {
                let precision = precision.max(1);
                // The exponent after rounding to this precision.
                let rounded = format!("{value:.0$e}", precision - 1);
                let exponent: i32 =
                    rounded.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
                if exponent < -4 || exponent >= precision as i32 {
                    let text = exponential(value, precision - 1);
                    let (digits, exponent) = text.split_once('e').unwrap_or((&text, ""));
                    return format!("{}e{exponent}", if self.alternate { digits } else { trimmed(digits) });
                }
                let text = format!("{value:.0$}", (precision as i32 - 1 - exponent).max(0) as usize);
                if self.alternate { text } else { trimmed(&text).to_owned() }
            }
        }
    }
}

fn trimmed(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// Formats an exponent as C does: with a sign and at least two digits.
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

fn hexadecimal(value: f64) -> String {
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let (lead, exponent) = match (exponent, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (0, -1022),
        _ => (1, exponent - 1023),
    };
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("0x{lead}{point}{digits}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(spec: &str, kind: u8, value: f64) -> String {
        let mut line = Vec::new();
        Pad::read(spec.as_bytes()).float(&mut line, value, kind);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn floats_are_written_as_in_c() {
        assert_eq!(float("", b'f', 1.5), "1.500000");
        assert_eq!(float("8.2", b'f', -1.255), "   -1.25");
        assert_eq!(float("08.1", b'f', -1.25), "-00001.2");
        assert_eq!(float("", b'e', 12345.678), "1.234568e+04");
        assert_eq!(float("", b'g', 0.0001), "0.0001");
        assert_eq!(float("", b'g', 1e-5), "1e-05");
        assert_eq!(float("", b'g', 1e6), "1e+06");
        assert_eq!(float("", b'g', 100_000.0), "100000");
        assert_eq!(float("", b'a', 1.0), "0x1p+0");
        assert_eq!(float("+", b'F', f64::INFINITY), "+INF");
    }

    #[test]
    fn integers_are_written_as_in_c() {
        let mut line = Vec::new();
        Pad::read(b"5").signed(&mut line, -42);
        Pad::read(b"-5").signed(&mut line, 7);
        Pad::read(b"#06").unsigned(&mut line, 0x2a, b'x');
        Pad::read(b".3").unsigned(&mut line, 7, b'u');
        assert_eq!(String::from_utf8(line).unwrap(), "  -427    0x002a007");
    }
}
