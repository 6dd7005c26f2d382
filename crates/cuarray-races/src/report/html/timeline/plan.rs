//! The plan of a diagram: the positions of its boxes, lanes and arrows.

use crate::finding::{Finding, KernelPlace, Lane, LaneKind};
use crate::report::html::markup::{columns, shorten};
use crate::report::html::selection::{Role, Shown};
use crate::report::words::{self, Detail};
use crate::symbol::{call_name, kernel_name};
use std::fmt::Write as _;

/// The vertical position of the first lane. The ordinals are above it.
const AXIS: i32 = 26;
pub(super) const GUTTER: i32 = 36;
const MARGIN: i32 = 20;
/// The width of the page's content.
const WIDTH: i32 = 1160;
/// The maximum width that is added between two boxes.
const MOST_SPARE: i32 = 60;
/// The width of a cut, where operations are left out.
pub(super) const CUT: i32 = 46;
pub(super) const LINE: i32 = 15;
pub(super) const PADDING: i32 = 10;
/// The distance between two arrows in a channel. The missing edge has more distance, for its text.
pub(super) const TRACK: i32 = 9;
const ABSENT_TRACK: i32 = 30;
/// The maximum number of columns of text in a box.
const LONGEST: u32 = 30;

/// The width of a text in the fixed-width font of boxes, which is 11 pixels high.
pub(super) fn width(text: &str) -> i32 {
    i32::try_from(columns(text)).unwrap_or(i32::MAX / 100) * 67 / 10
}

pub(super) struct Tile {
    pub lane: usize,
    pub role: Role,
    pub lines: Vec<String>,
    pub orders: bool,
    pub title: String,
    /// The ordinal above the box; `None` for a thread of a launch.
    pub ordinal: Option<u64>,
    pub left_out: u64,
    pub x: i32,
    pub width: i32,
    pub height: i32,
}

pub(super) struct Band {
    pub name: String,
    pub kind: String,
    pub y: i32,
    pub height: i32,
}

impl Band {
    pub(super) fn middle(&self) -> i32 {
        self.y + self.height / 2
    }
}

/// An arrow from one box to another, by their indexes.
pub(super) struct Edge {
    pub from: usize,
    pub to: usize,
    pub absent: bool,
    /// The arrow's track in the channel.
    pub y: i32,
}

pub(super) struct Plan {
    pub boxes: Vec<Tile>,
    pub bands: Vec<Band>,
    pub edges: Vec<Edge>,
    pub labels: i32,
    pub width: i32,
    pub height: i32,
}

pub(super) fn plan(shown: &[Shown], finding: &Finding, lanes: &[Lane]) -> Plan {
    // A lane has a band, and so has each racing thread of one of its launches.
    let key = |each: &Shown| (each.operation.lane, each.thread.as_ref().map(|_| each.role == Role::Second));
    let mut keys: Vec<(u32, Option<bool>)> = shown.iter().map(key).collect();
    let of = |number: u32| lanes.iter().find(|lane| lane.number == number);
    keys.sort_by_key(|key| (of(key.0).is_none_or(|lane| lane.kind != LaneKind::Host), *key));
    keys.dedup();
    let devices = lanes.iter().filter_map(|lane| lane.device);
    let several = devices.clone().min() != devices.max();
    let mut bands: Vec<Band> = keys
        .iter()
        .map(|wanted| match shown.iter().find(|each| key(each) == *wanted).and_then(|each| each.thread.as_ref()) {
            Some(thread) => band_of_thread(thread),
            None => band(wanted.0, of(wanted.0), several),
        })
        .collect();
    let labels = bands.iter().flat_map(|band| [width(&band.name), width(&band.kind)]).max().unwrap_or(0).max(100) + 28;

    let mut boxes: Vec<Tile> = shown.iter().map(|each| content(each, finding)).collect();
    let cut = |tile: &Tile| if tile.left_out > 0 { CUT } else { 0 };
    let taken: i32 = labels + MARGIN + boxes.iter().map(|tile| GUTTER + cut(tile) + tile.width).sum::<i32>();
    // Spare width goes between the boxes, up to a limit.
    let spare = (WIDTH - taken).max(0) / i32::try_from(boxes.len()).unwrap_or(i32::MAX).max(1);
    let mut x = labels;
    for (tile, each) in boxes.iter_mut().zip(shown) {
        tile.lane = keys.iter().position(|wanted| *wanted == key(each)).unwrap_or(0);
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

/// The height of a channel whose tracks have this total height.
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
        Some(LaneKind::Request) => "MPI request",
    }
    .to_owned();
    if let Some(device) = lane.and_then(|lane| lane.device).filter(|_| several_devices) {
        let _ = write!(kind, ", device {device}");
    }
    let name = words::lane(lane.map(std::slice::from_ref).unwrap_or_default(), number);
    Band { name: shorten(&name, 24), kind, y: 0, height: 0 }
}

fn band_of_thread(place: &KernelPlace) -> Band {
    let index = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
    Band {
        name: format!("thread {}", index(place.thread)),
        kind: format!("block {}", index(place.block)),
        y: 0,
        height: 0,
    }
}

fn content(shown: &Shown, finding: &Finding) -> Tile {
    let operation = &shown.operation;
    let mut lines = vec![shorten(call_name(operation.call), LONGEST)];
    if let Detail::Name(name) = words::detail(operation.detail.as_deref()) {
        lines.push(shorten(&kernel_name(name), LONGEST));
    }
    match &shown.thread {
        None => lines.push(shorten(&operation.site.place(), LONGEST)),
        Some(thread) => {
            lines.clear();
            lines.push(shorten(&words::place_in_kernel(thread), LONGEST));
        }
    }
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
        title: match &shown.thread {
            None => format!("#{} {}\n{}", operation.ordinal, operation.call, operation.site),
            Some(thread) => thread.to_string(),
        },
        ordinal: shown.thread.is_none().then_some(operation.ordinal),
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
        if target.thread.is_some() {
            let is_launch = |source: &Shown| source.operation.ordinal == target.operation.ordinal;
            let from = shown.iter().position(is_launch);
            edges.extend(from.map(|from| Edge { from, to, absent: false, y: 0 }));
            continue;
        }
        for earlier in &target.operation.after {
            let from = shown[..to].iter().position(|source| source.operation.ordinal == *earlier);
            if let Some(from) = from.filter(|from| boxes[*from].lane != boxes[to].lane) {
                edges.push(Edge { from, to, absent: false, y: 0 });
            }
        }
    }
    let ends = [Role::First, Role::Second].map(|role| boxes.iter().position(|each| each.role == role));
    if let [Some(from), Some(to)] = ends
        && (words::lacks_an_edge(finding.kind) || shown[from].thread.is_some())
        && boxes[from].lane != boxes[to].lane
    {
        edges.push(Edge { from, to, absent: true, y: 0 });
    }
    edges
}
