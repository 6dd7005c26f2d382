//! The allocation of a finding as a bar, with the bytes of each side below it.

use super::markup::escape;
use crate::finding::{Allocation, Finding, Range};
use crate::report::words;
use std::fmt::Write as _;

/// The length of the bar in pixels.
const BAR: u64 = 620;
const LEFT: u64 = 96;
const ROW: u64 = 22;

/// The bars as an `svg` element; empty if the bars would show no more than the text.
pub(super) fn draw(finding: &Finding, allocation: &Allocation) -> String {
    let whole = Range { address: allocation.address, length: allocation.size };
    let mut rows = vec![("allocation".to_owned(), "whole", whole)];
    for (side, letter) in finding.sides.iter().zip('A'..='Z') {
        if let Some(range) = side.bytes {
            rows.push((format!("{letter} {}", words::does(side.access)), "range", range));
        }
    }
    if let Some(range) = finding.bytes {
        rows.push(("conflict".to_owned(), "conflict", range));
    }
    let end = |range: &Range| range.address.saturating_add(range.length);
    let from = rows.iter().map(|(_, _, range)| range.address).min().unwrap_or(0);
    let extent = rows.iter().map(|(_, _, range)| end(range)).max().unwrap_or(0).saturating_sub(from);
    // With a range far outside of the allocation, both bars would be too small to see.
    if rows.len() == 1 || extent == 0 || extent / 8 > whole.length {
        return String::new();
    }
    let pixels = |bytes: u64| u64::try_from(u128::from(bytes) * u128::from(BAR) / u128::from(extent)).unwrap_or(BAR);
    let (width, height) = (LEFT + BAR + 250, ROW * rows.len() as u64);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" aria-label=\"bytes\">"
    );
    for (index, (name, class, range)) in rows.iter().enumerate() {
        let y = ROW * index as u64;
        let x = LEFT + pixels(range.address - from);
        // Even a small range stays visible.
        let length = pixels(range.length).max(3);
        let offset = i128::from(range.address) - i128::from(allocation.address);
        let until = offset + i128::from(range.length);
        let _ = write!(
            svg,
            "<text x=\"0\" y=\"{}\">{}</text><rect class=\"{class}\" x=\"{x}\" y=\"{}\" width=\"{length}\" height=\"12\" rx=\"2\"/>\
             <text class=\"faint\" x=\"{}\" y=\"{}\">bytes {offset} to {}</text>",
            y + 14,
            escape(name),
            y + 4,
            LEFT + BAR + 16,
            y + 14,
            (until - 1).max(offset)
        );
    }
    svg.push_str("</svg>");
    svg
}
