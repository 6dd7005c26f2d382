//! Type strings (clause I3): any text.

use crate::assert_readable;
use cuarray::{__private::fuzzing::lenient_typestr, Interface, Kind, Layout, TypeStr};

/// The text is refused with a message, or read according to the grammar and printed again exactly.
pub fn check(data: &[u8]) {
    let text = &*String::from_utf8_lossy(data);
    let strict = text.parse::<TypeStr>();
    let lenient = lenient_typestr(text);
    let expected = itemsize_by_the_grammar(text);
    match &strict {
        Ok(typestr) => {
            assert_eq!(Some(typestr.itemsize()), expected, "{text:?}");
            assert_eq!(typestr.to_string(), text);
            assert_eq!(typestr.bits().is_some(), typestr.kind() == Kind::BitField);
            let (same, deviations) = lenient.as_ref().expect("a lenient reading takes what is right");
            assert_eq!((same, deviations.as_deref()), (typestr, None));
            describes_an_array(*typestr);
        }
        Err(error) => {
            assert_eq!(expected, None, "{text:?} was refused: {error}");
            assert_eq!(error.key(), Some("typestr"));
            assert_readable(&error.to_string());
        }
    }
    match &lenient {
        Ok((typestr, Some(deviations))) => {
            assert!(strict.is_err());
            assert_readable(deviations);
            let printed: TypeStr = typestr.to_string().parse().expect("a type string that is read can be printed");
            assert_eq!(printed.itemsize(), typestr.itemsize());
            // A type without a letter is printed as bytes, without its name.
            assert!(printed == *typestr || typestr.name().is_some(), "{typestr:?} is printed as {printed:?}");
            describes_an_array(*typestr);
        }
        Ok((_, None)) => assert!(strict.is_ok()),
        Err(error) => {
            assert_eq!(error.key(), Some("typestr"));
            assert_readable(&error.to_string());
        }
    }
}

fn describes_an_array(typestr: TypeStr) {
    let layout = Layout::c_contiguous(&[3], typestr.itemsize()).expect("three items of any size are addressable");
    match Interface::new(0x1000, typestr, layout) {
        Ok(interface) => {
            let range = interface.byte_range();
            let bits = typestr.bits().map_or(typestr.itemsize() as u64 * 8, u64::from);
            assert_eq!(range.end - range.start, (bits * 3).div_ceil(8));
            assert!(!interface.to_string().is_empty());
        }
        Err(error) => {
            assert_eq!((typestr.kind(), error.key()), (Kind::Object, Some("typestr")));
            assert_readable(&error.to_string());
        }
    }
}

/// A second implementation of NumPy's grammar: the item size in bytes, `None` for an invalid type string.
fn itemsize_by_the_grammar(text: &str) -> Option<usize> {
    let mut chars = text.chars();
    let (order, kind) = (chars.next()?, chars.next()?);
    let rest = chars.as_str();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, unit) = rest.split_at(end);
    if !"<>|".contains(order) || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    let has_unit = "mM".contains(kind) && is_unit(unit);
    if !unit.is_empty() && !has_unit {
        return None;
    }
    if kind == 'O' {
        return ["", "4", "8"].contains(&digits).then_some(size_of::<usize>());
    }
    let size: usize = digits.parse().ok()?;
    let most = i32::MAX as usize;
    let (exists, bytes, ordered) = match kind {
        't' => ((1..=most).contains(&size), size.div_ceil(8), false),
        'b' => (size == 1, size, false),
        'i' | 'u' => ([1, 2, 4, 8].contains(&size), size, size > 1),
        'f' => ([2, 4, 8, 12, 16].contains(&size), size, true),
        'c' => ([8, 16, 24, 32].contains(&size), size, true),
        'm' | 'M' => (size == 8, size, true),
        'S' | 'V' => (size <= most, size, false),
        'U' => (size <= most / 4, size.saturating_mul(4), true),
        _ => return None,
    };
    (exists && !(ordered && order == '|')).then_some(bytes)
}

fn is_unit(text: &str) -> bool {
    let Some(inside) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) else { return false };
    let unit = inside.trim_start_matches(|c: char| c.is_ascii_digit());
    let multiple = &inside[..inside.len() - unit.len()];
    ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"].contains(&unit)
        && (multiple.is_empty()
            || (!multiple.starts_with('0') && multiple.parse::<u64>().is_ok_and(|count| count <= i32::MAX as u64)))
}
