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

/// The name of a variable in its source, from a mangled symbol: `_ZZ6smoothPfE4part` is `smooth::part`, a variable of a function.
pub fn variable_name(symbol: &str) -> String {
    if let Some(name) = symbol.strip_prefix("_ZL") {
        return kernel_name(&format!("_Z{name}"));
    }
    let Some(local) = symbol.strip_prefix("_ZZ") else { return kernel_name(symbol) };
    // The name follows the last `E` with a length that fits, and a number may follow it.
    let named = local.match_indices('E').rev().find_map(|(at, _)| {
        let digits = local[at + 1..].find(|character: char| !character.is_ascii_digit())?;
        let length: usize = local[at + 1..at + 1 + digits].parse().ok()?;
        let rest = local[at + 1 + digits..].get(length..)?;
        (rest.is_empty() || rest.starts_with('_')).then(|| (&local[..at], &local[at + 1 + digits..][..length]))
    });
    named.map_or(symbol.to_owned(), |(function, name)| format!("{}::{name}", kernel_name(&format!("_Z{function}"))))
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
    fn mangled_names_of_variables_are_demangled() {
        for (symbol, name) in [
            ("_ZZ6smoothPfE4part", "smooth::part"),
            ("_ZZN3abc6smoothEPfE4part_0", "abc::smooth::part"),
            ("_ZN3abc5countE", "abc::count"),
            ("_ZL5count", "count"),
            ("count", "count"),
            ("_ZZ6smoothPfE", "_ZZ6smoothPfE"),
        ] {
            assert_eq!(variable_name(symbol), name);
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
