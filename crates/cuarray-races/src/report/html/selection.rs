//! The choice of the operations that the diagram of one finding shows.
//!
//! A history has thousands of operations, and a reader takes in about seven. The diagram always shows the two
//! operations of the finding. Then it adds, while there is room:
//!
//! - the last edge from the lane of the first operation to the lane of the second, which was often made too early;
//! - the last edge to the second lane from another lane, which often means a wait for the wrong stream;
//! - the first edge after both;
//! - neighbours of both in their own lanes.
//!
//! The diagram counts the operations that are left out in between. For a race within one launch it shows the launch and,
//! after it, both threads.

use crate::finding::{Finding, KernelPlace, Operation, Report, Side};

/// The maximum number of operations in one diagram.
const MAX_SHOWN: usize = 7;

/// The role of an operation in the finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    First,
    Second,
    Neither,
}

/// One operation of the diagram.
pub(super) struct Shown {
    pub(super) operation: Operation,
    pub(super) role: Role,
    /// The number of operations left out before this one.
    pub(super) left_out: u64,
    /// The access of one thread of the operation, in a race of two of its threads.
    pub(super) thread: Option<KernelPlace>,
}

/// The operations to show for a finding, in order.
pub(super) fn of(report: &Report, finding: &Finding) -> Vec<Shown> {
    let mut chosen: Vec<Shown> = Vec::new();
    let threads = threads(finding);
    for (index, side) in finding.sides.iter().enumerate() {
        if chosen.iter().all(|shown| shown.operation.ordinal != side.ordinal) {
            let role = match index {
                _ if threads.is_some() => Role::Neither,
                0 => Role::First,
                _ => Role::Second,
            };
            chosen.push(Shown { operation: operation_of(report, side), role, left_out: 0, thread: None });
        }
    }
    let (Some(first), Some(last)) = (finding.sides.first(), finding.sides.last()) else { return chosen };
    for wanted in candidates(report, first, last) {
        let new: Vec<&Operation> = wanted
            .into_iter()
            .filter(|each| chosen.iter().all(|shown| shown.operation.ordinal != each.ordinal))
            .collect();
        if chosen.len() + new.len() <= MAX_SHOWN {
            chosen.extend(new.into_iter().map(|each| Shown {
                operation: each.clone(),
                role: Role::Neither,
                left_out: 0,
                thread: None,
            }));
        }
    }
    chosen.sort_by_key(|shown| shown.operation.ordinal);
    for index in 1..chosen.len() {
        let before = chosen[index - 1].operation.ordinal;
        chosen[index].left_out = chosen[index].operation.ordinal.saturating_sub(before).saturating_sub(1);
    }
    let launch = chosen.iter().position(|shown| shown.operation.ordinal == first.ordinal);
    if let (Some(threads), Some(launch)) = (threads, launch) {
        let of_threads = threads.into_iter().zip([Role::First, Role::Second]).map(|(thread, role)| {
            let operation = chosen[launch].operation.clone();
            Shown { operation, role, left_out: 0, thread: Some(thread.clone()) }
        });
        let of_threads: Vec<Shown> = of_threads.collect();
        chosen.splice(launch + 1..launch + 1, of_threads);
    }
    chosen
}

/// The places of both threads, if two threads of one operation race.
fn threads(finding: &Finding) -> Option<[&KernelPlace; 2]> {
    match finding.sides.as_slice() {
        [one, other] if one.ordinal == other.ordinal => Some([one.place.as_ref()?, other.place.as_ref()?]),
        _ => None,
    }
}

/// The operation of a side. If the history has dropped the operation, it is rebuilt from the side.
fn operation_of(report: &Report, side: &Side) -> Operation {
    find(report, side.ordinal).cloned().unwrap_or_else(|| Operation {
        ordinal: side.ordinal,
        lane: side.lane,
        call: side.call,
        detail: side.detail.clone(),
        site: side.site.clone(),
        orders: false,
        after: Vec::new(),
        accesses: Vec::new(),
    })
}

fn find(report: &Report, ordinal: u64) -> Option<&Operation> {
    let index = report.operations.binary_search_by_key(&ordinal, |operation| operation.ordinal).ok()?;
    report.operations.get(index)
}

/// Further operations to show, the most important first. Each entry is shown completely or not at all.
fn candidates<'a>(report: &'a Report, first: &Side, last: &Side) -> Vec<Vec<&'a Operation>> {
    let until = |ordinal: u64| report.operations.partition_point(|operation| operation.ordinal < ordinal);
    let (before_first, before_last, after_last) = (until(first.ordinal), until(last.ordinal), until(last.ordinal + 1));
    let (earlier, later) = (&report.operations[..before_last], &report.operations[after_last..]);
    let edge = |to: &'a Operation, from_there: bool| {
        let mut ends = to.after.iter().rev().filter_map(|ordinal| find(report, *ordinal));
        ends.find(|from| (from.lane == first.lane) == from_there).map(|from| vec![from, to])
    };
    let mut candidates = Vec::new();
    if first.lane != last.lane {
        candidates.extend(earlier.iter().rev().filter(|each| each.lane == last.lane).find_map(|to| edge(to, true)));
        // The last edge from another lane: the second side may have waited for the wrong stream.
        candidates.extend(earlier.iter().rev().filter(|each| each.lane == last.lane).find_map(|to| edge(to, false)));
        candidates.extend(later.iter().filter(|each| each.lane == last.lane).find_map(|to| edge(to, true)));
    }
    let in_lane = |lane: u32| move |operation: &&Operation| operation.lane == lane;
    candidates.extend(report.operations[..before_first].iter().rev().find(in_lane(first.lane)).map(|each| vec![each]));
    let after_first = until(first.ordinal + 1);
    candidates.extend(report.operations[after_first..].iter().find(in_lane(first.lane)).map(|each| vec![each]));
    candidates.extend(earlier.iter().rev().find(in_lane(last.lane)).map(|each| vec![each]));
    candidates.extend(later.iter().find(in_lane(last.lane)).map(|each| vec![each]));
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    fn ordinals(report: &Report) -> Vec<(u64, u64)> {
        of(report, &report.findings[0]).iter().map(|shown| (shown.operation.ordinal, shown.left_out)).collect()
    }

    #[test]
    fn diagram_shows_sides_edges_and_neighbours() {
        assert_eq!(ordinals(&sample::report("a.py")), [(3, 0), (4, 0), (5, 0), (6, 0)]);
    }

    #[test]
    fn operations_left_out_are_counted() {
        let mut report = sample::report("a.py");
        for (index, operation) in report.operations.iter_mut().enumerate() {
            // A hundred operations of other lanes follow each operation.
            operation.ordinal = 100 * (index as u64 + 1);
            operation.after.iter_mut().for_each(|ordinal| *ordinal *= 100);
        }
        report.findings[0].sides.iter_mut().for_each(|side| side.ordinal *= 100);
        assert_eq!(ordinals(&report), [(300, 0), (400, 99), (500, 99), (600, 99)]);
    }

    #[test]
    fn side_dropped_from_the_history_is_rebuilt_from_the_finding() {
        let mut report = sample::report("a.py");
        report.operations.clear();
        let shown = of(&report, &report.findings[0]);
        assert_eq!(
            shown.iter().map(|each| each.operation.call).collect::<Vec<_>>(),
            ["cuMemcpyHtoDAsync_v2", "cuMemcpyDtoDAsync_v2"]
        );
        assert_eq!((shown[0].role, shown[1].role), (Role::First, Role::Second));
        assert!(report.html().contains("no edge"));
    }

    #[test]
    fn race_within_a_launch_shows_the_launch_and_both_threads() {
        let report = sample::kernel_race("a.py");
        let shown = of(&report, &report.findings[0]);
        let shown: Vec<_> = shown
            .iter()
            .map(|each| (each.operation.ordinal, each.role, each.thread.as_ref().map(|t| t.thread)))
            .collect();
        let expected = [
            (5, Role::Neither, None),
            (6, Role::Neither, None),
            (6, Role::First, Some([0, 0, 0])),
            (6, Role::Second, Some([7, 0, 0])),
        ];
        assert_eq!(shown[shown.len() - 4..], expected);
    }
}
