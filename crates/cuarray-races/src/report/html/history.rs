//! The whole history: a row for each operation, a rail for each lane, and the edges between them, like the graph of a
//! version control log.

use super::markup::{columns, escape, shorten};
use crate::finding::{Operation, Report};
use crate::report::words;
use crate::symbol::call_name;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

const ROW: usize = 22;
/// The height above the rows, for the names of the lanes.
const TOP: usize = 30;
const LEFT: usize = 20;
/// The maximum number of columns of text in each part of a row.
const LONGEST: u32 = 52;
const LONGEST_PLACE: u32 = 26;

/// The picture as an `svg` element.
pub(super) fn draw(report: &Report) -> String {
    let named: Vec<String> =
        report.lanes.iter().map(|lane| shorten(&words::lane(&report.lanes, lane.number), 20)).collect();
    let pitch = named.iter().map(|name| columns(name) as usize * 7 + 18).max().unwrap_or(0).max(90);
    let rail: HashMap<u32, usize> =
        report.lanes.iter().enumerate().map(|(index, lane)| (lane.number, LEFT + index * pitch)).collect();
    let text = LEFT + report.lanes.len() * pitch;
    let row: HashMap<u64, (usize, u32)> =
        report.operations.iter().enumerate().map(|(index, each)| (each.ordinal, (y(index), each.lane))).collect();
    let wrong: HashSet<u64> =
        report.findings.iter().flat_map(|finding| &finding.sides).map(|side| side.ordinal).collect();

    let texts: Vec<(String, String)> = report.operations.iter().map(words_of).collect();
    let calls = texts.iter().map(|(call, _)| columns(call)).max().unwrap_or(0) as usize;
    let places = texts.iter().map(|(_, place)| columns(place)).max().unwrap_or(0) as usize;
    let (call_x, place_x) = (text + 60, text + 60 + calls * 7 + 24);
    let (width, height) = (place_x + places * 7 + 20, y(report.operations.len()));

    let mut svg = String::new();
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" aria-label=\"the whole history\">"
    );
    for (index, name) in named.iter().enumerate() {
        let x = LEFT + index * pitch;
        let _ = write!(svg, "<text class=\"lane\" x=\"{}\" y=\"14\">{}</text>", x - 8, escape(name));
        let _ = write!(svg, "<path class=\"rail\" d=\"M{x} 22V{height}\"/>");
    }
    for each in &report.operations {
        let Some((to_y, lane)) = row.get(&each.ordinal) else { continue };
        for earlier in &each.after {
            let Some((from_y, from_lane)) = row.get(earlier) else { continue };
            let (Some(from), Some(to)) = (rail.get(from_lane), rail.get(lane)) else { continue };
            // The edge runs down beside the target's rail, where no other lane has dots.
            let side = if from < to { to - 10 } else { to + 10 };
            let bend = (from_y + ROW / 2).min(*to_y);
            let _ = write!(svg, "<path class=\"edge\" d=\"M{from} {from_y}L{side} {bend}V{}L{to} {to_y}\"/>", to_y - 6);
        }
    }
    for finding in report.findings.iter().filter(|finding| words::lacks_an_edge(finding.kind)) {
        let [first, last] = finding.sides.as_slice() else { continue };
        let (Some((from_y, from)), Some((to_y, to))) = (row.get(&first.ordinal), row.get(&last.ordinal)) else {
            continue;
        };
        if let (Some(from), Some(to)) = (rail.get(from), rail.get(to)) {
            let _ = write!(svg, "<path class=\"absent\" d=\"M{from} {from_y}L{to} {to_y}\"/>");
        }
    }
    for (index, (each, (call, place))) in report.operations.iter().zip(&texts).enumerate() {
        let (y, is_wrong) = (y(index), wrong.contains(&each.ordinal));
        let class = match (is_wrong, words::orders(each)) {
            (true, _) => "dot wrong",
            (false, true) => "dot order",
            (false, false) => "dot",
        };
        if let Some(x) = rail.get(&each.lane) {
            let _ = write!(svg, "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"5\"/>");
        }
        let class = if is_wrong { "row wrong" } else { "row" };
        let base = y + 4;
        let _ = write!(
            svg,
            "<text class=\"faint\" x=\"{}\" y=\"{base}\" text-anchor=\"end\">#{}</text>",
            text + 46,
            each.ordinal
        );
        let _ = write!(svg, "<text class=\"{class}\" x=\"{call_x}\" y=\"{base}\">{}</text>", escape(call));
        let _ = write!(svg, "<text class=\"faint\" x=\"{place_x}\" y=\"{base}\">{}</text>", escape(place));
    }
    svg.push_str("</svg>");
    svg
}

fn y(index: usize) -> usize {
    TOP + ROW / 2 + index * ROW
}

fn words_of(operation: &Operation) -> (String, String) {
    let mut call = call_name(operation.call).to_owned();
    if let Some(detail) = &operation.detail {
        let _ = write!(call, " {}", words::detail_text(detail));
    }
    for access in &operation.accesses {
        let _ = write!(call, ", {} {}", words::does(access.kind), words::bytes(access.bytes.length));
    }
    (shorten(&call, LONGEST), shorten(&operation.site.place(), LONGEST_PLACE))
}
