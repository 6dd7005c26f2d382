//! The accesses of a block to a line: 32 adjacent pieces of a page.
//!
//! The [marks](super::mark) of a line are exact: every access since the last barrier of the whole block is part of one, or
//! is covered by one.
//!
//! Marks of several pieces are in a list. Marks of one piece are in a chain for each piece. Long lists and chains are
//! shortened: there the instruction of a mark is not always told apart, but its threads are.

use super::cell::Kind;
use super::mark::{END, Mark, Part, Sink};
use super::order::Order;
use super::span::{Lanes, bits, split};

/// The most marks of several pieces.
const ROWS: usize = 12;
/// The number of marks of a piece from which instructions are not told apart.
const CHAIN: u32 = 24;
/// Fewer pieces than these are recorded one by one.
const FEW: u32 = 3;
/// The marks of single pieces.
#[derive(Default)]
struct Chains {
    /// The pieces with a mark of each kind.
    kinds: [u32; 3],
    /// The first mark of each piece in `kinds`.
    heads: [u32; 32],
    marks: Vec<Mark>,
    /// For marks of other lanes in each warp, these lanes.
    apart: Vec<[u32; 32]>,
}

impl Chains {
    #[inline(always)]
    fn present(&self) -> u32 {
        self.kinds[0] | self.kinds[1] | self.kinds[2]
    }

    /// The pieces with marks that can conflict with a kind of access.
    #[inline(always)]
    fn against(&self, kind: Kind) -> u32 {
        match kind {
            Kind::Read => self.kinds[1] | self.kinds[2],
            Kind::Write => self.present(),
            Kind::Atomic => self.kinds[0] | self.kinds[1],
        }
    }

    fn compare(&self, part: &Part<'_>, piece: u32, order: &Order, sink: &mut Sink<'_>) {
        let (mut at, own) = (self.heads[piece as usize & 31], Lanes::all(part.lanes.at(piece)));
        while let Some(mark) = self.marks.get(at as usize) {
            at = mark.next;
            if !mark.origin.kind().conflicts(part.now.kind) || mark.is_ordered(part, own, order) {
                continue;
            }
            if let Some(lanes) = self.apart.get(mark.apart as usize) {
                let alone = |warp: u32| Mark { warps: 1 << warp, lanes: Lanes::all(lanes[warp as usize]), ..*mark };
                bits(mark.warps).any(|warp| alone(warp).compare(part, (1 << piece, mark.clock), order, sink));
            } else if mark.origin.kind() != Kind::Write
                || part.now.kind != Kind::Write
                || mark.value != part.value(piece)
            {
                mark.compare(part, (1 << piece, mark.clock), order, sink);
            } else if mark.varied != 0 {
                mark.compare(part, (1 << piece, mark.earlier), order, sink);
            }
        }
    }

    #[inline(always)]
    fn add(&mut self, part: &Part<'_>, piece: u32) {
        let (bit, own, value) = (1 << piece, part.lanes.at(piece), part.value(piece));
        let here = self.present() & bit != 0;
        let head = if here { self.heads[piece as usize & 31] } else { END };
        let (mut at, mut count) = (head, 0);
        while let Some(mark) = self.marks.get_mut(at as usize) {
            if mark.origin.is_alike(part.now.origin) {
                let joined = match mark.apart {
                    END => mark.join(part, own, value),
                    index => mark.join_apart(part, own, &mut self.apart[index as usize]),
                };
                if joined {
                    return;
                }
                if mark.apart == END && mark.clock == part.now.clock && part.now.kind != Kind::Write {
                    return mark.take_apart(part, own, &mut self.apart);
                }
            }
            at = mark.next;
            count += 1;
        }
        if count >= CHAIN && self.cover(part, head, own, value) {
            return;
        }
        self.kinds[part.now.kind as usize - 1] |= bit;
        self.heads[piece as usize & 31] = self.marks.len() as u32;
        self.marks.push(Mark { next: head, ..Mark::new(part, bit, Lanes::all(own), value) });
    }

    /// Lets a mark of the same threads stand for an access of another instruction.
    #[cold]
    fn cover(&mut self, part: &Part<'_>, head: u32, own: u32, value: u32) -> bool {
        let mut at = head;
        while let Some(mark) = self.marks.get_mut(at as usize) {
            let covers = mark.origin.kind() == part.now.kind && mark.warps == part.warp();
            if covers && mark.apart == END && mark.join(part, own, value) {
                mark.origin = part.now.origin.of(0);
                return true;
            }
            at = mark.next;
        }
        false
    }

    fn clear(&mut self) {
        self.kinds = [0; 3];
        self.marks.clear();
        self.apart.clear();
    }
}

/// The accesses to 32 pieces.
#[derive(Default)]
pub(crate) struct Line {
    /// The time of the last access.
    latest: u32,
    rows: Vec<Mark>,
    /// The digests of the values that rows have written.
    values: Vec<[u32; 32]>,
    chains: Option<Box<Chains>>,
}

impl Line {
    /// Compares an access with the recorded ones, and records it.
    #[inline(always)]
    pub(crate) fn touch(&mut self, part: &Part<'_>, order: &Order, sink: &mut Sink<'_>) {
        if self.latest <= part.now.settled {
            // All recorded accesses are ordered before all later ones.
            self.clear();
        } else {
            self.compare(part, order, sink);
        }
        self.latest = self.latest.max(part.now.clock);
        if part.pieces.count_ones() < FEW || !self.add_row(part) {
            let chains = self.chains.get_or_insert_default();
            bits(part.pieces).for_each(|piece| chains.add(part, piece));
        }
    }

    #[inline(always)]
    fn clear(&mut self) {
        self.rows.clear();
        self.values.clear();
        if let Some(chains) = self.chains.as_mut() {
            chains.clear();
        }
    }

    #[inline(always)]
    fn compare(&self, part: &Part<'_>, order: &Order, sink: &mut Sink<'_>) {
        for mark in &self.rows {
            let pieces = mark.pieces & part.pieces;
            if pieces == 0 || !mark.origin.kind().conflicts(part.now.kind) || mark.is_ordered(part, part.lanes, order) {
                continue;
            }
            self.compare_row(mark, part, pieces, order, sink);
        }
        if let Some(chains) = &self.chains {
            for piece in bits(chains.against(part.now.kind) & part.pieces) {
                chains.compare(part, piece, order, sink);
            }
        }
    }

    #[cold]
    fn compare_row(&self, mark: &Mark, part: &Part<'_>, pieces: u32, order: &Order, sink: &mut Sink<'_>) {
        if mark.origin.kind() != Kind::Write || part.now.kind != Kind::Write {
            mark.compare(part, (pieces, mark.clock), order, sink);
            return;
        }
        let differ = self.differ(mark, part, pieces);
        mark.compare(part, (differ, mark.clock), order, sink);
        mark.compare(part, (pieces & mark.varied & !differ, mark.earlier), order, sink);
    }

    /// The pieces to which an access writes another value than a mark of several pieces.
    fn differ(&self, mark: &Mark, part: &Part<'_>, pieces: u32) -> u32 {
        let values = &self.values[mark.value as usize];
        bits(pieces).fold(0, |all, piece| all | u32::from(values[piece as usize] != part.value(piece)) << piece)
    }

    /// Records an access to several pieces; returns `false` if there are too many marks of such accesses.
    #[inline(always)]
    fn add_row(&mut self, part: &Part<'_>) -> bool {
        for index in 0..self.rows.len() {
            let mark = &self.rows[index];
            if mark.origin.is_alike(part.now.origin) && mark.lanes == part.lanes && self.join_row(index, part) {
                return true;
            }
        }
        if self.rows.len() < ROWS {
            let value = self.values.len() as u32;
            if part.now.kind == Kind::Write {
                let mut values = [0; 32];
                self.values.push(if part.lanes == Lanes::row(0, 1) {
                    *part.values
                } else {
                    bits(part.pieces).for_each(|piece| values[piece as usize] = part.value(piece));
                    values
                });
            }
            self.rows.push(Mark::new(part, part.pieces, part.lanes, value));
            return true;
        }
        self.cover(part)
    }

    /// Adds an access of the same lanes to a mark of several pieces. Returns whether the mark now stands for it.
    fn join_row(&mut self, index: usize, part: &Part<'_>) -> bool {
        if part.now.kind == Kind::Write {
            return self.join_written(index, part);
        }
        let (now, mark) = (part.now, &mut self.rows[index]);
        if mark.warps == part.warp() {
            if mark.pieces & !part.pieces == 0 || mark.clock == now.clock {
                (mark.pieces, mark.clock) = (mark.pieces | part.pieces, now.clock);
                return true;
            }
        } else if mark.clock == now.clock {
            if mark.pieces == part.pieces {
                mark.warps |= part.warp();
                return true;
            }
            return mark.warps & part.warp() != 0 && part.pieces & !mark.pieces == 0;
        } else if mark.pieces & !part.pieces == 0 {
            // The access covers the ones of its warp.
            mark.warps &= !part.warp();
        }
        false
    }

    fn join_written(&mut self, index: usize, part: &Part<'_>) -> bool {
        let mark = self.rows[index];
        if mark.warps != part.warp() || mark.pieces & !part.pieces != 0 {
            return false;
        }
        let differ = self.differ(&mark, part, mark.pieces);
        if differ != 0 && mark.varied & !differ != 0 {
            return false;
        }
        let mark = &mut self.rows[index];
        if differ != 0 {
            (mark.varied, mark.earlier) = (differ, mark.clock);
        }
        (mark.pieces, mark.clock) = (part.pieces, part.now.clock);
        let values = &mut self.values[mark.value as usize];
        bits(part.pieces).for_each(|piece| values[piece as usize] = part.value(piece));
        true
    }

    /// Lets a mark of the same threads stand for an access of another instruction.
    #[cold]
    fn cover(&mut self, part: &Part<'_>) -> bool {
        let covers =
            |mark: &Mark| mark.origin.kind() == part.now.kind && mark.lanes == part.lanes && mark.warps == part.warp();
        for index in 0..self.rows.len() {
            if covers(&self.rows[index]) && self.join_row(index, part) {
                self.rows[index].origin = part.now.origin.of(0);
                return true;
            }
        }
        false
    }

    /// Drops the accesses to some pieces.
    pub(crate) fn forget(&mut self, pieces: u32) {
        self.rows.iter_mut().for_each(|mark| mark.pieces &= !pieces);
        self.rows.retain(|mark| mark.pieces != 0);
        if let Some(chains) = self.chains.as_mut() {
            chains.kinds.iter_mut().for_each(|kind| *kind &= !pieces);
        }
    }

    /// Splits each piece into `1 << halvings` pieces, and adds the lines of these pieces.
    pub(crate) fn split_into(&self, halvings: u32, lines: &mut Vec<Line>) {
        for index in 0..1 << halvings {
            let mut line = Line { latest: self.latest, ..Line::default() };
            let old = |piece: u32| (index * 32 + piece) >> halvings;
            for mark in self.rows.iter().filter(|mark| split(mark.pieces, halvings, index) != 0) {
                let mut mark = Mark {
                    pieces: split(mark.pieces, halvings, index),
                    varied: split(mark.varied, halvings, index),
                    lanes: mark.lanes.split(halvings, index),
                    ..*mark
                };
                if mark.origin.kind() == Kind::Write {
                    let values = &self.values[mark.value as usize];
                    mark.value = line.values.len() as u32;
                    line.values.push(std::array::from_fn(|piece| values[old(piece as u32) as usize]));
                }
                line.rows.push(mark);
            }
            if let Some(chains) = &self.chains {
                let new = line.chains.get_or_insert_default();
                new.kinds = chains.kinds.map(|kind| split(kind, halvings, index));
                for piece in bits(new.present()) {
                    let mut at = chains.heads[old(piece) as usize];
                    let mut head = END;
                    while let Some(mark) = chains.marks.get(at as usize) {
                        let varied = if mark.varied == 0 { 0 } else { 1 << piece };
                        let lanes = Lanes::all(mark.lanes.at(old(piece)));
                        let mut apart = END;
                        if let Some(lanes) = chains.apart.get(mark.apart as usize) {
                            apart = new.apart.len() as u32;
                            new.apart.push(*lanes);
                        }
                        new.marks.push(Mark { pieces: 1 << piece, varied, lanes, apart, next: head, ..*mark });
                        head = new.marks.len() as u32 - 1;
                        at = mark.next;
                    }
                    new.heads[piece as usize] = head;
                }
            }
            lines.push(line);
        }
    }
}
