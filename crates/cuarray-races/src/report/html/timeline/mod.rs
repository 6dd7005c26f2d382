//! The diagram of one finding: lanes from top to bottom, calls from left to right, edges as arrows. The two unordered
//! operations are red, and the missing edge between them is dashed.
//!
//! Nothing may cover a text, so the plan is strict. Each operation has its own column. Arrows run up and down in
//! gutters between the columns. They run from left to right in channels between the lanes, each in its own track.
//! Lengths are whole pixels, so a report is the same on every machine.

mod drawing;
mod plan;

use super::selection::Shown;
use crate::finding::{Finding, Lane};
use crate::report::words;

/// The diagram as an `svg` element.
pub(super) fn draw(shown: &[Shown], finding: &Finding, lanes: &[Lane]) -> String {
    plan::plan(shown, finding, lanes).svg(&words::headline(finding, lanes))
}

#[cfg(test)]
mod tests {
    use super::plan::{GUTTER, PADDING, Plan, TRACK, plan, width};
    use crate::finding::Operation;
    use crate::report::html::selection::{Role, Shown};
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
                    Shown { operation, role, left_out: random(2) * 999, thread: None }
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
