//! The ranges that a kernel has accessed, as the detector takes them.

use super::heap_changes::LaunchHeap;
use crate::objects::allocation::{Kind, Memory};
use cuarray_ptx::{AccessKind, Pieces, TouchedRange};
use cuarray_races::{Extent, Manner, Region, Strength, Touch, Touched};
use std::collections::BTreeSet;

/// Converts ranges of a launch: reads, then writes, then updates, each in ascending order.
pub(super) fn accessed(memory: &Memory, heap: Option<&LaunchHeap>, touched: &[TouchedRange]) -> Vec<Touched> {
    let (mut all, mut parts) = (Vec::with_capacity(touched.len()), Vec::new());
    // The memory of a library is its own business.
    let is_of_library = |range: &TouchedRange| {
        let kind = || memory.find(range.start).map(|allocation| &allocation.kind);
        memory.has_library && matches!(kind(), Some(Kind::Library(_)))
    };
    without_overwritten(touched, |range| {
        if is_of_library(&range) {
            return;
        }
        match heap {
            None => all.push(noted(&range)),
            Some(heap) => {
                heap.split(range, &mut parts);
                all.extend(parts.drain(..).map(|part| noted(&part)));
            }
        }
    });
    all
}

fn noted(range: &TouchedRange) -> Touched {
    let touch = match range.kind {
        AccessKind::Read => Touch::Read,
        AccessKind::Write => Touch::Write,
        AccessKind::Update => Touch::Update,
    };
    let TouchedRange { start, length, step, released, acquired, .. } = *range;
    let region = match &range.listed {
        Some(listed) => Region::listed(listed.clone()),
        None => Region::new(start, step, 0, Extent { width: length, height: range.count(), depth: 1 }),
    };
    let manner = Manner { strength: strength(range.strength), released, acquired };
    Touched { region, touch, manner }
}

pub(super) fn strength(strength: cuarray_ptx::Strength) -> Strength {
    match strength {
        cuarray_ptx::Strength::Weak => Strength::Weak,
        cuarray_ptx::Strength::Device => Strength::Device,
        cuarray_ptx::Strength::System => Strength::System,
    }
}

/// Calls `f` with the ranges. Written bytes are left out of the reads of each manner, because a later access conflicts with the write anyway.
fn without_overwritten(touched: &[TouchedRange], mut f: impl FnMut(TouchedRange)) {
    let manner = |range: &TouchedRange| (range.strength, range.released, range.acquired);
    let alike = |one: &TouchedRange, other: &TouchedRange| one.kind == other.kind && manner(one) == manner(other);
    let lists: Vec<&[TouchedRange]> = touched.chunk_by(alike).collect();
    let of = |kind, like| {
        let is_list = |list: &&&[TouchedRange]| list[0].kind == kind && manner(&list[0]) == like;
        lists.iter().find(is_list).copied().unwrap_or_default()
    };
    let accesses = lists.iter().filter(|list| list[0].kind != AccessKind::Update);
    for like in accesses.map(|list| manner(&list[0])).collect::<BTreeSet<_>>() {
        let writes = of(AccessKind::Write, like);
        let mut rest = writes;
        for read in of(AccessKind::Read, like) {
            let passed = rest.iter().take_while(|write| write.end <= read.start).count();
            rest = &rest[passed..];
            match rest.first().filter(|write| write.start < read.end) {
                Some(_) => parts_without(read, rest, &mut f),
                None => f(read.clone()),
            }
        }
        writes.iter().cloned().for_each(&mut f);
    }
    let updates = lists.iter().filter(|list| list[0].kind == AccessKind::Update);
    updates.flat_map(|list| list.iter().cloned()).for_each(f);
}

/// Calls `f` with the parts of a range without the pieces of others, which are in ascending order.
fn parts_without(range: &TouchedRange, others: &[TouchedRange], f: &mut impl FnMut(TouchedRange)) {
    let others = others.iter().take_while(|other| other.start < range.end);
    let mut others = others.flat_map(|other| other.pieces_behind(range.start)).peekable();
    let mut parts = Pieces::new(range);
    let mut add = |start: u64, end: u64| {
        if start < end {
            parts.add(start, end, f);
        }
    };
    for (mut start, end) in range.pieces() {
        while let Some(other) = others.peek().filter(|other| other.0 < end) {
            add(start, other.0);
            start = start.max(other.1);
            if other.1 > end {
                break;
            }
            others.next();
        }
        add(start, end);
    }
    parts.end(f);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_bytes_are_no_reads_of_the_same_manner() {
        let weak = cuarray_ptx::Strength::Weak;
        let range = |kind, start, end, strength| TouchedRange::new(kind, strength).piece(start, end);
        let device = cuarray_ptx::Strength::Device;
        let touched = [
            range(AccessKind::Read, 0, 100, weak),
            range(AccessKind::Read, 200, 208, weak),
            range(AccessKind::Read, 0, 8, device),
            range(AccessKind::Write, 4, 8, weak),
            range(AccessKind::Write, 96, 104, weak),
            range(AccessKind::Write, 200, 208, weak),
            range(AccessKind::Update, 4, 8, weak),
        ];
        let mut found = Vec::new();
        without_overwritten(&touched, |range| found.push((range.start, range.end, range.kind == AccessKind::Read)));
        let weak = [(0, 4, true), (8, 96, true), (4, 8, false), (96, 104, false), (200, 208, false)];
        assert_eq!(found, [&weak[..], &[(0, 8, true), (4, 8, false)]].concat());
    }

    #[test]
    fn written_elements_are_left_out_of_the_read_structures() {
        let weak = |kind| TouchedRange::new(kind, cuarray_ptx::Strength::Weak);
        let of = |kind, start, end, length, step| TouchedRange { start, end, length, step, ..weak(kind) };
        let touched = [
            of(AccessKind::Read, 0, 100 * 16 - 8, 8, 16),
            of(AccessKind::Read, 5000, 5800, 800, 0),
            of(AccessKind::Write, 0, 99 * 16 + 4, 4, 16),
            of(AccessKind::Write, 4990, 5010, 4, 8),
        ];
        let mut found = Vec::new();
        without_overwritten(&touched, |range| found.push(range));
        let reads = [
            of(AccessKind::Read, 4, 100 * 16 - 8, 4, 16),
            of(AccessKind::Read, 5002, 5006, 4, 0),
            of(AccessKind::Read, 5010, 5800, 790, 0),
        ];
        assert_eq!(found, [&reads[..], &touched[2..]].concat());
    }
}
