//! Type strings of real producers that deviate from the text: codes of the buffer protocol, codes and names of NumPy
//! and ml_dtypes.
//!
//! Most consumers pass the string to NumPy, which accepts these spellings. Each accepted spelling names exactly one
//! type. An ambiguous spelling is refused, because elements of the wrong size are worse than an error.

use super::{ByteOrder, Kind, NamedType, TypeStr, parse};

/// The byte order of a type string without one.
fn implied_order(kind: Kind, size: u32) -> ByteOrder {
    let ordered = TypeStr { order: ByteOrder::NATIVE, kind, unit: None, name: None, size, multiple: 0 }.order_matters();
    if ordered { ByteOrder::NATIVE } else { ByteOrder::NotApplicable }
}

pub(super) fn read(text: &[u8]) -> Option<(TypeStr, &'static str)> {
    if let Some(typestr) = name(text) {
        return Some((typestr, "is the name of a type"));
    }
    if let b"<f1" | b"|f1" = text {
        return Some((TypeStr::void(1), "is an 8-bit float, but does not say which"));
    }
    let (order, rest, what) = match text {
        [b'<', rest @ ..] => (Some(ByteOrder::Little), rest, "has no size"),
        [b'>', rest @ ..] => (Some(ByteOrder::Big), rest, "has no size"),
        [b'!', rest @ ..] => (Some(ByteOrder::Big), rest, "has a byte order of the buffer protocol"),
        [b'=' | b'@', rest @ ..] => (None, rest, "has a byte order of the buffer protocol"),
        [b'|', rest @ ..] => (None, rest, "leaves out the byte order"),
        rest => (None, rest, "leaves out the byte order"),
    };
    if let Ok(typestr) = parse::behind_order(ByteOrder::NATIVE, rest) {
        let order = match order {
            Some(order) if typestr.order_matters() => order,
            _ => implied_order(typestr.kind, typestr.size),
        };
        return Some((TypeStr { order, ..typestr }, what));
    }
    let (kind, size) = code(rest, rest.len() == text.len())?;
    let order = match order {
        Some(order) if implied_order(kind, size) != ByteOrder::NotApplicable => order,
        _ => implied_order(kind, size),
    };
    Some((TypeStr { order, kind, unit: None, name: None, size, multiple: 0 }, "is a code of the buffer protocol"))
}

/// The letters of Python's `struct` module, the buffer protocol and NumPy, if they agree.
fn code(letters: &[u8], bare: bool) -> Option<(Kind, u32)> {
    Some(match letters {
        b"?" => (Kind::Bool, 1),
        b"b" => (Kind::Int, 1),
        b"B" => (Kind::UInt, 1),
        b"h" => (Kind::Int, 2),
        b"H" => (Kind::UInt, 2),
        b"i" => (Kind::Int, 4),
        b"I" => (Kind::UInt, 4),
        b"q" => (Kind::Int, 8),
        b"Q" => (Kind::UInt, 8),
        // Without a byte order, `l` is the C type `long` everywhere. NumPy writes int64 as `l` on most machines.
        b"l" if bare => (Kind::Int, size_of::<std::ffi::c_long>() as u32),
        b"L" if bare => (Kind::UInt, size_of::<std::ffi::c_ulong>() as u32),
        b"e" => (Kind::Float, 2),
        b"f" => (Kind::Float, 4),
        b"d" => (Kind::Float, 8),
        b"F" | b"Zf" => (Kind::Complex, 8),
        b"D" | b"Zd" => (Kind::Complex, 16),
        b"c" => (Kind::Bytes, 1),
        _ => return None,
    })
}

fn name(text: &[u8]) -> Option<TypeStr> {
    let (kind, size) = match text {
        b"bool" => (Kind::Bool, 1),
        b"int8" => (Kind::Int, 1),
        b"int16" => (Kind::Int, 2),
        b"int32" => (Kind::Int, 4),
        b"int64" => (Kind::Int, 8),
        b"uint8" => (Kind::UInt, 1),
        b"uint16" => (Kind::UInt, 2),
        b"uint32" => (Kind::UInt, 4),
        b"uint64" => (Kind::UInt, 8),
        b"float16" => (Kind::Float, 2),
        b"float32" => (Kind::Float, 4),
        b"float64" => (Kind::Float, 8),
        b"complex64" => (Kind::Complex, 8),
        b"complex128" => (Kind::Complex, 16),
        _ => {
            if let Some(named) = NamedType::from_name(text) {
                return Some(TypeStr::named(named));
            }
            let (kind, unit) = match text.strip_prefix(b"datetime64") {
                Some(unit) => (Kind::Datetime, unit),
                None => (Kind::Timedelta, text.strip_prefix(b"timedelta64")?),
            };
            let time = TypeStr { order: ByteOrder::NATIVE, kind, unit: None, name: None, size: 8, multiple: 0 };
            return match unit {
                [] => Some(time),
                [b'[', unit @ .., b']'] => parse::with_unit(time, unit).ok(),
                _ => None,
            };
        }
    };
    Some(TypeStr { order: implied_order(kind, size), kind, unit: None, name: None, size, multiple: 0 })
}
