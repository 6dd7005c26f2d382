//! The advice for wrong masks, counts and barriers, and the lines of the branches in front of them.

use super::terms::source_of;
use crate::objects::launch::Launch;
use cuarray_ptx::MisuseKind;
use cuarray_races::Advice;

/// The advice for a wrong mask or count, with the lanes or the count that it is compared with.
pub(super) fn missing_for_synchronization(
    kind: MisuseKind,
    [low, high]: [u32; 2],
    barrier: &'static str,
    guard: String,
) -> Advice {
    let (mask, lanes) = (format!("{low:#010x}"), lanes_of(high));
    match kind {
        MisuseKind::OutsideMask => Advice::StayInMask { mask, lanes },
        MisuseKind::DifferentMasks => Advice::AgreeOnMask { mask, lanes },
        MisuseKind::AbsentMember => Advice::BringMembers { mask, lanes, guard },
        MisuseKind::DivergentBarrier => Advice::AlignBarrier { lanes: lanes_of(low), others: lanes, barrier, guard },
        MisuseKind::PartialCount => Advice::CountWholeWarps { count: low },
        MisuseKind::ExcessiveCount => Advice::CountWithinBlock { count: low, threads: high },
        MisuseKind::DifferentCounts => Advice::AgreeOnCount { count: low, other: high },
        MisuseKind::MixedReduction => Advice::ReduceTogether { number: low },
        MisuseKind::SecondArrival => Advice::ArriveOnce { number: low },
        _ => Advice::IncludeWarp { lanes },
    }
}

/// The lines of the branches that decide whether a thread comes to an instruction, the last `count` ones, as a part of a sentence. The
/// instruction's own line is none: a loop may test its condition in front of its first round.
pub(super) fn guards_of(launch: &Launch, pc: u32, count: usize) -> String {
    let line = |pc: u32| {
        let line = source_of(&launch.program, pc);
        line.rsplit('/').next().unwrap_or(&line).to_owned()
    };
    let mut lines: Vec<String> = launch.program.guards_of(pc).into_iter().map(line).collect();
    lines.dedup();
    lines.retain(|guard| *guard != line(pc));
    let last = &lines[lines.len().saturating_sub(count)..];
    if last.is_empty() { String::new() } else { format!(" ({})", last.join(" or ")) }
}

/// The lanes of a mask in words: `lanes 0, 5-31`.
fn lanes_of(mask: u32) -> String {
    let mut parts = Vec::new();
    let mut lane = 0;
    while lane < 32 {
        let length = (mask >> lane).trailing_ones().min(32 - lane);
        match length {
            0 => {}
            1 => parts.push(lane.to_string()),
            _ => parts.push(format!("{lane}-{}", lane + length - 1)),
        }
        lane += length.max(1);
    }
    let noun = if mask.count_ones() == 1 { "lane" } else { "lanes" };
    format!("{noun} {}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::lanes_of;

    #[test]
    fn lanes_of_a_mask_are_ranges() {
        let texts = [1, 0x8000_0000, 0xffff_ffe1, u32::MAX, 0b101].map(lanes_of);
        assert_eq!(texts, ["lane 0", "lane 31", "lanes 0, 5-31", "lanes 0-31", "lanes 0, 2"]);
    }
}
