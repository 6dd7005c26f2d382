//! The report as one page: a picture of each finding, the lines of the program on both sides, and the whole history.
//!
//! A reader should see the bug in five seconds. So each finding begins with a picture of its few relevant operations, then
//! names the missing edge, then quotes both sides. Addresses and libraries follow. The page is one file without scripts,
//! fonts or links, so it can be attached to a bug report. It follows the reader's light or dark setting.

mod history;
mod index;
mod markup;
mod memory;
mod selection;
mod timeline;

use super::source::Sources;
use super::words::{self, Detail};
use crate::finding::{Allocation, Finding, Report, Side};
use crate::site::{Frame, Site};
use crate::symbol::{call_name, kernel_name};
use markup::escape;
use std::fmt::Write as _;

const STYLE: &str = include_str!("page.css");

/// The legend of the pictures.
const LEGEND: &str = concat!(
    "<div class=\"legend\">\n",
    "<span><svg width=\"34\" height=\"18\"><g class=\"wrong\"><rect x=\"1\" y=\"1\" width=\"32\" height=\"16\" rx=\"4\"/></g></svg>",
    "the subject of the finding</span>\n",
    "<span><svg width=\"34\" height=\"18\"><path class=\"edge\" d=\"M1 9H31\"/><path class=\"edge tip\" d=\"M26 5L31 9L26 13\"/></svg>",
    "an edge: finished before</span>\n",
    "<span><svg width=\"34\" height=\"18\"><path class=\"absent\" d=\"M1 9H31\"/><path class=\"absent tip\" d=\"M26 5L31 9L26 13\"/></svg>",
    "the edge that is missing</span>\n",
    "<span><svg width=\"34\" height=\"18\"><g class=\"order\"><rect x=\"1\" y=\"1\" width=\"32\" height=\"16\" rx=\"4\"/></g></svg>",
    "record, wait, synchronize</span>\n",
    "<span><svg width=\"34\" height=\"18\"><g class=\"work\"><rect x=\"1\" y=\"1\" width=\"32\" height=\"16\" rx=\"4\"/></g></svg>",
    "other operations</span>\n",
    "</div>\n"
);

impl Report {
    /// The report as one self-contained page. It quotes lines of the files that sites name.
    ///
    /// ```
    /// let empty = cuarray_races::finding::Report::default();
    /// assert!(empty.html().contains("Nothing found"));
    /// ```
    pub fn html(&self) -> String {
        let mut sources = Sources::of(&self.findings);
        let title = match self.findings.len() {
            0 => "Nothing found".to_owned(),
            1 => "1 finding".to_owned(),
            more => format!("{} findings", words::number(more as u64)),
        };
        let recorded_by = self.recorded_by();
        let mut page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <title>{title} – {recorded_by}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        );
        self.summary(&mut page);
        page.push_str(&index::draw(self, &mut sources));
        if !self.findings.is_empty() {
            page.push_str(LEGEND);
        }
        for finding in &self.findings {
            self.finding(&mut page, finding, &mut sources);
        }
        if !self.operations.is_empty() {
            let count = words::number(self.operations.len() as u64);
            let forgotten = match self.forgotten {
                0 => String::new(),
                some => format!(" ({} earlier ones are forgotten)", words::number(some)),
            };
            let _ = write!(
                page,
                "<details>\n<summary>The history: {count} operations on {} lanes{forgotten}</summary>\n\
                 <div class=\"history\" tabindex=\"0\">{}</div>\n</details>\n",
                self.lanes.len(),
                history::draw(self)
            );
        }
        page.push_str("</body>\n</html>\n");
        page
    }

    /// The name of the program that fed the detector, as markup.
    fn recorded_by(&self) -> String {
        escape(match &*self.recorded_by {
            "" => concat!("cuarray-races ", env!("CARGO_PKG_VERSION")),
            name => name,
        })
    }

    fn summary(&self, page: &mut String) {
        let recorded_by = self.recorded_by();
        let operations = words::number(self.operations.len() as u64 + self.forgotten);
        let _ = writeln!(
            page,
            "<div class=\"muted\">by {recorded_by}, in {operations} operations on {} streams and threads</div>",
            self.lanes.len()
        );
        if self.not_kept > 0 {
            let _ = writeln!(page, "<div>{} more are not shown.</div>", words::number(self.not_kept));
        }
    }

    fn finding(&self, page: &mut String, finding: &Finding, sources: &mut Sources) {
        let again = words::again(finding);
        let _ = write!(
            page,
            "<section class=\"finding\" id=\"finding-{}\">\n<h2><span class=\"tag\">{}</span>{}{again}</h2>\n\
             <div class=\"picture\" tabindex=\"0\">{}</div>\n",
            finding.number,
            finding.kind.name(),
            escape(&capitalized(&words::headline(finding, &self.lanes))),
            timeline::draw(&selection::of(self, finding), finding, &self.lanes)
        );
        if let Some(missing) = &finding.missing {
            for (label, remedy) in std::iter::once("Missing").chain(std::iter::repeat("Or")).zip(missing.lines()) {
                let _ = writeln!(page, "<p class=\"fix\"><b>{label}:</b> {}.</p>", escape(remedy));
            }
        }
        page.push_str("<div class=\"sides\">\n");
        for (side, letter) in finding.sides.iter().zip('A'..='Z') {
            self.side(page, finding, side, letter, sources);
        }
        page.push_str("</div>\n");
        if let Some(variable) = &finding.variable {
            let _ = writeln!(page, "<p>Memory: byte {} of {}</p>", variable.offset, escape(&words::variable(variable)));
        }
        if let Some(allocation) = &finding.allocation {
            memory_of(page, finding, allocation, sources);
        }
        page.push_str(&self.neighbours(finding));
        page.push_str("</section>\n");
    }

    /// Links from a finding to the index and to its neighbours.
    fn neighbours(&self, finding: &Finding) -> String {
        if self.findings.len() < 2 {
            return String::new();
        }
        let at = self.findings.iter().position(|each| each.number == finding.number).unwrap_or_default();
        let link = |index: usize, text: &str| {
            let found = self.findings.get(index)?;
            Some(format!("<a href=\"#finding-{}\">{text}</a>", found.number))
        };
        let links = [
            link(at.wrapping_sub(1), "previous"),
            link(at + 1, "next"),
            Some("<a href=\"#index\">all findings</a>".into()),
        ];
        format!("<p class=\"links\">{}</p>\n", links.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }

    /// The line that made a stream.
    fn made(&self, number: u32) -> String {
        let lane = self.lanes.iter().find(|lane| lane.number == number);
        let place = lane.and_then(|lane| Some((words::variable_of(lane), words::made(lane)?)));
        let text =
            |(name, place): (String, String)| format!(", {}made at <code>{}</code>", escape(&name), escape(&place));
        place.map(text).unwrap_or_default()
    }

    fn side(&self, page: &mut String, finding: &Finding, side: &Side, letter: char, sources: &mut Sources) {
        let lane = self.lanes.iter().find(|lane| lane.number == side.lane);
        let lane = lane.map_or_else(|| format!("lane {}", side.lane), |lane| lane.name.clone());
        let (name, remark) = match words::detail(side.detail.as_deref()) {
            Detail::None => (String::new(), String::new()),
            Detail::Name(name) => (format!(" <code>{}</code>", escape(&kernel_name(name))), String::new()),
            Detail::Remark(remark) => (String::new(), format!("<p>{}</p>\n", escape(remark))),
        };
        let _ = write!(
            page,
            "<div class=\"side\"><div>\n<h3><span class=\"letter\">{letter}</span><code>{}</code>{name} {}</h3>\n\
             <p>on {}{}</p>\n{remark}",
            escape(call_name(side.call)),
            words::action(side, finding),
            escape(&lane),
            self.made(side.lane)
        );
        if let Some(place) = &side.place {
            let atomic = if place.atomic { ", atomically" } else { "" };
            let _ = writeln!(
                page,
                "<p>in {}{atomic}{}</p>",
                escape(&place.to_string()),
                escape(&words::hint(place, &side.site))
            );
            if let Some(waits) = &place.waits {
                let _ = writeln!(page, "<p>{}</p>", escape(waits));
            }
        }
        origin(page, &side.site);
        if let Some(graph) = &side.graph {
            let _ = writeln!(page, "<p>in a graph, launched at <code>{}</code></p>", escape(&graph.to_string()));
        }
        page.push_str("</div>\n");
        if let Some(source) = side.place.as_ref().and_then(|place| place.lines().0) {
            quote(page, (&source.file, source.line), sources, 2);
        }
        if let Some(line) = words::line(&side.site) {
            quote(page, line, sources, 2);
        }
        page.push_str("</div>\n");
    }
}

/// The site of a call: the user's line, and the library's below it.
fn origin(page: &mut String, site: &Site) {
    let mut lines = Vec::new();
    if let Some(frame) = words::frame(site) {
        lines.push(format!("<code>{}</code>", escape(&frame.to_string())));
    } else if let Some(native) = site.native.as_ref().filter(|native| native.source.is_some()) {
        lines.push(format!("<code>{}</code>", escape(&native.to_string())));
    }
    let inner = site.innermost.as_ref().filter(|inner| Some(*inner) != words::frame(site));
    match (&site.library, inner, &site.native) {
        (Some(library), Some(inner), _) => {
            lines.push(format!("called by {} at {}", escape(library), within_packages(inner)));
        }
        (Some(library), None, _) => lines.push(format!("called by {}", escape(library))),
        (None, Some(inner), _) => lines.push(format!("called at {}", within_packages(inner))),
        (None, None, Some(native)) if lines.is_empty() => {
            lines.push(format!("<code>{}</code>", escape(&native.to_string())));
        }
        (None, None, _) => {}
    }
    if lines.is_empty() {
        lines.push("from an unknown place".to_owned());
    }
    for line in lines {
        let _ = writeln!(page, "<p>{line}</p>");
    }
}

/// A frame of a library. The folder of packages is shown only in the tooltip.
fn within_packages(frame: &Frame) -> String {
    let shown = frame.to_string();
    let short = shown.rsplit_once("-packages/").map_or(shown.as_str(), |(_, short)| short);
    format!("<code title=\"{}\">{}</code>", escape(&shown), escape(short))
}

/// A line with its neighbours, if its file can be read.
fn quote(page: &mut String, (file, here): (&str, u32), sources: &mut Sources, around: u32) {
    let Some(excerpt) = sources.excerpt(file, here, around) else { return };
    page.push_str("<table class=\"source\">\n");
    for (number, line) in (excerpt.first..).zip(&excerpt.lines) {
        let class = if number == here { " class=\"here\"" } else { "" };
        let _ = writeln!(page, "<tr{class}><td>{number}</td><td>{}</td></tr>", escape(line));
    }
    page.push_str("</table>\n");
}

fn memory_of(page: &mut String, finding: &Finding, allocation: &Allocation, sources: &mut Sources) {
    let place = match (finding.bytes, finding.offset) {
        (Some(bytes), Some(offset)) => {
            format!("{} from byte {} of ", words::bytes(bytes.length), words::number(offset))
        }
        _ => String::new(),
    };
    let _ = write!(
        page,
        "<div class=\"memory\">\n<p><b>Memory:</b> {place}{} of {} memory at <code>{:#x}</code> on device {}, \
         made by <code>{}</code></p>\n<p class=\"place\">{}</p>\n",
        words::bytes(allocation.size),
        allocation.kind,
        allocation.address,
        allocation.device,
        escape(call_name(allocation.call)),
        escape(&allocation.site.to_string())
    );
    if let Some(line) = words::line(&allocation.site) {
        quote(page, line, sources, 0);
    }
    page.push_str(&memory::draw(finding, allocation));
    for more in &finding.more_allocations {
        let (size, kind, site) = (words::bytes(more.size), more.kind, escape(&more.site.to_string()));
        let _ = writeln!(page, "<p><b>Also:</b> {size} of {kind} memory at <code>{:#x}</code></p>", more.address);
        let _ = writeln!(page, "<p class=\"place\">{site}</p>");
        if let Some(line) = words::line(&more.site) {
            quote(page, line, sources, 0);
        }
    }
    page.push_str("</div>\n");
}

fn capitalized(sentence: &str) -> String {
    // Names of calls are not capitalized.
    if !sentence.split(' ').next().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_lowercase())) {
        return sentence.to_owned();
    }
    let mut characters = sentence.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn page_shows_the_problem_and_both_lines() {
        let path = std::env::temp_dir().join(format!("cuarray-sim-page-{}.py", std::process::id()));
        std::fs::write(&path, "one\ntwo\nthree\nfour = '<b>'\nfive\nsix\n").unwrap();
        let page = sample::report(path.to_str().unwrap()).html();
        std::fs::remove_file(&path).unwrap();
        for expected in [
            "<title>1 finding – cuarray-races 0.1.0</title>",
            "Stream 2 reads 1,024 bytes that stream 1 writes, and nothing orders the two",
            "make stream 2 wait for it before cuMemcpyDtoDAsync.",
            "<tr class=\"here\"><td>4</td><td>four = &#39;&lt;b&gt;&#39;</td></tr>",
            "<tr class=\"here\"><td>6</td><td>six</td></tr>",
            "1,024 bytes from byte 1,024 of 4,096 bytes of device memory",
            "numba_cuda/numba/cuda/cudadrv/driver.py:2201",
            "The history: 7 operations on 3 lanes",
        ] {
            assert!(page.contains(expected), "{expected}");
        }
    }

    #[test]
    fn page_has_no_scripts_and_no_links() {
        let page = sample::report(sample::HOSTILE).html();
        let without_namespace = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        for unwanted in ["<script", "http:", "https:", "url(", "@import", "<img", "<link", "src=", "\u{202e}", "\u{7}"]
        {
            assert!(!without_namespace.contains(unwanted), "{unwanted}");
        }
        assert!(page.contains("&lt;script&gt;alert(&#39;&quot;&amp;\u{fffd}\u{fffd}&#39;)"));
    }

    #[test]
    fn race_within_a_launch_is_drawn_with_both_threads() {
        let page = sample::kernel_race("a.py").html();
        for expected in [
            ">thread (0, 0, 0)</text>",
            ">thread (7, 0, 0)</text>",
            ">block (2, 0, 0)</text>",
            ">kernel.cu:8</text>",
            ">line 40 of the PTX</text>",
            ">no edge</text>",
        ] {
            assert!(page.contains(expected), "{expected}");
        }
        let picture =
            page.split("<svg class=\"timeline\"").nth(1).and_then(|rest| rest.split("</svg>").next()).unwrap();
        assert_eq!((picture.matches(">A</text>").count(), picture.matches(">B</text>").count()), (1, 1));
        assert_eq!(picture.matches("text-anchor=\"middle\">#6</text>").count(), 1);
    }

    #[test]
    fn page_shows_the_line_that_made_a_stream() {
        let mut report = sample::report("a.py");
        assert!(!report.html().contains(", made at"));
        let user = Some(Frame { file: "<train>.py".into(), line: 3, function: "f".into() });
        report.lanes[1].made = Some(std::sync::Arc::new(Site { user, ..Site::default() }));
        let page = report.html();
        assert_eq!(page.matches(", made at <code>&lt;train&gt;.py:3 in f</code>").count(), 1);
    }

    #[test]
    fn page_lists_several_findings() {
        let mut report = sample::report("a.py");
        let mut second = report.findings[0].clone();
        second.number = 2;
        second.count = 3;
        report.findings.push(second);
        report.not_kept = 1234;
        let page = report.html();
        assert!(page.contains("<a href=\"#finding-2\">") && page.contains("id=\"finding-2\""));
        assert!(page.contains(" (3 times)</h2>") && page.contains("1,234 more are not shown."));
        let (next, previous) = ("<a href=\"#finding-2\">next</a>", "<a href=\"#finding-1\">previous</a>");
        assert_eq!([next, previous].map(|link| page.matches(link).count()), [1, 1]);
        assert_eq!(page.matches("<a href=\"#index\">all findings</a>").count(), 2);
    }

    #[test]
    fn names_of_calls_are_not_capitalized() {
        assert_eq!(capitalized("cuStreamSynchronize waits"), "cuStreamSynchronize waits");
        assert_eq!(capitalized("stream 1 reads"), "Stream 1 reads");
    }
}
