//! Architectures, and the PTX that can be compiled for them.

use cuarray_ptx::Header;

/// The architectures: the number behind `sm_`, and the letters that may follow it.
const ARCHITECTURES: &[(u32, &str)] = &[
    (75, ""),
    (80, ""),
    (86, ""),
    (87, ""),
    (88, ""),
    (89, ""),
    (90, "a"),
    (100, "af"),
    (103, "af"),
    (107, "af"),
    (110, "af"),
    (120, "af"),
    (121, "af"),
];

/// The architectures that the assemblers of CUDA 11 and 12 take too.
const OLDER: &[u32] = &[50, 52, 53, 60, 61, 62, 70, 72];

/// An architecture, such as `sm_90a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Architecture {
    pub number: u32,
    pub suffix: Option<char>,
    /// Whether code is generated: not for a virtual architecture.
    pub real: bool,
}

/// Whether the assembler takes the name of an architecture.
pub(super) fn is_known(name: &str) -> bool {
    parse(name).is_some()
}

/// Reads the name of an architecture.
pub(super) fn parse(name: &str) -> Option<Architecture> {
    let (kind, rest) = name.split_once('_')?;
    if !matches!(kind, "sm" | "compute" | "lto") {
        return None;
    }
    let digits = rest.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
    let mut letters = rest[digits.len()..].chars();
    let (number, suffix) = (digits.parse().ok()?, letters.next());
    let older = OLDER.contains(&number) && suffix.is_none();
    let newer =
        |(known, suffixes): &(u32, &str)| *known == number && suffix.is_none_or(|letter| suffixes.contains(letter));
    let known = letters.next().is_none() && (older || ARCHITECTURES.iter().any(newer));
    known.then_some(Architecture { number, suffix, real: kind == "sm" })
}

/// The reason why PTX cannot be compiled for an architecture, by its `.target`.
pub(super) fn refusal(header: &Header, architecture: Architecture) -> Option<String> {
    let Architecture { number, suffix, .. } = architecture;
    let target = header.target;
    let letter = header.suffix.map(String::from).unwrap_or_default();
    let name = format!("sm_{number}{}", suffix.map(String::from).unwrap_or_default());
    let other = || Some(format!("PTX with .target 'sm_{target}{letter}' cannot be compiled for architecture '{name}'"));
    match header.suffix {
        _ if target > number => {
            Some("SM version specified by .target is higher than default SM version assumed".to_owned())
        }
        Some('a') if target < number => {
            Some(format!("Program with .target 'sm_{target}{letter}' cannot be compiled to future architecture"))
        }
        Some('a') if suffix != Some('a') => other(),
        Some('f') if target / 10 != number / 10 || suffix.is_none() => other(),
        _ => None,
    }
}

/// The newest version of PTX that the assembler of a release reads, by the release history in the PTX manual.
pub(super) fn newest_ptx(driver_version: u32) -> (u32, u32) {
    match (driver_version / 1000, driver_version % 1000 / 10) {
        (11, minor) => (7, minor),
        (12, minor @ ..=5) => (8, minor),
        (12, minor) => (8, minor - 1),
        (major, minor) => (major.max(5) - 4, minor),
    }
}

/// The text of `--list-arch`.
pub(super) fn list(driver_version: u32) -> String {
    let older = OLDER.iter().filter(|_| driver_version < 13000).copied();
    let numbers = older.chain(ARCHITECTURES.iter().map(|(number, _)| *number));
    numbers.map(|number| format!("{number}\n")).collect()
}

/// The text of `--list-version`: the versions of the release history in the PTX manual.
pub(super) fn versions(driver_version: u32) -> String {
    let newest = newest_ptx(driver_version);
    // The last minor version of each major one.
    let last = [5, 3, 2, 3, 1, 5, 8, 8];
    let mut text = String::new();
    for major in 1..=newest.0 {
        let minors = if major == newest.0 { newest.1 } else { last.get(major as usize - 1).copied().unwrap_or(9) };
        (0..=minors).for_each(|minor| text += &format!("{major}.{minor}\n"));
    }
    text
}
