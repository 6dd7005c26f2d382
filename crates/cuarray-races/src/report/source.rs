//! Lines of source that a report quotes.
//!
//! Files are read when the report is written. Of a file that cannot be read, is not regular, or is too large, a report has only the lines
//! whose text the findings have.

use crate::finding::Finding;
use std::collections::HashMap;
use std::io::Read as _;

/// The largest file that is read, in bytes.
const LARGEST: u64 = 4 << 20;

/// Files by name, each read once.
#[derive(Default)]
pub(crate) struct Sources {
    files: HashMap<String, Option<Vec<String>>>,
    /// The text of lines by file and number.
    kept: HashMap<(String, u32), String>,
}

/// A piece of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    /// The number of the first of the lines, counted from 1.
    pub(crate) first: u32,
    /// The lines without their common indentation.
    pub(crate) lines: Vec<String>,
}

impl Sources {
    /// The files that findings name.
    pub(crate) fn of(findings: &[Finding]) -> Sources {
        let places = findings.iter().flat_map(|finding| &finding.sides).filter_map(|side| side.place.as_ref());
        let kept = places.filter_map(|place| {
            let source = place.lines().0?;
            Some(((source.file.clone(), source.line), place.text.clone()?))
        });
        Sources { kept: kept.collect(), ..Sources::default() }
    }

    /// A line and up to `around` on either side; `None` if the file has no such line or cannot be read.
    pub(crate) fn excerpt(&mut self, file: &str, line: u32, around: u32) -> Option<Excerpt> {
        let Some(lines) = self.files.entry(file.to_owned()).or_insert_with(|| read(file)).as_ref() else {
            let text = self.kept.get(&(file.to_owned(), line))?;
            return Some(Excerpt { first: line, lines: vec![text.trim().replace('\t', "    ")] });
        };
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        lines.get(index)?;
        let around = usize::try_from(around).ok()?;
        let from = index.saturating_sub(around);
        let until = index.saturating_add(around).saturating_add(1).min(lines.len());
        let mut shown: Vec<String> = lines[from..until].iter().map(|line| line.replace('\t', "    ")).collect();
        let indent = |line: &String| line.len() - line.trim_start_matches(' ').len();
        let common = shown.iter().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
        for line in &mut shown {
            let cut = common.min(indent(line));
            line.drain(..cut);
        }
        Some(Excerpt { first: u32::try_from(from).ok()?.saturating_add(1), lines: shown })
    }
}

fn read(path: &str) -> Option<Vec<String>> {
    // A pipe or a device could block or never end.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpt_ends_with_the_file_and_loses_its_common_indentation() {
        let path = std::env::temp_dir().join(format!("cuarray-sim-excerpt-{}.py", std::process::id()));
        std::fs::write(&path, "if True:\n    a = 1\n\n    if a:\n        b = 2\n").unwrap();
        let (mut sources, file) = (Sources::default(), path.to_str().unwrap());
        let excerpt = sources.excerpt(file, 4, 1).unwrap();
        assert_eq!((excerpt.first, excerpt.lines), (3, vec!["".into(), "if a:".into(), "    b = 2".into()]));
        assert_eq!(sources.excerpt(file, 1, 0).unwrap().lines, ["if True:"]);
        assert_eq!(sources.excerpt(file, 5, 9).unwrap().first, 1);
        assert_eq!(sources.excerpt(file, 0, 1), None);
        assert_eq!(sources.excerpt(file, 6, 1), None);
        std::fs::remove_file(&path).unwrap();
        assert!(sources.excerpt(file, 2, 0).is_some(), "a file is read once");
    }

    #[test]
    fn line_of_a_deleted_file_is_that_of_its_finding() {
        let mut report = crate::report::sample::kernel_race("a.py");
        let place = report.findings[0].sides[0].place.as_mut().unwrap();
        (place.source.as_mut().unwrap().file, place.text) = ("/no/such/k.cu".into(), Some("    x[t] = 1;".into()));
        let line = place.source.as_ref().unwrap().line;
        let excerpt = Sources::of(&report.findings).excerpt("/no/such/k.cu", line, 2).unwrap();
        assert_eq!(excerpt, Excerpt { first: line, lines: vec!["x[t] = 1;".into()] });
        for shown in [report.text(false), report.html()] {
            assert!(shown.contains("x[t] = 1;"), "{shown}");
        }
    }

    #[test]
    fn unreadable_and_special_files_are_left_out() {
        let mut sources = Sources::default();
        for file in ["<string>", "", "/", "/dev/zero", "/proc/self/mem", "/no/such/file.py", "a\0b"] {
            assert_eq!(sources.excerpt(file, 1, 2), None, "{file}");
        }
    }
}
