//! Suppressions: a file of known findings that are not to be reported.
//!
//! As with the sanitizers, each line names a kind of finding and patterns for one of its sides. An earlier report in JSON is such a file too,
//! with all findings that it has. Suppressed findings are counted. A line that matches nothing is reported, so that obsolete lines are noticed.
//! `docs/how-to/suppressions.md` describes both.

use crate::finding::{Finding, Kind, Side};
use crate::site::Site;
use crate::symbol::call_name;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One line of a suppressions file, or one finding of an earlier report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// The number of the line or of the finding, counted from 1.
    pub line: u32,
    /// The line without its comment, or the finding's fingerprint.
    pub text: String,
    known: Known,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Known {
    /// The kind, `None` for all, and the patterns that one side must match, at most one for each key.
    Patterns(Option<Kind>, BTreeMap<Key, String>),
    /// The finding with this suppression's text as its fingerprint.
    Finding,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Library,
    File,
    Function,
    Call,
}

impl Key {
    const ALL: [(Key, &'static str); 4] =
        [(Key::Library, "library"), (Key::File, "file"), (Key::Function, "function"), (Key::Call, "call")];

    /// Whether a side has this key with a value that matches the pattern.
    fn matches(self, pattern: &str, side: &Side) -> bool {
        let Site { user, innermost, native, library } = &*side.site;
        let matches = |value: &str| glob(pattern, value);
        let mut frames = [user, innermost].into_iter().flatten();
        match self {
            Key::Library => library.as_deref().is_some_and(matches),
            Key::File => {
                let place = side.place.as_ref().into_iter().flat_map(|place| [&place.source, &place.inlined_at]);
                place.flatten().any(|line| matches(&line.file))
                    || frames.any(|frame| matches(&frame.file))
                    || native.as_ref().is_some_and(|native| {
                        matches(&native.object) || native.source.as_ref().is_some_and(|source| matches(&source.file))
                    })
            }
            Key::Function => {
                frames.any(|frame| matches(&frame.function))
                    || native.as_ref().and_then(|native| native.symbol.as_deref()).is_some_and(matches)
            }
            Key::Call => matches(side.call) || matches(call_name(side.call)),
        }
    }
}

/// The findings of libraries that cannot change a result: uses of undefined values whose effect the library drops. They are suppressed by
/// default, with 0 as their line.
pub fn of_libraries() -> Vec<Suppression> {
    let known = parse(include_str!("known_in_libraries.txt")).unwrap_or_default();
    known.into_iter().map(|each| Suppression { line: 0, ..each }).collect()
}

/// Parses a suppressions file: its lines, or the findings of a report in JSON.
///
/// # Errors
/// A sentence that names the malformed line or finding, and the expected form.
pub fn parse(text: &str) -> Result<Vec<Suppression>, String> {
    if text.trim_start().starts_with('{') {
        return findings(text);
    }
    let mut suppressions = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let words = words(line).map_err(|wrong| format!("line {number}: {wrong}"))?;
        if let Some((kind, conditions)) = words.split_first() {
            suppressions.push(read(number, kind, conditions).map_err(|wrong| format!("line {number}: {wrong}"))?);
        }
    }
    Ok(suppressions)
}

/// The findings of a report.
fn findings(text: &str) -> Result<Vec<Suppression>, String> {
    #[derive(Deserialize)]
    struct Document {
        findings: Vec<Named>,
    }
    #[derive(Deserialize)]
    struct Named {
        fingerprint: String,
    }
    let read: Document =
        serde_json::from_str(text).map_err(|error| format!("not a report with fingerprints: {error}"))?;
    let known = (1..).zip(read.findings);
    Ok(known.map(|(line, each)| Suppression { line, text: each.fingerprint, known: Known::Finding }).collect())
}

/// The words of a line up to its comment. Quotation marks keep blanks and `#` in a word.
fn words(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    for character in line.chars() {
        match character {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            _ if quoted => word.get_or_insert_default().push(character),
            '#' if word.is_none() => break,
            blank if blank.is_whitespace() => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    if quoted {
        return Err("a quotation mark is not closed".into());
    }
    words.extend(word);
    Ok(words)
}

fn read(line: u32, kind: &str, conditions: &[String]) -> Result<Suppression, String> {
    let known = || Kind::ALL.map(Kind::name).join(", ");
    let kind_named = match kind {
        "*" => None,
        name => match Kind::ALL.into_iter().find(|each| each.name() == name) {
            Some(kind) => Some(kind),
            None => return Err(format!("{kind} is not a kind of finding: expected *, {}", known())),
        },
    };
    let mut patterns = BTreeMap::new();
    for condition in conditions {
        let Some((name, pattern)) = condition.split_once('=') else {
            return Err(format!("{condition} is not a condition: expected key=pattern"));
        };
        let Some((key, _)) = Key::ALL.into_iter().find(|(_, known)| *known == name) else {
            return Err(format!("{name} is not a key: expected library, file, function or call"));
        };
        if pattern.is_empty() {
            return Err(format!("{name} has no pattern"));
        }
        if patterns.insert(key, pattern.to_owned()).is_some() {
            return Err(format!("{name} is given twice"));
        }
    }
    if patterns.is_empty() {
        return Err(
            "no condition selects the findings of that kind: expected library=, file=, function= or call=".into()
        );
    }
    let text = std::iter::once(kind).chain(conditions.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    Ok(Suppression { line, text, known: Known::Patterns(kind_named, patterns) })
}

impl Suppression {
    /// Whether a finding has the kind, and one of its sides matches all patterns; or whether it is the finding of the earlier report.
    pub fn matches(&self, finding: &Finding) -> bool {
        match &self.known {
            Known::Finding => !finding.fingerprint.is_empty() && self.text == finding.fingerprint,
            Known::Patterns(kind, patterns) => {
                let matches = |side: &Side| patterns.iter().all(|(key, pattern)| key.matches(pattern, side));
                kind.is_none_or(|kind| kind == finding.kind) && finding.sides.iter().any(matches)
            }
        }
    }
}

/// Whether the pattern matches the whole text: `*` is any run of characters, `?` is one.
pub fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut in_text) = (0, 0);
    // The place of the last `*`, and the end of the text that it has matched.
    let mut star: Option<(usize, usize)> = None;
    while in_text < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_text));
                at += 1;
            }
            Some(character) if *character == '?' || *character == text[in_text] => {
                at += 1;
                in_text += 1;
            }
            _ => match &mut star {
                Some((place, taken)) => {
                    *taken += 1;
                    (at, in_text) = (*place + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|character| *character == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{KernelPlace, Language};
    use crate::report::sample;
    use crate::site::SourceLine;

    #[test]
    fn pattern_matches_the_whole_text() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("numba*", "numba-cuda", true),
            ("numba", "numba-cuda", false),
            ("*cuda", "numba-cuda", true),
            ("*/cupy/*", "/usr/lib/cupy/core.py", true),
            ("*/cupy/*", "/usr/lib/cupy.py", false),
            ("a?c*e", "abcde", true),
            ("a?c", "ac", false),
            ("*ab*ab", "abab", true),
            ("*ab*ab", "aab", false),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        }
        // Many stars take no longer than the product of both lengths.
        assert!(!glob(&format!("{}b", "a*".repeat(50)), &"a".repeat(5000)));
    }

    #[test]
    fn known_findings_of_libraries_are_those_of_the_file() {
        let known = of_libraries();
        assert!(!known.is_empty() && known.iter().all(|each| each.line == 0));
        let mut finding = sample::report("/home/me/train.py").findings[0].clone();
        let place = |file: &str| KernelPlace {
            block: [0; 3],
            thread: [0; 3],
            atomic: false,
            text: None,
            argument: None,
            waits: None,
            source: Some(SourceLine { file: file.into(), line: 796 }),
            inlined_at: None,
            ptx_line: None,
            has_lines: true,
            language: Language::Cuda,
        };
        for (kind, file, expected) in [
            (Kind::UninitializedRead, "/opt/include/thrust/system/cuda/detail/set_operations.h", true),
            (Kind::UninitializedRead, "/home/me/set_operations.h", false),
            (Kind::KernelRace, "/opt/include/thrust/system/cuda/detail/set_operations.h", false),
        ] {
            finding.kind = kind;
            finding.sides[0].place = Some(place(file));
            assert_eq!(known.iter().any(|each| each.matches(&finding)), expected, "{file}");
        }
    }

    #[test]
    fn one_side_must_match_all_patterns() {
        let finding = &sample::report("/home/me/train.py").findings[0];
        for (line, expected) in [
            ("data-race library=numba-cuda", true),
            ("* library=numba-*  # numba does not put the edge back", true),
            ("leak library=numba-cuda", false),
            ("data-race file=*/train.py", true),
            ("data-race file=*/numba_cuda/* function=host_to_device", true),
            ("data-race file=train.py", false),
            ("data-race call=cuMemcpyDtoD*", true),
            ("data-race call=cuMemcpyDtoDAsync", true),
            ("data-race call=cuMemcpyDtoDAsync_v2", true),
            ("data-race call=cuMemcpyDtoDAsync library=mpi4py", false),
            ("\"data-race\" file=\"/home/me/*\"", true),
        ] {
            let suppressions = parse(line).unwrap();
            assert_eq!(suppressions[0].matches(finding), expected, "{line}");
        }
    }

    #[test]
    fn findings_of_an_earlier_report_are_known() {
        let mut report = sample::report("/home/me/train.py");
        report.identify();
        let known = parse(&report.json()).unwrap();
        assert!(known.len() == 1 && known[0].matches(&report.findings[0]));
        let mut other = report.findings[0].clone();
        other.kind = Kind::Leak;
        other.fingerprint = other.fingerprint.replace("data-race", "leak");
        assert!(!known[0].matches(&other));
        let error = parse(r#"{"version": 1, "findings": [{"number": 1}]}"#).unwrap_err();
        assert!(error.starts_with("not a report with fingerprints: missing field `fingerprint`"), "{error}");
    }

    #[test]
    fn comments_and_blank_lines_are_ignored() {
        let text = "\n# what is known\n  \ndata-race library=a#b  # why\r\n\tleak file=\"with # and blank\"\n";
        let read: Vec<_> = parse(text).unwrap().into_iter().map(|each| (each.line, each.text)).collect();
        assert_eq!(read, [(4, "data-race library=a#b".to_owned()), (5, "leak file=with # and blank".to_owned())]);
        assert_eq!(parse(""), Ok(Vec::new()));
    }

    #[test]
    fn message_names_the_malformed_line() {
        for (text, expected) in [
            ("data-race", "line 1: no condition selects the findings"),
            ("\nrace library=x", "line 2: race is not a kind of finding: expected *, data-race, kernel-race"),
            ("data-race numba", "line 1: numba is not a condition: expected key=pattern"),
            ("data-race lib=numba", "line 1: lib is not a key: expected library, file, function or call"),
            ("data-race library=", "line 1: library has no pattern"),
            ("data-race library=a library=b", "line 1: library is given twice"),
            ("data-race library=\"a b", "line 1: a quotation mark is not closed"),
            ("race:numba", "line 1: race:numba is not a kind of finding"),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.starts_with(expected), "{message}");
        }
    }
}
