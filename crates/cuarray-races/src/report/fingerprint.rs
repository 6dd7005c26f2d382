//! Fingerprints: the same text for the same finding in every run, by which reports are compared.

use super::source::Sources;
use super::words;
use crate::finding::{Finding, Report, Side};
use std::collections::HashMap;

impl Report {
    /// Gives each finding its fingerprint and each stream the name of its variable, and calls in the missing order their lines in place of their numbers. Findings that look alike
    /// are numbered in the order of discovery.
    ///
    /// Numbers of lines, streams and operations, addresses and folders are left out, because they differ between runs, machines and
    /// versions of the program.
    pub fn identify(&mut self) {
        let (mut sources, mut alike) = (Sources::of(&self.findings), HashMap::<String, u32>::new());
        self.name_streams(&mut sources);
        for finding in &mut self.findings {
            locate_calls(finding);
            let text = text(finding, &mut sources);
            let number = alike.entry(text.clone()).or_default();
            *number += 1;
            finding.fingerprint = if *number == 1 { text } else { format!("{text} ({number})") };
        }
    }
}

/// Replaces the numbers of the sides' calls in the missing order by their lines.
fn locate_calls(finding: &mut Finding) {
    let Some(missing) = &mut finding.missing else { return };
    for side in &finding.sides {
        let line = words::line(side.graph.as_ref().unwrap_or(&side.site));
        let at = line.map_or(String::new(), |(file, line)| format!(" at {}:{line}", words::base(file)));
        *missing = missing.replace(&format!(" (operation {})", side.ordinal), &at);
    }
}

fn text(finding: &Finding, sources: &mut Sources) -> String {
    let sides = finding.sides.iter().map(|side| self::side(side, sources)).collect::<Vec<_>>();
    format!("{}: {}", finding.kind.name(), sides.join("; "))
}

/// A call and the kernel, then the user's line, then the line of the kernel.
fn side(side: &Side, sources: &mut Sources) -> String {
    let mut text = words::call(side);
    let function = match (words::frame(&side.site), &side.site.native) {
        (Some(frame), _) => Some(frame.function.as_str()),
        (None, Some(native)) => native.symbol.as_deref(),
        (None, None) => None,
    };
    let kernel = side.place.as_ref().and_then(|place| place.source.as_ref());
    let lines = [words::line(&side.site), kernel.map(|source| (source.file.as_str(), source.line))];
    for ((file, line), function) in
        lines.into_iter().zip([function, None]).filter_map(|(line, name)| Some((line?, name)))
    {
        text += &format!(" at {}", words::base(file));
        if let Some(function) = function {
            text += &format!(" in {function}");
        }
        if let Some(excerpt) = sources.excerpt(file, line, 0) {
            text += &format!(": {}", excerpt.lines.concat().trim());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::report::sample;
    use crate::site::SourceLine;
    use std::sync::Arc;

    /// The fingerprints of a report whose first sides are in a file with this text.
    fn fingerprints(folder: &str, text: &str, lines: [u32; 2]) -> Vec<String> {
        let folder = std::env::temp_dir().join(format!("cuarray-sim-{folder}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("train.py");
        std::fs::write(&file, text).unwrap();
        let mut report = sample::report(file.to_str().unwrap());
        for (side, line) in report.findings[0].sides.iter_mut().zip(lines) {
            side.site = sample::site(file.to_str().unwrap(), line);
        }
        report.findings.push(report.findings[0].clone());
        report.identify();
        std::fs::remove_dir_all(&folder).unwrap();
        report.findings.into_iter().map(|finding| finding.fingerprint).collect()
    }

    #[test]
    fn fingerprint_is_the_same_in_another_folder_and_after_inserted_lines() {
        let first = fingerprints("a", "write()\nread()\n", [1, 2]);
        assert_eq!(
            first[0],
            "data-race: cuMemcpyHtoDAsync at train.py in <module>: write(); cuMemcpyDtoDAsync at train.py in <module>: read()"
        );
        assert_eq!(first[1], format!("{} (2)", first[0]));
        assert_eq!(fingerprints("b", "# more\nif True:\n    write()\n    read()\n", [3, 4]), first);
        assert_ne!(fingerprints("c", "write()\nread(1)\n", [1, 2]), first);
    }

    #[test]
    fn calls_of_the_missing_order_have_their_lines() {
        let mut report = sample::report("/home/me/a.py");
        report.findings[0].missing =
            Some("order b (operation 6) behind a (operation 4) in the graph (operation 44)".into());
        report.findings[0].sides[1].site = Arc::default();
        report.findings[0].sides[1].graph = None;
        report.identify();
        assert_eq!(
            report.findings[0].missing.as_deref(),
            Some("order b behind a at a.py:4 in the graph (operation 44)")
        );
        report.findings[0].missing = Some("order b (operation 6)".into());
        report.findings[0].sides[1].graph = Some(sample::site("/home/me/graph.py", 9));
        report.identify();
        assert_eq!(report.findings[0].missing.as_deref(), Some("order b at graph.py:9"));
    }

    #[test]
    fn race_of_a_kernel_has_the_line_of_the_kernel() {
        let mut report = sample::kernel_race("a.py");
        let source = report.findings[0].sides[0].place.as_mut().unwrap();
        source.source = Some(SourceLine { file: "/src/kernel.cu".into(), line: 8 });
        report.identify();
        let expected =
            "kernel-race: cuMemcpyDtoDAsync at a.py in <module> at kernel.cu; cuMemcpyDtoDAsync at a.py in <module>";
        assert_eq!(report.findings[0].fingerprint, expected);
    }
}
