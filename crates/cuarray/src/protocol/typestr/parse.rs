//! The grammar of type strings, read strictly.
//!
//! A refused string yields a small code, and a message only on demand: the lenient parser tries this grammar first, and
//! then others.

use super::{ByteOrder, Kind, MAX_ITEMSIZE, TimeUnit, TypeStr};
use crate::Error;
use std::fmt;

/// The reason for refusing a string; the message is formatted on demand.
#[derive(Clone, Copy)]
pub(super) enum Fault {
    NoOrder,
    NoKind,
    NoSize,
    NoSuchSize(Kind),
    OrderMissing,
    Unit,
    Trailing,
}

impl Fault {
    #[cold]
    pub(super) fn explain(self, text: &str) -> Error {
        let why = match self {
            Fault::NoOrder => "does not begin with a byte order ('<', '>' or '|')".into(),
            Fault::NoKind => {
                "has no kind ('t', 'b', 'i', 'u', 'f', 'c', 'm', 'M', 'O', 'S', 'U' or 'V') after its byte \
                              order"
                    .into()
            }
            Fault::NoSize => "has no size after its kind (a decimal number without leading zeros)".into(),
            Fault::NoSuchSize(kind) => {
                format!("has a size that its kind does not allow: {} takes {}", kind.noun(), kind.sizes())
            }
            Fault::OrderMissing => {
                "needs a byte order, '<' or '>': its elements have more than one byte to order".into()
            }
            Fault::Unit => {
                "has an unknown time unit: none is expected, or one as in '[ns]' or '[25s]', with Y, M, W, D, h, \
                            m, s, ms, us, ns, ps, fs or as"
                    .into()
            }
            Fault::Trailing => "has text after its size".into(),
        };
        Error::entry("typestr", format!("{} {why}; expected a NumPy type string, such as '<f4'", Quoted(text)))
    }
}

/// A string from outside in a message: quoted, escaped and cut to a readable length.
pub(super) struct Quoted<'a>(pub(super) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 60;
        f.write_str("'")?;
        for c in self.0.chars().take(SHOWN) {
            match c {
                '"' => f.write_str("\"")?,
                c => write!(f, "{}", c.escape_debug())?,
            }
        }
        f.write_str(if self.0.chars().nth(SHOWN).is_some() { "…'" } else { "'" })
    }
}

/// Splits off a decimal number without leading zeros.
fn number(text: &[u8]) -> Option<(u32, &[u8])> {
    let (mut value, mut rest) = (0u32, text);
    while let [digit @ b'0'..=b'9', behind @ ..] = rest {
        value = value.checked_mul(10)?.checked_add(u32::from(digit - b'0'))?;
        rest = behind;
    }
    let digits = text.len() - rest.len();
    if digits == 0 || (digits > 1 && text[0] == b'0') { None } else { Some((value, rest)) }
}

/// Recognises the numbers of nearly all arrays by their three characters at once. `None` leaves the decision to the grammar.
#[inline]
fn common(text: &[u8]) -> Option<TypeStr> {
    let &[order, letter, digit] = text else { return None };
    let (order, kind, size) = match [order, letter, digit] {
        [b'<', b'f', size @ (b'2' | b'4' | b'8')] => (ByteOrder::Little, Kind::Float, size),
        [b'<', b'i', size @ (b'2' | b'4' | b'8')] => (ByteOrder::Little, Kind::Int, size),
        [b'<', b'u', size @ (b'2' | b'4' | b'8')] => (ByteOrder::Little, Kind::UInt, size),
        [b'|', b'i', size @ b'1'] => (ByteOrder::NotApplicable, Kind::Int, size),
        [b'|', b'u', size @ b'1'] => (ByteOrder::NotApplicable, Kind::UInt, size),
        [b'|', b'b', size @ b'1'] => (ByteOrder::NotApplicable, Kind::Bool, size),
        _ => return None,
    };
    Some(TypeStr { order, kind, unit: None, name: None, size: u32::from(size - b'0'), multiple: 0 })
}

#[inline]
pub(super) fn strict(text: &[u8]) -> Result<TypeStr, Fault> {
    if let Some(typestr) = common(text) {
        return Ok(typestr);
    }
    by_grammar(text)
}

fn by_grammar(text: &[u8]) -> Result<TypeStr, Fault> {
    let (order, rest) = match text {
        [b'<', rest @ ..] => (ByteOrder::Little, rest),
        [b'>', rest @ ..] => (ByteOrder::Big, rest),
        [b'|', rest @ ..] => (ByteOrder::NotApplicable, rest),
        _ => return Err(Fault::NoOrder),
    };
    behind_order(order, rest)
}

#[inline(always)] // Imports parse type strings through this function.
pub(super) fn behind_order(order: ByteOrder, text: &[u8]) -> Result<TypeStr, Fault> {
    let (&letter, rest) = text.split_first().ok_or(Fault::NoKind)?;
    let kind = Kind::from_letter(letter).ok_or(Fault::NoKind)?;
    let (size, rest) = match number(rest) {
        Some(found) => found,
        None if kind == Kind::Object && rest.is_empty() => (0, rest),
        None => return Err(Fault::NoSize),
    };
    // `|O` may lack a size, but no producer writes `|O0`.
    if kind == Kind::Object && size == 0 && text.len() > 1 {
        return Err(Fault::NoSuchSize(kind));
    }
    let typestr = TypeStr::checked(order, kind, size)?;
    match (kind, rest) {
        (_, []) => Ok(typestr),
        (Kind::Timedelta | Kind::Datetime, [b'[', unit @ .., b']']) => with_unit(typestr, unit),
        (Kind::Timedelta | Kind::Datetime, _) => Err(Fault::Unit),
        _ => Err(Fault::Trailing),
    }
}

pub(super) fn with_unit(typestr: TypeStr, text: &[u8]) -> Result<TypeStr, Fault> {
    let (multiple, symbol) = match text.first() {
        Some(byte) if byte.is_ascii_digit() => number(text).ok_or(Fault::Unit)?,
        _ => (0, text),
    };
    let unit = TimeUnit::from_symbol(symbol).ok_or(Fault::Unit)?;
    if multiple > MAX_ITEMSIZE || (multiple == 0 && symbol.len() < text.len()) {
        return Err(Fault::Unit);
    }
    Ok(TypeStr { unit: Some(unit), multiple, ..typestr })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_type_strings_read_as_in_the_grammar() {
        let mut count = 0;
        for text in 0..1u32 << 24 {
            let text = &text.to_le_bytes()[..3];
            if let Some(typestr) = common(text) {
                let read = by_grammar(text).ok().expect("the grammar accepts the text");
                assert_eq!((typestr, typestr.to_string()), (read, read.to_string()));
                count += 1;
            }
        }
        assert_eq!(count, 12);
    }
}
