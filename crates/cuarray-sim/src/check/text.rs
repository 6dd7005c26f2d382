//! The report as text, for people; coloured for terminals.

use crate::finding::{Finding, Report, Side};
use std::fmt::Write as _;

/// The escape codes of a terminal, or nothing.
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
    /// The findings as text: a paragraph for each, the place of both sides, and the edge that is missing. Empty if there are none.
    pub fn text(&self, coloured: bool) -> String {
        let colours = if coloured { &TERMINAL } else { &PLAIN };
        let mut text = String::new();
        for finding in &self.findings {
            self.paragraph(&mut text, finding, colours);
        }
        if self.not_kept > 0 {
            let _ = writeln!(text, "{} more findings are not shown", self.not_kept);
        }
        text
    }

    fn paragraph(&self, text: &mut String, finding: &Finding, colours: &Colours) {
        let Colours { red, bold, dim, green, off } = colours;
        let _ = write!(text, "{red}[{}] {}{off}", finding.number, finding.kind.name());
        if let Some(bytes) = finding.bytes {
            let _ = write!(text, ": {} bytes at {:#x}", bytes.length, bytes.address);
        }
        if let (Some(offset), Some(allocation)) = (finding.offset, &finding.allocation) {
            let (size, kind) = (allocation.size, allocation.kind);
            let _ = write!(text, ", offset {offset} of {size} bytes of {kind} memory");
        }
        if let Some(object) = &finding.object {
            let _ = write!(text, ": {} {:#x}", object.kind, object.handle);
        }
        if finding.count > 1 {
            let _ = write!(text, " ({} times)", finding.count);
        }
        text.push('\n');
        for side in &finding.sides {
            let Side { call, deed, ordinal, site, .. } = side;
            let lane = self.lanes.get(side.lane as usize).map_or("", |lane| &lane.name);
            let detail = side.detail.as_deref().map(|detail| format!(" {detail}")).unwrap_or_default();
            let _ = writeln!(text, "  {bold}{call}{detail}{off} ({}) on {lane}, operation {ordinal}", deed.name());
            let _ = writeln!(text, "    at {site}");
        }
        if let Some(allocation) = &finding.allocation {
            let (call, ordinal, site) = (allocation.call, allocation.ordinal, &allocation.site);
            let _ = writeln!(text, "  {dim}the memory was made by {call}, operation {ordinal}\n    at {site}{off}");
        }
        if let Some(missing) = &finding.missing {
            let _ = writeln!(text, "  {green}missing:{off} {missing}");
        }
    }
}
