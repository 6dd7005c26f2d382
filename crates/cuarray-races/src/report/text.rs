//! The report as text for terminals, coloured on request.
//!
//! Each finding is a paragraph: the problem, both sides with their source lines, the missing edge, the memory. An
//! indented line gives details of the line above it.

use super::source::Sources;
use super::words::{self, Detail};
use crate::finding::{Allocation, Finding, Report, Side};
use crate::site::Site;
use crate::symbol::{call_name, kernel_name};
use std::fmt::Write as _;

/// The escape codes of a terminal, or empty texts.
struct Colours {
    red: &'static str,
    bold: &'static str,
    dim: &'static str,
    green: &'static str,
    off: &'static str,
}

const PLAIN: Colours = Colours { red: "", bold: "", dim: "", green: "", off: "" };
const TERMINAL: Colours =
    Colours { red: "\x1b[1;31m", bold: "\x1b[1m", dim: "\x1b[2m", green: "\x1b[32m", off: "\x1b[0m" };

impl Report {
    /// The findings as text, with the source lines that they name; empty if there are none.
    ///
    /// ```
    /// assert_eq!(cuarray_races::finding::Report::default().text(false), "");
    /// ```
    pub fn text(&self, coloured: bool) -> String {
        let (mut text, mut sources) = (String::new(), Sources::of(&self.findings));
        for finding in &self.findings {
            self.paragraph(&mut text, finding, &mut sources, if coloured { &TERMINAL } else { &PLAIN });
        }
        if self.not_kept > 0 {
            let _ = writeln!(text, "{} more findings are not shown", words::number(self.not_kept));
        }
        if !text.is_empty() && self.watched.left_out > 0 {
            let _ = writeln!(text, "{}", words::left_out(&self.watched));
        }
        text
    }

    fn paragraph(&self, text: &mut String, finding: &Finding, sources: &mut Sources, colours: &Colours) {
        let Colours { red, bold, dim, green, off } = colours;
        let again = words::again(finding);
        let (number, kind) = (finding.number, finding.kind.name());
        let headline = words::headline(finding, &self.lanes);
        let _ = writeln!(text, "{red}[{number}] {kind}:{off} {bold}{headline}{off}{again}");
        for (index, (letter, side)) in ('A'..='Z').zip(&finding.sides).enumerate() {
            let lane = self.lanes.iter().find(|lane| lane.number == side.lane).map_or("?", |lane| &lane.name);
            let (name, remark) = match words::detail(side.detail.as_deref()) {
                Detail::None => (String::new(), None),
                Detail::Name(name) => (format!(" {}", printable(&kernel_name(name))), None),
                Detail::Remark(remark) => (String::new(), Some(printable(remark))),
            };
            let (call, access) = (call_name(side.call), words::action(side, finding));
            let _ = writeln!(text, "  {red}{letter}{off} {bold}{call}{name}{off} {access} on {lane}");
            in_kernel(text, side, sources, colours);
            // Threads of one launch have one site.
            let of_launch = |other: Option<&Side>| other.is_some_and(|other| other.ordinal == side.ordinal);
            let others = [index.checked_sub(1), Some(index + 1)].map(|at| finding.sides.get(at?));
            if !of_launch(others[1]) {
                let at = if of_launch(others[0]) { "  launched at" } else { "      at" };
                place(text, at, &side.site, sources, colours);
            }
            if let Some(remark) = remark {
                let _ = writeln!(text, "      {remark}");
            }
            if let Some(graph) = side.graph.as_ref().filter(|_| !of_launch(others[1])) {
                let _ = writeln!(text, "      in a graph, launched at {}", printable(&graph.to_string()));
            }
        }
        if let Some(missing) = &finding.missing {
            for (label, remedy) in std::iter::once("missing:").chain(std::iter::repeat("     or:")).zip(missing.lines())
            {
                let _ = writeln!(text, "  {green}{label}{off} {}", printable(remedy));
            }
        }
        self.streams(text, finding, colours);
        if let (Some(variable), Some(bytes)) = (&finding.variable, finding.bytes) {
            let last = variable.offset.saturating_add(bytes.length).saturating_sub(1);
            let _ = writeln!(
                text,
                "  {dim}memory:{off} bytes {} to {last} of {}",
                variable.offset,
                printable(&words::variable(variable))
            );
        }
        if let Some(object) = &finding.object {
            let _ = writeln!(text, "  {dim}{}{off} {:#x}", object.kind, object.handle);
        }
        if let Some(allocation) = &finding.allocation {
            let range = match (finding.offset, finding.bytes) {
                (Some(offset), Some(bytes)) => {
                    let end = offset.saturating_add(bytes.length);
                    let of = if end > allocation.size { "beyond the end of" } else { "of" };
                    format!("bytes {offset} to {} {of} ", end.saturating_sub(1))
                }
                _ => String::new(),
            };
            memory(text, "memory", &range, (allocation, &words::pointing(finding)), sources, colours);
        }
        for allocation in &finding.more_allocations {
            memory(text, "also", "", (allocation, ""), sources, colours);
        }
        text.push('\n');
    }
}

impl Report {
    /// The lines that made the streams of a finding.
    fn streams(&self, text: &mut String, finding: &Finding, colours: &Colours) {
        for (name, made) in words::made_streams(finding, &self.lanes) {
            let _ = writeln!(text, "  {}{name}:{} {}", colours.dim, colours.off, printable(&made));
        }
    }
}

/// An allocation, with the arguments that point to it, and the call that made it.
fn memory(
    text: &mut String,
    label: &str,
    range: &str,
    (of, pointed): (&Allocation, &str),
    sources: &mut Sources,
    colours: &Colours,
) {
    let Colours { dim, off, .. } = colours;
    let (size, kind, address, call) = (words::bytes(of.size), of.kind, of.address, call_name(of.call));
    let _ = writeln!(
        text,
        "  {dim}{label}:{off} {range}{size} of {kind} memory at {address:#x}{}, made by {call}",
        printable(pointed)
    );
    place(text, "      at", &of.site, sources, colours);
}

/// The thread of a kernel that made an access, with the line of the kernel's source.
fn in_kernel(text: &mut String, side: &Side, sources: &mut Sources, colours: &Colours) {
    let Some(place) = &side.place else { return };
    let atomic = if place.atomic { ", atomically" } else { "" };
    let _ = writeln!(text, "      in {}{atomic}{}", printable(&place.to_string()), words::hint(place, &side.site));
    if let Some(excerpt) = place.lines().0.and_then(|source| sources.excerpt(&source.file, source.line, 0)) {
        for line in excerpt.lines {
            let _ = writeln!(text, "          {}{}{}", colours.bold, printable(&line), colours.off);
        }
    }
    if let Some(waits) = &place.waits {
        let _ = writeln!(text, "      {}", printable(waits));
    }
}

/// The site of a call: the user's line with its source, and the calling library.
fn place(text: &mut String, at: &str, site: &Site, sources: &mut Sources, colours: &Colours) {
    let Colours { bold, dim, off, .. } = colours;
    let frame = words::frame(site);
    let _ = match (frame, &site.native) {
        (Some(frame), _) => writeln!(text, "{at} {}", printable(&frame.to_string())),
        (None, Some(native)) => writeln!(text, "{at} {}", printable(&native.to_string())),
        (None, None) => writeln!(text, "{at} an unknown place"),
    };
    if let Some(excerpt) = words::line(site).and_then(|(file, line)| sources.excerpt(file, line, 0)) {
        for line in excerpt.lines {
            let _ = writeln!(text, "          {bold}{}{off}", printable(&line));
        }
    }
    let inner =
        site.innermost.as_ref().filter(|inner| Some(*inner) != frame).map(|inner| printable(&inner.to_string()));
    let _ = match (site.library.as_deref().map(printable), inner) {
        (Some(library), Some(inner)) => writeln!(text, "      {dim}by {library}, {inner}{off}"),
        (Some(caller), None) | (None, Some(caller)) => writeln!(text, "      {dim}by {caller}{off}"),
        (None, None) => Ok(()),
    };
}

/// Text from the watched program, without characters that control a terminal.
fn printable(text: &str) -> String {
    text.replace(words::is_harmful, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use crate::finding::{Kind, Language};
    use crate::report::sample;
    use crate::site::{Frame, Site, SourceLine};
    use std::sync::Arc;

    #[test]
    fn text_names_both_sides_with_their_lines() {
        let path = std::env::temp_dir().join(format!("cuarray-sim-text-{}.py", std::process::id()));
        std::fs::write(&path, "one\ntwo\nthree\n    four\nfive\nsix\n").unwrap();
        let file = path.to_str().unwrap();
        let text = sample::report(file).text(false);
        std::fs::remove_file(&path).unwrap();
        let library = "/usr/lib/python3/site-packages/numba_cuda/numba/cuda/cudadrv/driver.py:2201 in host_to_device";
        let expected = format!(
            "[1] data-race: stream 2 reads 1,024 bytes that stream 1 writes, and nothing orders the two
  A cuMemcpyHtoDAsync writes 4,096 bytes on stream 1 (non-blocking)
      at {file}:4 in <module>
          four
      by numba-cuda, {library}
  B cuMemcpyDtoDAsync reads 1,024 bytes on stream 2 (non-blocking)
      at {file}:6 in <module>
          six
      by numba-cuda, {library}
  missing: record an event on stream 1 after cuMemcpyHtoDAsync and make stream 2 wait for it before cuMemcpyDtoDAsync
  memory: bytes 1024 to 2047 of 4,096 bytes of device memory at 0x7ffd00000000, made by cuMemAlloc
      at {file}:1 in <module>
          one
      by numba-cuda, {library}

"
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn last_line_states_what_was_not_searched() {
        let mut report = sample::report("a.py");
        report.watched.left_out = 1 << 20;
        let expected = "not searched: 1,048,576 bytes of launches; the search of 4,096 bytes took about 2,560 bytes";
        assert_eq!(report.text(false).lines().last(), Some(expected));
        report.findings.clear();
        assert_eq!(report.text(false), "");
    }

    #[test]
    fn streams_are_shown_with_the_line_that_made_them() {
        let mut report = sample::report("a.py");
        let (first, second) = (report.findings[0].sides[0].lane, report.findings[0].sides[1].lane);
        let site = |line| {
            let user = Some(Frame { file: "train.py".into(), line, function: "f".into() });
            Some(Arc::new(Site { user, ..Site::default() }))
        };
        for lane in &mut report.lanes {
            lane.made = if lane.number == first { site(3) } else { site(4) };
        }
        let text = report.text(false);
        assert!(text.contains("  stream 1: made at train.py:3 in f\n  stream 2: made at train.py:4 in f\n"), "{text}");
        report.findings[0].sides[1].lane = first;
        assert_eq!(report.text(false).matches("made at train.py").count(), 1);
        assert_ne!(first, second);
    }

    #[test]
    fn colours_appear_only_on_request() {
        let report = sample::report("a\u{1b}[31mb.py");
        assert!(report.text(true).contains("\u{1b}[1;31m[1] data-race:"));
        assert!(!report.text(false).contains('\u{1b}'));
        assert!(report.text(false).contains("a\u{fffd}[31mb.py:4"));
    }

    #[test]
    fn place_in_a_kernel_without_a_source_line_has_the_hint_of_its_language() {
        let mut report = sample::kernel_race("a.py");
        let text = report.text(false);
        assert!(
            text.contains("in thread (0, 0, 0) of block (0, 0, 0), at src/kernel.cu:8, line 30 of the PTX\n"),
            "{text}"
        );
        for (language, library, has_lines, hint) in [
            (
                Language::Numba,
                "numba.cuda",
                false,
                "with line information (lineinfo=True) to see the line of the source",
            ),
            (Language::Cuda, "cupy", false, "with line information (options=(\"-lineinfo\",)) to"),
            (Language::Cuda, "cuda.core", true, "without optimization (ProgramOptions(debug=True)) to see it"),
            (Language::Cuda, "a.out", false, "with line information (-lineinfo) to"),
            (Language::Triton, "triton", true, ""),
            (Language::Other, "cuda.core", false, ""),
        ] {
            let side = &mut report.findings[0].sides[1];
            side.site = Arc::new(Site { library: Some(library.into()), ..Site::default() });
            let place = side.place.as_mut().unwrap();
            (place.language, place.has_lines) = (language, has_lines);
            let text = report.text(false);
            let line = text.lines().find(|line| line.contains("thread (7, 0, 0)")).unwrap();
            let expected = "      in thread (7, 0, 0) of block (2, 0, 0), line 40 of the PTX";
            let rest = line.strip_prefix(expected).unwrap();
            assert!(rest.contains(hint) && rest.is_empty() == hint.is_empty(), "{line}");
        }
    }

    #[test]
    fn launch_of_two_threads_is_shown_once() {
        let text = sample::kernel_race("a.py").text(false);
        assert!(text.contains("\n  launched at a.py:6 in <module>\n") && text.matches("a.py:6").count() == 1, "{text}");
    }

    #[test]
    fn memory_of_a_kernel_race_has_the_argument_that_points_to_it() {
        let mut report = sample::kernel_race("a.py");
        report.findings[0].allocation = sample::report("a.py").findings[0].allocation.clone();
        report.findings[0].variable = None;
        report.findings[0].sides[0].place.as_mut().unwrap().argument = Some("argument 1 (`out`, `int*`)".into());
        let text = report.text(false);
        assert!(
            text.contains("at 0x7ffd00000000, to which argument 1 (`out`, `int*`) points, made by cuMemAlloc"),
            "{text}"
        );
    }

    #[test]
    fn further_memory_of_a_finding_is_listed() {
        let mut report = sample::report("a.py");
        let mut more = report.findings[0].allocation.clone().unwrap();
        (more.size, more.site) = (64, sample::site("a.py", 2));
        report.findings[0].more_allocations.push(more);
        let text = report.text(false);
        let expected =
            "  also: 64 bytes of device memory at 0x7ffd00000000, made by cuMemAlloc\n      at a.py:2 in <module>\n";
        assert!(text.contains(expected), "{text}");
        assert!(report.html().contains("<b>Also:</b> 64 bytes of device memory"));
    }

    #[test]
    fn users_line_is_shown_before_the_header_that_is_inlined_there() {
        let mut report = sample::kernel_race("a.py");
        let place = report.findings[0].sides[0].place.as_mut().unwrap();
        let line = |file: &str, line| Some(SourceLine { file: file.into(), line });
        (place.source, place.inlined_at) = (line("/cuda/include/copies.h", 188), line("src/kernel.cu", 8));
        let text = report.text(false);
        assert!(
            text.contains(", at src/kernel.cu:8, inside /cuda/include/copies.h:188, line 30 of the PTX\n"),
            "{text}"
        );
        let place = report.findings[0].sides[0].place.as_mut().unwrap();
        place.source = line("src/copies.cuh", 3);
        let text = report.text(false);
        assert!(text.contains(", at src/copies.cuh:3, inlined at src/kernel.cu:8, line 30 of the PTX\n"), "{text}");
    }

    #[test]
    fn kernel_of_a_graph_is_shown_with_the_launch_of_the_graph() {
        let mut report = sample::kernel_race("a.py");
        let user = Some(Frame { file: "train.py".into(), line: 9, function: "f".into() });
        report.findings[0].sides[1].graph = Some(Arc::new(Site { user, ..Site::default() }));
        for text in [report.text(false), report.html()] {
            assert_eq!(text.matches("in a graph, launched at ").count(), 1, "{text}");
            assert!(text.contains("train.py:9 in f"), "{text}");
        }
    }

    #[test]
    fn kernel_names_are_demangled() {
        let mut report = sample::kernel_race("a.py");
        report.findings[0].sides.iter_mut().for_each(|side| side.detail = Some("_Z5scalePfi".into()));
        for text in [report.text(false), report.html()] {
            assert!(text.contains("of scale race") && !text.contains("_Z5scale"), "{text}");
        }
    }

    #[test]
    fn access_beyond_an_allocation_names_the_bytes_and_the_end() {
        let mut report = sample::report("a.py");
        let finding = &mut report.findings[0];
        (finding.kind, finding.offset) = (Kind::OutOfBounds, Some(3500));
        let text = report.text(false);
        assert!(text.contains("[1] out-of-bounds: stream 2 reads outside of the allocation\n"), "{text}");
        assert!(text.contains("memory: bytes 3500 to 4523 beyond the end of 4,096 bytes of device memory"), "{text}");
        for (address, problem) in [(0, "reads through a null pointer"), (16, "reads 16 bytes behind a null pointer")] {
            report.findings[0].bytes.as_mut().unwrap().address = address;
            assert!(report.text(false).contains(&format!("[1] out-of-bounds: stream 2 {problem}\n")));
        }
        report.findings[0].offset = Some(3072);
        assert!(report.text(false).contains("memory: bytes 3072 to 4095 of 4,096 bytes of device memory"));
    }
}
