//! Source text in PTX.
//!
//! A library may delete the file that it has compiled, so that nothing can show the lines that the PTX names. The stand-in for NVRTC
//! puts the source behind the PTX then, in comments: a line with [`HEAD`] and the name of the file, and a line for each of its lines.

use std::collections::HashMap;

/// The start of the comment that names a file.
pub const HEAD: &str = "// source of ";
/// The start of the comment for a line of it.
pub const LINE: &str = "//| ";

/// Files by name, with their lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sources(HashMap<String, Vec<String>>);

impl Sources {
    /// The files in PTX.
    pub(crate) fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Sources {
        let mut files = HashMap::new();
        for text in texts {
            let Some(start) = text.find(&format!("\n{HEAD}")) else { continue };
            let mut lines = None;
            for line in text[start + 1..].lines() {
                if let Some(name) = line.strip_prefix(HEAD) {
                    lines = Some(files.entry(name.to_owned()).or_insert_with(Vec::new));
                } else if let (Some(lines), Some(line)) = (&mut lines, line.strip_prefix(LINE)) {
                    lines.push(line.to_owned());
                }
            }
        }
        Sources(files)
    }

    /// The lines of a file. The compiler may have made its name absolute.
    fn lines(&self, file: &str) -> Option<&[String]> {
        let ends =
            |name: &str| file.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('/'));
        self.0.iter().find(|(name, _)| ends(name)).map(|(_, lines)| lines.as_slice())
    }

    /// A line of a file, counted from 1.
    pub(crate) fn line(&self, file: &str, line: u32) -> Option<&str> {
        self.lines(file)?.get((line as usize).checked_sub(1)?).map(String::as_str)
    }

    /// The text of a file.
    pub(crate) fn text(&self, file: &str) -> Option<String> {
        self.lines(file).map(|lines| lines.join("\n"))
    }
}

/// A file as comments behind PTX. A name with a line break has no place there.
pub fn appended(name: &str, text: &str) -> String {
    if name.is_empty() || name.contains(['\n', '\r']) {
        return String::new();
    }
    let lines = text.lines().map(|line| format!("{LINE}{}\n", line.replace('\0', "\u{fffd}")));
    format!("\n{HEAD}{name}\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appended_lines_are_found_by_name_and_number() {
        let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";
        let text = format!("{ptx}{}", appended("/tmp/a/k.cu", "one\n\n  // source of three\n"));
        let sources = Sources::of([ptx, &text].into_iter());
        let line = |file: &str, line| sources.line(file, line);
        assert_eq!(line("/tmp/a/k.cu", 1), Some("one"));
        assert_eq!(line("/tmp/a/k.cu", 2), Some(""));
        assert_eq!(line("/tmp/a/k.cu", 3), Some("  // source of three"));
        assert_eq!(
            [line("/tmp/a/k.cu", 0), line("/tmp/a/k.cu", 4), line("k.cu", 1), line("/b/tmp/a/k.cu", 9)],
            [None; 4]
        );
        assert_eq!(
            Sources::of([format!("{ptx}{}", appended("k", "x"))].iter().map(String::as_str)).line("/w/k", 1),
            Some("x")
        );
        assert_eq!(Sources::of([ptx].into_iter()), Sources::default());
        assert_eq!(appended("a\nb", "x"), "");
    }

    #[test]
    fn ptx_with_a_source_is_loaded() {
        let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";
        let text = format!("{ptx}{}", appended("k.cu", "__global__ void k() { /* } */ }"));
        let image = crate::Image { modules: vec![("k".into(), text)], max_registers: 0, newer_target: None };
        let program = crate::load(&image).unwrap();
        assert_eq!(program.text("/w/k.cu", 1), Some("__global__ void k() { /* } */ }"));
    }
}
