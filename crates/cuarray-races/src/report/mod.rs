//! The formats of a [`Report`]: text, JSON, SARIF and commands for code hosts, a trace for timeline viewers, and a page.
//!
//! Each file here is one format, written from the same plain data. No format computes anything about the watched program.
//! They share their wording (`words`) and the quoted lines of source (`source`).

mod annotations;
mod fingerprint;
mod html;
mod json;
mod names;
#[cfg(test)]
pub(crate) mod sample;
mod source;
mod text;
mod trace;
mod words;

use crate::finding::{Report, Suppressed};
use crate::suppression::Suppression;
use std::path::Path;

pub use crate::symbol::{call_name, kernel_name, variable_name};
pub use words::BEHIND_NULL;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text for people.
    Text,
    /// One JSON object.
    Json,
    /// The trace-event format of timeline viewers.
    Trace,
    /// A self-contained page.
    Html,
    /// SARIF, for code hosts.
    Sarif,
}

impl Format {
    const ALL: [Format; 5] = [Format::Text, Format::Trace, Format::Json, Format::Html, Format::Sarif];

    /// The end of its file names.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Text => ".txt",
            Format::Json => ".json",
            Format::Trace => ".trace.json",
            Format::Html => ".html",
            Format::Sarif => ".sarif",
        }
    }

    /// The format that a file name implies.
    pub fn of(path: &Path) -> Option<Format> {
        let name = path.file_name()?.to_string_lossy();
        // The longer extension comes before the one that it ends with.
        Format::ALL.into_iter().find(|format| name.ends_with(format.extension()))
    }
}

impl Report {
    /// Writes the report to a file, in the format that its name implies; text by default. Files below `root` are named from there where
    /// the format is for code hosts.
    pub fn write(&self, path: &Path, root: &Path) -> std::io::Result<()> {
        let content = match Format::of(path).unwrap_or(Format::Text) {
            Format::Text => self.text(false),
            Format::Json => self.json(),
            Format::Trace => self.trace(),
            Format::Html => self.html(),
            Format::Sarif => self.sarif(root),
        };
        std::fs::write(path, content)
    }

    /// Removes suppressed findings, counts them, and renumbers the others.
    pub fn suppress(&mut self, suppressions: &[Suppression]) {
        let mut suppressed: Vec<Suppressed> =
            suppressions.iter().map(|each| Suppressed { line: each.line, text: each.text.clone(), count: 0 }).collect();
        self.findings.retain(|finding| match suppressions.iter().position(|each| each.matches(finding)) {
            Some(index) => {
                suppressed[index].count += finding.count;
                false
            }
            None => true,
        });
        for (number, finding) in (1..).zip(&mut self.findings) {
            finding.number = number;
        }
        self.suppressed = suppressed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_name_implies_the_format() {
        let of = |name| Format::of(Path::new(name));
        assert_eq!(of("/a/b.html"), Some(Format::Html));
        assert_eq!(of("b.json"), Some(Format::Json));
        assert_eq!(of("b.trace.json"), Some(Format::Trace));
        assert_eq!(of("b.txt"), Some(Format::Text));
        assert_eq!(of("b.sarif"), Some(Format::Sarif));
        assert_eq!(of("b.HTML"), None);
        assert_eq!(of("html"), None);
    }

    #[test]
    fn suppressed_findings_are_counted_and_others_renumbered() {
        let mut report = sample::report("a.py");
        let mut leak = report.findings[0].clone();
        (leak.kind, leak.number, leak.count) = (crate::finding::Kind::Leak, 2, 5);
        report.findings.insert(0, leak);
        let lines = "leak library=torch\nleak library=numba-*\n* call=cuMemcpy*Async file=b.py\n";
        report.suppress(&crate::suppression::parse(lines).unwrap());
        assert_eq!(
            report.findings.iter().map(|finding| (finding.number, finding.kind.name())).collect::<Vec<_>>(),
            [(1, "data-race")]
        );
        assert_eq!(
            report.suppressed.iter().map(|each| (each.line, each.count)).collect::<Vec<_>>(),
            [(1, 0), (2, 5), (3, 0)]
        );
    }
}
