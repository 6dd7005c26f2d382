//! Suppressions: a file of known findings that are not to be reported.
//!
//! As with the sanitizers, each line names a kind of finding and patterns for one of its sides. Suppressed findings are
//! counted. A line that matches nothing is reported, so that obsolete lines are noticed. `docs/reference/reports.md` describes the format.

use crate::finding::{Finding, Kind, Side};
use crate::symbol::call_name;
use std::collections::BTreeMap;

/// One line of a suppressions file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// The line number, counted from 1.
    pub line: u32,
    /// The line without its comment.
    pub text: String,
    /// The kind of finding; `None` for all.
    kind: Option<Kind>,
    /// The patterns that one side must match, at most one for each key.
    patterns: BTreeMap<Key, String>,
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
}

/// Parses the lines of a suppressions file.
///
/// # Errors
/// A sentence that names the malformed line and the expected form.
pub fn parse(text: &str) -> Result<Vec<Suppression>, String> {
    let mut suppressions = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let words = words(line).map_err(|wrong| format!("line {number}: {wrong}"))?;
        if let Some((kind, conditions)) = words.split_first() {
            suppressions.push(read(number, kind, conditions).map_err(|wrong| format!("line {number}: {wrong}"))?);
        }
    }
    Ok(suppressions)
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
    Ok(Suppression { line, text, kind: kind_named, patterns })
}

impl Suppression {
    /// Whether a finding has the kind, and one of its sides matches all patterns.
    pub fn matches(&self, finding: &Finding) -> bool {
        self.kind.is_none_or(|kind| kind == finding.kind) && finding.sides.iter().any(|side| self.matches_side(side))
    }

    fn matches_side(&self, side: &Side) -> bool {
        let site = &side.site;
        let frames = || [&site.user, &site.innermost].into_iter().flatten();
        self.patterns.iter().all(|(key, pattern)| match key {
            Key::Library => site.library.as_deref().is_some_and(|library| glob(pattern, library)),
            Key::File => {
                frames().any(|frame| glob(pattern, &frame.file))
                    || site.native.as_ref().is_some_and(|native| {
                        let source = native.source.as_ref().map(|source| &source.file);
                        [Some(&native.object), source].into_iter().flatten().any(|file| glob(pattern, file))
                    })
            }
            Key::Function => {
                frames().any(|frame| glob(pattern, &frame.function))
                    || site
                        .native
                        .as_ref()
                        .and_then(|native| native.symbol.as_deref())
                        .is_some_and(|name| glob(pattern, name))
            }
            Key::Call => glob(pattern, side.call) || glob(pattern, call_name(side.call)),
        })
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
    use crate::report::sample;

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
