//! Symbols as their documentation or their source names them.

/// The documented name of an exported symbol: without the suffixes of its version and its default stream.
pub fn call_name(symbol: &str) -> &str {
    let name = symbol.strip_suffix("_ptsz").or_else(|| symbol.strip_suffix("_ptds")).unwrap_or(symbol);
    match name.rsplit_once("_v") {
        Some((stem, version)) if !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()) => stem,
        _ => name,
    }
}

/// The name of a kernel in its source, from a mangled symbol: `_ZN3abc1kEi` is `abc::k`.
pub fn kernel_name(symbol: &str) -> String {
    let nested = symbol.strip_prefix("_ZN");
    let Some(mut rest) = nested.or_else(|| symbol.strip_prefix("_Z")) else { return symbol.to_owned() };
    let mut parts = Vec::new();
    while let Some(end) = rest.find(|character: char| !character.is_ascii_digit()).filter(|end| *end > 0) {
        let Some(part) = rest[..end].parse().ok().and_then(|length: usize| rest.get(end..end.checked_add(length)?))
        else {
            break;
        };
        parts.push(part);
        rest = &rest[end + part.len()..];
        if nested.is_none() {
            break;
        }
    }
    if parts.is_empty() { symbol.to_owned() } else { parts.join("::") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_of_symbols_are_dropped() {
        for (symbol, name) in [
            ("cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync"),
            ("cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyHtoDAsync"),
            ("cuMemcpy_ptds", "cuMemcpy"),
            ("cuMemcpy", "cuMemcpy"),
            ("a_very_odd_name", "a_very_odd_name"),
        ] {
            assert_eq!(call_name(symbol), name);
        }
    }

    #[test]
    fn mangled_kernel_names_are_demangled() {
        for (symbol, name) in [
            ("_ZN8__main__5totalB2v1B106cw51E5ArrayIdLi1E", "__main__::total"),
            ("_Z4axpyIfEvT_PKS0_PS0_m", "axpy"),
            ("smooth", "smooth"),
            ("_ZN99abc", "_ZN99abc"),
            ("_Z", "_Z"),
        ] {
            assert_eq!(kernel_name(symbol), name);
        }
    }
}
