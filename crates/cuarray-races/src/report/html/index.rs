//! The index of a page with several findings: those of one line together, each with its kind and its memory.

use super::markup::escape;
use crate::finding::{Finding, Report};
use crate::report::source::Sources;
use crate::report::words;
use std::fmt::Write as _;

/// A file and a line.
type Place<'a> = (&'a str, u32);

/// The line of the program that a finding is about: the first that one of its sides names.
fn place(finding: &Finding) -> Option<Place<'_>> {
    finding.sides.iter().find_map(|side| {
        let source = side.place.as_ref().and_then(|place| place.lines().0);
        source.map(|source| (&*source.file, source.line)).or_else(|| words::line(&side.site))
    })
}

/// The memory or object that a finding is about, as markup. The line that made memory tells it from other memory of that size.
fn subject(finding: &Finding, sources: &mut Sources) -> String {
    if let Some(variable) = &finding.variable {
        return escape(&words::variable(variable));
    }
    match (&finding.allocation, &finding.object) {
        (Some(allocation), _) => {
            let memory = format!("{} of {} memory", words::bytes(allocation.size), allocation.kind);
            match words::line(&allocation.site) {
                Some((file, line)) => format!("{memory}, made at {}", heading((file, line), sources)),
                None => memory,
            }
        }
        (None, Some(object)) => format!("{} {:#x}", escape(object.kind), object.handle),
        (None, None) => String::new(),
    }
}

/// A line with its text, as markup.
fn heading((file, line): Place<'_>, sources: &mut Sources) -> String {
    let text = sources.excerpt(file, line, 0).and_then(|excerpt| excerpt.lines.first().cloned());
    let text = text.map(|text| format!(" <code>{}</code>", escape(text.trim()))).unwrap_or_default();
    format!("<code title=\"{}\">{}:{line}</code>{text}", escape(file), escape(words::base(file)))
}

/// The index as markup; nothing for a single finding.
pub(super) fn draw(report: &Report, sources: &mut Sources) -> String {
    let mut index = String::new();
    if report.findings.len() < 2 {
        return index;
    }
    let mut groups: Vec<(Option<Place<'_>>, Vec<&Finding>)> = Vec::new();
    for finding in &report.findings {
        let place = place(finding);
        match groups.iter_mut().find(|(line, _)| *line == place) {
            Some((_, findings)) => findings.push(finding),
            None => groups.push((place, vec![finding])),
        }
    }
    index.push_str("<nav id=\"index\">\n");
    for (line, findings) in groups {
        let heading = match line {
            Some(line) => heading(line, sources),
            None => "no line is known".to_owned(),
        };
        let _ = writeln!(index, "<h2>{heading}</h2>\n<ul>");
        for finding in findings {
            let subject = match subject(finding, sources) {
                text if text.is_empty() => text,
                text => format!(" <span class=\"muted\">{text}</span>"),
            };
            let _ = writeln!(
                index,
                "<li><span class=\"tag\">{}</span><a href=\"#finding-{}\">{}</a>{}{subject}</li>",
                finding.kind.name(),
                finding.number,
                escape(&words::headline(finding, &report.lanes)),
                words::again(finding),
            );
        }
        index.push_str("</ul>\n");
    }
    index.push_str("</nav>\n");
    index
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Kind, Variable};
    use crate::report::sample;

    #[test]
    fn findings_of_one_line_are_together_with_their_kinds_and_memory() {
        let mut report = sample::report("a.py");
        let first = report.findings[0].clone();
        let variable = Variable { name: Some("box".into()), space: "shared", offset: 0 };
        let mut kernel = sample::kernel_race("b.py").findings[0].clone();
        kernel.variable = Some(variable);
        kernel.number = 2;
        let third = Finding { number: 3, kind: Kind::UseAfterFree, count: 5, ..first };
        report.findings.extend([kernel, third]);
        let index = draw(&report, &mut Sources::default());
        let order: Vec<_> =
            ["a.py:4", "#finding-1", "#finding-3", "kernel.cu:8", "#finding-2"].map(|text| index.find(text)).into();
        assert!(order.is_sorted() && order[0].is_some(), "{index}");
        assert_eq!(index.matches("<h2>").count(), 2);
        for expected in [
            "<span class=\"tag\">use-after-free</span>",
            "</a> (5 times) <span class=\"muted\">4,096 bytes of device memory, made at <code title=\"a.py\">a.py:1</code></span>",
            "<span class=\"muted\">the shared variable box</span>",
        ] {
            assert!(index.contains(expected), "{expected} in {index}");
        }
    }

    #[test]
    fn a_single_finding_needs_no_index() {
        assert_eq!(draw(&sample::report("a.py"), &mut Sources::default()), "");
    }
}
