//! Register allocation.
//!
//! PTX has any number of registers, mostly written once. If each had its own place, a warp's register file would be
//! far larger than the processor's cache. Linear scan shares places: a register is live from its first to its last use
//! in the order of the code, including loops that it lives through. Diverged threads of a warp use the same places,
//! but different lanes of them.

use super::draft::{Block, Next, Operand, Results, reads, writes};
use super::linear::Heads;
use crate::grammar::types::Width;
use crate::machine::linear::HEAD;
use crate::machine::program::Constant;
use rustc_hash::FxHashMap;

/// The places of a function's registers.
pub(super) struct Places {
    pub of: Vec<u32>,
    /// The bytes of all places.
    pub frame: u32,
    /// Places that may be read before they are written: offset and bytes.
    pub cleared: Vec<(u32, u32)>,
    /// The maximum number of 32-bit words of a thread that are live at once.
    pub words: u32,
    /// The number of last elements that nothing uses, for loads of vectors: by block and index in the block.
    pub unused: FxHashMap<(usize, usize), u32>,
    /// The registers with heads.
    pub heads: Heads,
}

/// If the product of blocks and registers exceeds this limit, places are not shared.
const LARGEST: usize = 1 << 28;

/// The successors of a block.
pub(super) fn successors(block: &Block) -> Vec<usize> {
    let mut next = Vec::new();
    for draft in &block.drafts {
        match &draft.next {
            Next::Jump { to, .. } => next.push(*to),
            Next::Indexed(targets) => next.extend(targets),
            Next::On | Next::End => {}
        }
    }
    next.sort_unstable();
    next.dedup();
    next
}

pub(super) fn places(blocks: &[Block], order: &[usize], widths: &[Width], constants: &[(Constant, Width)]) -> Places {
    let count = widths.len();
    if order.len().saturating_mul(count) > LARGEST {
        return apart(widths);
    }
    let Live { alive, out } = Live::of(blocks, order, count);
    let most = order.iter().map(|index| most_live(&blocks[*index], out[*index].clone(), widths)).max().unwrap_or(0);
    let spans = spans(blocks, order, count, (&alive, &out));
    let unused = unused(blocks, order, &out);
    let entry = order.first().map_or(Vec::new(), |first| alive[*first].clone());
    let read_first = |register: u32| entry.get(register as usize / 64).is_some_and(|_| bit(&entry, register));
    let heads = Heads::of(blocks, order, (widths, constants), read_first);
    Places { unused, ..scan(&spans, widths, heads, most, read_first) }
}

fn bit(set: &[u64], register: u32) -> bool {
    set[register as usize / 64] >> (register % 64) & 1 == 1
}

fn set(set: &mut [u64], register: u32) {
    set[register as usize / 64] |= 1 << (register % 64);
}

/// The registers that are live at the start and at the end of each block.
struct Live {
    alive: Vec<Vec<u64>>,
    out: Vec<Vec<u64>>,
}

impl Live {
    /// Computes the registers as a fixed point.
    fn of(blocks: &[Block], order: &[usize], count: usize) -> Live {
        let words = count.div_ceil(64);
        // The registers that each block reads before it writes them, and those that it writes.
        let mut exposed = vec![vec![0_u64; words]; blocks.len()];
        let mut written = vec![vec![0_u64; words]; blocks.len()];
        for index in order {
            for draft in &blocks[*index].drafts {
                for register in reads(draft) {
                    if !bit(&written[*index], register) {
                        set(&mut exposed[*index], register);
                    }
                }
                for register in writes(draft) {
                    if draft.guard.is_none() {
                        set(&mut written[*index], register);
                    } else if !bit(&written[*index], register) {
                        // A guarded write keeps the old value in some lanes.
                        set(&mut exposed[*index], register);
                    }
                }
            }
        }
        let next: Vec<Vec<usize>> = blocks.iter().map(successors).collect();
        let mut alive = exposed.clone();
        let mut out = vec![vec![0_u64; words]; blocks.len()];
        loop {
            let mut changed = false;
            for index in order.iter().rev() {
                for word in 0..words {
                    let after = next[*index].iter().fold(0, |all, target| all | alive[*target][word]);
                    out[*index][word] = after;
                    let before = exposed[*index][word] | (after & !written[*index][word]);
                    changed |= before != alive[*index][word];
                    alive[*index][word] = before;
                }
            }
            if !changed {
                return Live { alive, out };
            }
        }
    }
}

/// The first and last position at which each register is live. An instruction reads at an even position and writes
/// at the next odd position. An instruction that writes several registers counts as reading until then.
fn spans(blocks: &[Block], order: &[usize], count: usize, (alive, out): (&[Vec<u64>], &[Vec<u64>])) -> Vec<(u32, u32)> {
    let mut spans = vec![(u32::MAX, 0_u32); count];
    let mut touch = |register: u32, at: u32| {
        let span = &mut spans[register as usize];
        *span = (span.0.min(at), span.1.max(at));
    };
    let mut at = 0;
    for index in order {
        members(&alive[*index]).for_each(|register| touch(register, at));
        for draft in &blocks[*index].drafts {
            let late = u32::from(draft.written > 0);
            reads(draft).for_each(|register| touch(register, at + late));
            writes(draft).for_each(|register| touch(register, at + 1));
            at += 2;
        }
        members(&out[*index]).for_each(|register| touch(register, at));
        at += 1;
    }
    spans
}

/// The loads of vectors whose last registers are not live afterwards, with the number of these registers.
fn unused(blocks: &[Block], order: &[usize], out: &[Vec<u64>]) -> FxHashMap<(usize, usize), u32> {
    let mut unused = FxHashMap::default();
    for index in order {
        let drafts = &blocks[*index].drafts;
        if drafts.iter().all(|draft| draft.results != Results::Vector) {
            continue;
        }
        let mut live = out[*index].clone();
        for (at, draft) in drafts.iter().enumerate().rev() {
            if draft.results == Results::Vector {
                let dead = |operand: &Operand| match operand {
                    Operand::Register(register) => !bit(&live, *register),
                    _ => true,
                };
                // The first element is always accessed, so that a bad address is noticed.
                let count = draft.extra.iter().skip(1).rev().take_while(|operand| dead(operand)).count();
                unused.insert((*index, at), count as u32);
            }
            if draft.guard.is_none() {
                writes(draft).for_each(|register| live[register as usize / 64] &= !(1 << (register % 64)));
            }
            reads(draft).for_each(|register| set(&mut live, register));
        }
    }
    unused
}

/// The registers of a set of bits.
fn members(set: &[u64]) -> impl Iterator<Item = u32> {
    (0..).zip(set).flat_map(|(word, bits)| {
        let rest =
            std::iter::successors(Some(*bits), |bits| Some(bits & bits.wrapping_sub(1))).take_while(|bits| *bits != 0);
        rest.map(move |bits| word * 64 + bits.trailing_zeros())
    })
}

/// The maximum number of 32-bit words that are live at once in a block, from the registers that are live at its end.
/// Predicates are not counted, because GPUs keep them apart.
fn most_live(block: &Block, mut alive: Vec<u64>, widths: &[Width]) -> u32 {
    let words = |register: u32| match widths[register as usize] {
        Width::Predicate => 0,
        width => width.bits() / 32,
    };
    let mut now: u32 = members(&alive).map(words).sum();
    let mut most = now;
    for draft in block.drafts.iter().rev() {
        if draft.guard.is_none() {
            for register in writes(draft) {
                let (word, bit) = (&mut alive[register as usize / 64], 1 << (register % 64));
                now -= if *word & bit != 0 { words(register) } else { 0 };
                *word &= !bit;
            }
        }
        for register in reads(draft) {
            let (word, bit) = (&mut alive[register as usize / 64], 1 << (register % 64));
            now += if *word & bit == 0 { words(register) } else { 0 };
            *word |= bit;
        }
        most = most.max(now);
    }
    most
}

fn scan(spans: &[(u32, u32)], widths: &[Width], heads: Heads, words: u32, read_first: impl Fn(u32) -> bool) -> Places {
    let mut by_start: Vec<u32> =
        (0..spans.len() as u32).filter(|register| spans[*register as usize].0 != u32::MAX).collect();
    by_start.sort_unstable_by_key(|register| (spans[*register as usize].0, *register));
    // The width of the places of a class, and whether a head precedes each. Heads are aligned like cache lines.
    let classes = [
        (Width::W64, true),
        (Width::W32, true),
        (Width::W128, false),
        (Width::W64, false),
        (Width::W32, false),
        (Width::Predicate, false),
    ];
    let class_of = |register: u32| {
        let class = (widths[register as usize], heads.has[register as usize]);
        classes.iter().position(|known| *known == class).unwrap_or(2)
    };
    let bytes = |class: usize| classes[class].0.bytes() + if classes[class].1 { HEAD } else { 0 };
    let mut free: [Vec<u32>; 6] = Default::default();
    let mut used = [0_u32; 6];
    // The live registers by the end of their span.
    let mut alive: std::collections::BinaryHeap<std::cmp::Reverse<(u32, u32)>> = Default::default();
    let mut slots = vec![0_u32; spans.len()];
    for register in by_start {
        let (start, end) = spans[register as usize];
        while let Some(std::cmp::Reverse((over, old))) = alive.peek().copied()
            && over < start
        {
            alive.pop();
            free[class_of(old)].push(slots[old as usize]);
        }
        let class = class_of(register);
        slots[register as usize] = free[class].pop().unwrap_or_else(|| {
            used[class] += 1;
            used[class] - 1
        });
        alive.push(std::cmp::Reverse((end, register)));
    }
    let mut bases = [0_u32; 6];
    let mut frame = 0;
    for class in 0..classes.len() {
        bases[class] = frame;
        frame += used[class] * bytes(class);
    }
    let place = |register: u32| {
        let class = class_of(register);
        bases[class] + slots[register as usize] * bytes(class) + if classes[class].1 { HEAD } else { 0 }
    };
    let of: Vec<u32> = (0..widths.len() as u32).map(place).collect();
    let read =
        (0..spans.len() as u32).filter(|register| spans[*register as usize].0 != u32::MAX && read_first(*register));
    let cleared = read.map(|register| (of[register as usize], widths[register as usize].bytes())).collect();
    Places { of, frame: frame.next_multiple_of(64), cleared, words, unused: FxHashMap::default(), heads }
}

/// Gives each register its own place.
fn apart(widths: &[Width]) -> Places {
    let spans = vec![(0, 1); widths.len()];
    let words = widths.iter().map(|width| width.bits() / 32).sum();
    scan(&spans, widths, Heads::none(widths.len()), words, |_| true)
}
