//! The diagram of one finding: lanes from top to bottom, calls from left to right, edges as arrows. The two unordered
//! operations are red, and the missing edge between them is dashed.
//!
//! Nothing may cover a text, so the plan is strict. Each operation has its own column. Arrows run up and down in
//! gutters between the columns. They run from left to right in channels between the lanes, each in its own track.
//! Lengths are whole pixels, so a report is the same on every machine.

use super::markup::{columns, escape, shorten};
use super::selection::{Role, Shown};
use crate::finding::{Finding, Lane, LaneKind};
use crate::report::words::{self, Detail};
use std::fmt::Write as _;

/// The height of the first line. The ordinals are above it.
const AXIS: i32 = 26;
const GUTTER: i32 = 36;
const MARGIN: i32 = 20;
/// The width of the page's content.
const WIDTH: i32 = 1160;
const MOST_SPARE: i32 = 60;
/// The width of a cut, where operations are left out.
const CUT: i32 = 46;
const LINE: i32 = 15;
const PADDING: i32 = 10;
/// The distance between two arrows in a channel. The missing edge has more distance, for its text.
const TRACK: i32 = 9;
const ABSENT_TRACK: i32 = 30;
/// The maximum number of columns of text in a box.
const LONGEST: u32 = 30;

/// The width of a text in the fixed-width font of boxes, which is 11 pixels high.
fn width(text: &str) -> i32 {
    i32::try_from(columns(text)).unwrap_or(i32::MAX / 100) * 67 / 10
}

struct Tile {
    lane: usize,
    role: Role,
    lines: Vec<String>,
    orders: bool,
    title: String,
    ordinal: u64,
    left_out: u64,
    x: i32,
    width: i32,
    height: i32,
}

struct Band {
    name: String,
    kind: String,
    y: i32,
    height: i32,
}

impl Band {
    fn middle(&self) -> i32 {
        self.y + self.height / 2
    }
}

/// An arrow from one box to another, by their indexes.
struct Edge {
    from: usize,
    to: usize,
    absent: bool,
    /// The arrow's track in the channel.
    y: i32,
}

struct Plan {
    boxes: Vec<Tile>,
    bands: Vec<Band>,
    edges: Vec<Edge>,
    labels: i32,
    width: i32,
    height: i32,
}

/// The diagram as an `svg` element.
pub(super) fn draw(shown: &[Shown], finding: &Finding, lanes: &[Lane]) -> String {
    plan(shown, finding, lanes).svg(&words::headline(finding, lanes))
}

fn plan(shown: &[Shown], finding: &Finding, lanes: &[Lane]) -> Plan {
    let mut numbers: Vec<u32> = shown.iter().map(|each| each.operation.lane).collect();
    let of = |number: &u32| lanes.iter().find(|lane| lane.number == *number);
    numbers.sort_by_key(|number| (of(number).is_none_or(|lane| lane.kind != LaneKind::Host), *number));
    numbers.dedup();
    let devices = lanes.iter().filter_map(|lane| lane.device);
    let several = devices.clone().min() != devices.max();
    let mut bands: Vec<Band> = numbers.iter().map(|number| band(*number, of(number), several)).collect();
    let labels = bands.iter().flat_map(|band| [width(&band.name), width(&band.kind)]).max().unwrap_or(0).max(100) + 28;

    let mut boxes: Vec<Tile> = shown.iter().map(|each| content(each, finding)).collect();
    let cut = |tile: &Tile| if tile.left_out > 0 { CUT } else { 0 };
    let taken: i32 = labels + MARGIN + boxes.iter().map(|tile| GUTTER + cut(tile) + tile.width).sum::<i32>();
    // Spare width goes between the boxes, up to a limit.
    let spare = (WIDTH - taken).max(0) / i32::try_from(boxes.len()).unwrap_or(i32::MAX).max(1);
    let mut x = labels;
    for (tile, each) in boxes.iter_mut().zip(shown) {
        tile.lane = numbers.iter().position(|number| *number == each.operation.lane).unwrap_or(0);
        x += GUTTER + spare.min(MOST_SPARE) + cut(tile);
        tile.x = x;
        x += tile.width;
    }
    let mut edges = edges(shown, finding, &boxes);

    let mut y = AXIS;
    for (index, band) in bands.iter_mut().enumerate() {
        band.y = y;
        band.height = boxes.iter().filter(|each| each.lane == index).map(|each| each.height).max().unwrap_or(0) + 16;
        y += band.height + channel(y + band.height, index, &boxes, &mut edges);
    }
    Plan { width: (x + MARGIN).max(WIDTH), height: y - channel_space(0) + 1, boxes, bands, edges, labels }
}

/// The height of a channel with tracks of this height.
fn channel_space(tracks: i32) -> i32 {
    12 + tracks
}

/// Assigns tracks to the arrows of the channel below a lane; returns the channel's height.
fn channel(top: i32, lane: usize, boxes: &[Tile], edges: &mut [Edge]) -> i32 {
    let mut tracks = 0;
    let mut inside: Vec<&mut Edge> = edges.iter_mut().filter(|edge| channel_of(edge, boxes) == lane).collect();
    // Arrows that begin later run nearer to their own lane, which avoids most crossings.
    inside.sort_by_key(|edge| if boxes[edge.from].lane == lane { -1 - edge.from as isize } else { edge.from as isize });
    for edge in inside {
        let room = if edge.absent { ABSENT_TRACK } else { TRACK };
        edge.y = top + 6 + tracks + room / 2;
        tracks += room;
    }
    channel_space(tracks)
}

/// The channel on the side of the source that faces the target, as the index of the lane above it.
fn channel_of(edge: &Edge, boxes: &[Tile]) -> usize {
    let (from, to) = (boxes[edge.from].lane, boxes[edge.to].lane);
    if to > from { from } else { from.saturating_sub(1) }
}

fn band(number: u32, lane: Option<&Lane>, several_devices: bool) -> Band {
    let mut kind = match lane.map(|lane| lane.kind) {
        None | Some(LaneKind::Host) => "",
        Some(LaneKind::Legacy) => "legacy default",
        Some(LaneKind::PerThread) => "per-thread default",
        Some(LaneKind::Blocking) => "blocking",
        Some(LaneKind::NonBlocking) => "non-blocking",
        Some(LaneKind::Internal) => "graph branch",
    }
    .to_owned();
    if let Some(device) = lane.and_then(|lane| lane.device).filter(|_| several_devices) {
        let _ = write!(kind, ", device {device}");
    }
    let name = words::lane(lane.map(std::slice::from_ref).unwrap_or_default(), number);
    Band { name: shorten(&name, 24), kind, y: 0, height: 0 }
}

fn content(shown: &Shown, finding: &Finding) -> Tile {
    let operation = &shown.operation;
    let mut lines = vec![shorten(words::call(operation.call), LONGEST)];
    if let Detail::Name(name) = words::detail(operation.detail.as_deref()) {
        lines.push(shorten(name, LONGEST));
    }
    lines.push(shorten(&words::place(&operation.site), LONGEST));
    let side = match shown.role {
        Role::First => finding.sides.first(),
        Role::Second => finding.sides.last(),
        Role::Neither => None,
    };
    lines.extend(side.map(|side| words::action(side, finding)));
    lines.retain(|line| !line.is_empty());
    let widest = lines.iter().map(|line| width(line)).max().unwrap_or(0);
    let height = i32::try_from(lines.len()).unwrap_or(1) * LINE + 12;
    Tile {
        lane: 0,
        role: shown.role,
        title: format!("#{} {}\n{}", operation.ordinal, operation.call, operation.site),
        ordinal: operation.ordinal,
        orders: words::orders(operation),
        left_out: shown.left_out,
        x: 0,
        // Red boxes have bold text, which is wider in some fonts.
        width: (widest + 2 * PADDING + if side.is_some() { 8 } else { 0 })
            .max(width(&format!("#{}", operation.ordinal))),
        height,
        lines,
    }
}

fn edges(shown: &[Shown], finding: &Finding, boxes: &[Tile]) -> Vec<Edge> {
    let mut edges = Vec::new();
    for (to, target) in shown.iter().enumerate() {
        for earlier in &target.operation.after {
            let from = shown[..to].iter().position(|source| source.operation.ordinal == *earlier);
            if let Some(from) = from.filter(|from| boxes[*from].lane != boxes[to].lane) {
                edges.push(Edge { from, to, absent: false, y: 0 });
            }
        }
    }
    let ends = [Role::First, Role::Second].map(|role| boxes.iter().position(|each| each.role == role));
    if let [Some(from), Some(to)] = ends
        && words::lacks_an_edge(finding.kind)
        && boxes[from].lane != boxes[to].lane
    {
        edges.push(Edge { from, to, absent: true, y: 0 });
    }
    edges
}

impl Plan {
    fn svg(&self, name: &str) -> String {
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
        let _ = write!(
            svg,
            "<text class=\"axis\" x=\"{middle}\" y=\"15\" text-anchor=\"middle\">#{}</text>\
             <g class=\"{class}\"><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"5\"/>",
            each.ordinal,
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

    fn route(&self, edge: &Edge) -> Route {
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
struct Route {
    /// The heights at which the arrow begins and ends.
    source: i32,
    target: i32,
    /// The place where the arrow leaves its box for the channel; `None` if it goes straight into the gutter.
    leave: Option<i32>,
    /// The place where the arrow runs up or down to its target.
    gutter: i32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Operation;
    use crate::report::sample;

    /// Diagrams of random histories: any lanes, any edges, long and short texts.
    fn diagrams() -> impl Iterator<Item = Plan> {
        let mut state = 1_u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        (0..400).map(move |_| {
            let mut report = sample::report(&"long/name_of_a_file.py".repeat(1 + random(4) as usize));
            let count = 2 + random(6);
            let sides = [random(count - 1), count - 1];
            let shown: Vec<Shown> = (0..count)
                .map(|index| {
                    let calls = ["cuEventRecord", "cuMemAllocFromPoolAsync", "cuMemcpy", "cuStreamSynchronize"];
                    let operation = Operation {
                        ordinal: index * 1000,
                        lane: random(3) as u32,
                        call: calls[random(4) as usize],
                        after: (0..index).filter(|_| random(2) == 0).map(|index| index * 1000).collect(),
                        ..report.operations[0].clone()
                    };
                    let role = match sides.iter().position(|side| *side == index) {
                        Some(0) => Role::First,
                        Some(_) => Role::Second,
                        None => Role::Neither,
                    };
                    Shown { operation, role, left_out: random(2) * 999 }
                })
                .collect();
            plan(&shown, &report.findings.remove(0), &report.lanes)
        })
    }

    #[test]
    fn arrows_cross_no_boxes_and_do_not_overlap() {
        let (mut arrows, mut absent) = (0, 0);
        for plan in diagrams() {
            for (index, edge) in plan.edges.iter().enumerate() {
                let route = plan.route(edge);
                let before = plan.boxes[edge.to - 1].x + plan.boxes[edge.to - 1].width;
                assert!(before < route.gutter && route.gutter < plan.boxes[edge.to].x, "up and down in the gutter");
                if let Some(leave) = route.leave {
                    assert!(plan.boxes[edge.from].x < leave && leave < route.gutter);
                    for band in &plan.bands {
                        assert!(edge.y < band.y || band.y + band.height < edge.y, "from left to right in a channel");
                    }
                }
                for other in &plan.edges[..index] {
                    assert!((edge.y - other.y).abs() >= TRACK, "each in its own track");
                }
                arrows += 1;
                absent += usize::from(edge.absent);
            }
        }
        assert!(arrows > 1000 && absent > 100, "{arrows} {absent}");
    }

    #[test]
    fn boxes_have_their_own_columns_and_fit() {
        for plan in diagrams() {
            for pair in plan.boxes.windows(2) {
                assert!(pair[0].x + pair[0].width + GUTTER <= pair[1].x);
            }
            for each in &plan.boxes {
                assert!(plan.labels < each.x && each.x + each.width + 10 <= plan.width);
                assert!(each.height <= plan.bands[each.lane].height);
                assert!(each.lines.iter().all(|line| width(line) + 2 * PADDING <= each.width));
            }
            assert!(plan.bands.windows(2).all(|pair| pair[0].y + pair[0].height < pair[1].y));
        }
    }
}
