//! A planned diagram as SVG.

use super::plan::{CUT, Edge, GUTTER, LINE, PADDING, Plan, Tile};
use crate::report::html::markup::escape;
use crate::report::html::selection::Role;
use crate::report::words;
use std::fmt::Write as _;

impl Plan {
    pub(super) fn svg(&self, name: &str) -> String {
        let mut svg = String::new();
        let (width, height) = (self.width, self.height);
        let _ = write!(
            svg,
            "<svg class=\"timeline\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">",
            escape(name)
        );
        let _ = write!(svg, "<text class=\"axis\" x=\"12\" y=\"15\">order of calls →</text>");
        self.bands(&mut svg);
        for each in &self.boxes {
            if each.left_out > 0 {
                self.cut(&mut svg, each);
            }
        }
        for edge in self.edges.iter().filter(|edge| !edge.absent) {
            self.arrow(&mut svg, edge);
        }
        for each in &self.boxes {
            self.operation(&mut svg, each);
        }
        for edge in self.edges.iter().filter(|edge| edge.absent) {
            self.arrow(&mut svg, edge);
        }
        svg.push_str("</svg>");
        svg
    }

    fn bands(&self, svg: &mut String) {
        for band in &self.bands {
            let (y, height, middle, end) = (band.y, band.height, band.middle(), self.width);
            let _ = write!(svg, "<rect class=\"band\" y=\"{y}\" width=\"{end}\" height=\"{height}\" rx=\"6\"/>");
            let _ = write!(svg, "<path class=\"thread\" d=\"M{} {middle}H{end}\"/>", self.labels);
            let first = if band.kind.is_empty() { middle + 4 } else { middle - 3 };
            let _ = write!(svg, "<text class=\"lane\" x=\"12\" y=\"{first}\">{}</text>", escape(&band.name));
            let _ = write!(svg, "<text class=\"kind\" x=\"12\" y=\"{}\">{}</text>", first + 15, escape(&band.kind));
        }
    }

    /// Cuts the lanes where operations are left out.
    fn cut(&self, svg: &mut String, after: &Tile) {
        let x = after.x - GUTTER - CUT + 8;
        let middle = x + CUT / 2 - 4;
        let _ = write!(
            svg,
            "<text class=\"axis\" x=\"{middle}\" y=\"15\" text-anchor=\"middle\">+{}</text>",
            words::number(after.left_out)
        );
        for band in &self.bands {
            let (top, bottom) = (band.y, band.y + band.height);
            let _ = write!(
                svg,
                "<path class=\"cut\" d=\"M{} {top}L{} {bottom}H{}L{} {top}Z\"/>",
                middle - 2,
                middle - 8,
                middle + 2,
                middle + 8
            );
        }
    }

    fn operation(&self, svg: &mut String, each: &Tile) {
        let (x, width, height) = (each.x, each.width, each.height);
        let y = self.bands[each.lane].middle() - height / 2;
        let class = match (each.role, each.orders) {
            (Role::Neither, false) => "work",
            (Role::Neither, true) => "order",
            _ => "wrong",
        };
        let middle = x + width / 2;
        if let Some(ordinal) = each.ordinal {
            let _ =
                write!(svg, "<text class=\"axis\" x=\"{middle}\" y=\"15\" text-anchor=\"middle\">#{ordinal}</text>");
        }
        let _ = write!(
            svg,
            "<g class=\"{class}\"><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"5\"/>",
            each.title.lines().map(escape).collect::<Vec<_>>().join("&#10;")
        );
        for (index, line) in each.lines.iter().enumerate() {
            let below = y + 17 + LINE * i32::try_from(index).unwrap_or(0);
            let class = if index == 0 { " class=\"call\"" } else { "" };
            let _ = write!(svg, "<text{class} x=\"{}\" y=\"{below}\">{}</text>", x + PADDING, escape(line));
        }
        if let Some(letter) = match each.role {
            Role::First => Some('A'),
            Role::Second => Some('B'),
            Role::Neither => None,
        } {
            let corner = x + width;
            let _ = write!(
                svg,
                "<circle cx=\"{corner}\" cy=\"{y}\" r=\"10\"/><text class=\"letter\" x=\"{corner}\" y=\"{}\">{letter}</text>",
                y + 4
            );
        }
        svg.push_str("</g>");
    }

    pub(super) fn route(&self, edge: &Edge) -> Route {
        let (from, to) = (&self.boxes[edge.from], &self.boxes[edge.to]);
        let (source, target) = (self.bands[from.lane].middle(), self.bands[to.lane].middle());
        Route {
            source,
            // Two arrows into one box end side by side.
            target: if to.role == Role::Second && !edge.absent { target + 12 } else { target },
            leave: (edge.to != edge.from + 1).then_some(from.x + from.width - 22),
            gutter: to.x - if edge.absent { 20 } else { 14 },
        }
    }

    fn arrow(&self, svg: &mut String, edge: &Edge) {
        let (from, to, y) = (&self.boxes[edge.from], &self.boxes[edge.to], edge.y);
        let Route { source, target: end, leave, gutter } = self.route(edge);
        let down = (end - source).signum();
        let (tip, corner) = (to.x - 2, 5);
        let start = match leave {
            // An arrow between neighbours runs straight into their gutter.
            None => format!(
                "M{} {source}H{}Q{gutter} {source} {gutter} {}",
                from.x + from.width,
                gutter - corner,
                source + down * corner
            ),
            Some(leave) => format!(
                "M{leave} {}V{}Q{leave} {y} {} {y}H{}Q{gutter} {y} {gutter} {}",
                source + down * from.height / 2,
                y - down * corner,
                leave + corner,
                gutter - corner,
                y + down * corner
            ),
        };
        let class = if edge.absent { "absent" } else { "edge" };
        let _ = write!(
            svg,
            "<path class=\"{class}\" d=\"{start}V{}Q{gutter} {end} {} {end}H{tip}\"/>\
             <path class=\"{class} tip\" d=\"M{} {}L{tip} {end}L{} {}\"/>",
            end - down * corner,
            gutter + corner,
            tip - 6,
            end - 4,
            tip - 6,
            end + 4
        );
        if edge.absent {
            let middle = leave.map_or(gutter, |leave| (leave + gutter) / 2);
            let _ = write!(
                svg,
                "<g class=\"words\"><rect x=\"{}\" y=\"{}\" width=\"70\" height=\"20\" rx=\"10\"/>\
                 <text x=\"{middle}\" y=\"{}\">no edge</text></g>",
                middle - 35,
                y - 10,
                y + 4
            );
        }
    }
}

/// The course of an arrow.
pub(super) struct Route {
    /// The heights at which the arrow begins and ends.
    pub source: i32,
    pub target: i32,
    /// The place where the arrow leaves its box for the channel; `None` if it goes straight into the gutter.
    pub leave: Option<i32>,
    /// The place where the arrow runs up or down to its target.
    pub gutter: i32,
}
