//! The memory of the grid: the accesses to each piece of it.
//!
//! A page has cells of the size of the smallest plain access to it so far. A cell keeps each plain access until a later one
//! conflicts with everything that it conflicts with. So no access is forgotten while it could be part of a race. Strong accesses are
//! kept with their [`Location`].

use super::clusters::Clusters;
use super::mark::{Actor, Cell, Conflict, Mark};
pub(super) use super::page::PAGE;
use super::page::{Page, Placed, Spare};
use super::proxies::Fenced;
use super::stale::Flags;
use super::threads::{Group, Missed, Scope, Threads};
use super::times::{Times, thread};
use super::view::View;
use super::word::WORD;
use super::{GRID_WORKSPACE, Strong, Why};
use crate::races::cell::Kind;
use rustc_hash::FxHashMap;

/// Marks a flat address in shared memory: the block and an offset of 24 bits follow.
const SHARED: u64 = 1 << 63;
/// The most unordered writes of one value that a cell keeps.
const EQUAL_WRITES: usize = 16;

/// The number of pages that are found without their table.
const RECENT: usize = 64;
/// No page has this number.
const NO_PAGE: (u64, usize) = (u64::MAX, 0);

/// The size of a barrier object in bytes.
const OBJECT: u32 = 8;

/// The address of a byte in shared memory, distinct for all blocks.
pub(crate) fn in_shared(block: u32, offset: u64) -> u64 {
    SHARED | u64::from(block) << 24 | offset
}

pub(crate) fn is_shared(address: u64) -> bool {
    address & SHARED != 0
}

/// Accesses of lanes that are compared together.
#[derive(Clone, Copy)]
pub(crate) enum Together<'a> {
    /// Plain ones, with the digests of the values.
    Weak(&'a [u32; 32]),
    Strong(Strong),
}

/// The accesses of the grid.
pub(crate) struct Memory {
    numbers: FxHashMap<u64, usize>,
    /// The numbers and the indices of the last pages, by the low bits of the number.
    recent: [(u64, usize); RECENT],
    pages: Vec<Page>,
    free: Vec<usize>,
    spare: Spare,
    pub clusters: Clusters,
    pub(super) fenced: Fenced,
    flags: Flags,
    strict: bool,
}

impl Memory {
    pub(crate) fn new(strict: bool) -> Memory {
        let (numbers, pages, free, spare, clusters, fenced, flags) = Default::default();
        Memory { numbers, recent: [NO_PAGE; RECENT], pages, free, spare, clusters, fenced, flags, strict }
    }

    /// The index of a page, which may be new.
    #[inline]
    fn index(&mut self, number: u64) -> usize {
        match self.recent[number as usize % RECENT] {
            (recent, index) if recent == number => index,
            _ => self.find(number),
        }
    }

    #[inline(never)]
    fn find(&mut self, number: u64) -> usize {
        let Memory { numbers, pages, free, .. } = self;
        let index = *numbers.entry(number).or_insert_with(|| {
            free.pop().unwrap_or_else(|| {
                pages.push(Page::new());
                pages.len() - 1
            })
        });
        self.recent[number as usize % RECENT] = (number, index);
        index
    }

    pub(super) fn known_page(&self, number: u64) -> Option<&Page> {
        self.numbers.get(&number).map(|index| &self.pages[*index])
    }

    /// Drops the accesses to a range that is allocated anew.
    pub(crate) fn forget(&mut self, address: u64, size: u64) {
        for number in address / PAGE..=(address + size - 1) / PAGE {
            let Some(page) = self.numbers.get(&number).map(|index| &mut self.pages[*index]) else { continue };
            let inside = |offset: u64| (address..address + size).contains(&(number * PAGE + offset));
            page.forget(inside);
        }
    }

    /// Drops the shared memory of a block that has ended.
    pub(crate) fn block_ends(&mut self, block: u32, bytes: u64) {
        for number in in_shared(block, 0) / PAGE..=in_shared(block, bytes) / PAGE {
            if let Some(index) = self.numbers.remove(&number) {
                self.pages[index].clear(&mut self.spare);
                self.recent[number as usize % RECENT] = NO_PAGE;
                self.free.push(index);
            }
        }
    }

    /// Compares and records plain accesses of lanes to consecutive pieces of a page, each of `size` bytes. `mark` has the lanes, and
    /// `view` is what they all know. Returns `false`, and records nothing, if the lanes must be compared one by one.
    pub(crate) fn weak_row(
        &mut self,
        view: &View,
        (actor, mark): (Actor, Mark),
        (address, size): (u64, u32),
        values: &[u32; 32],
    ) -> bool {
        let index = self.index(address / PAGE);
        let page = &mut self.pages[index];
        let offset = (address % PAGE) as u32;
        if !page.overlapped(offset, size * mark.lanes.count_ones()).is_empty() {
            return false;
        }
        let Some(row) = page.row((offset, size), mark.lanes) else { return false };
        // A lane of the same warp has accessed its own piece only.
        let is_ordered = |other: &Mark| {
            let place = (other.block, u32::from(other.warp));
            place == (actor.block, actor.warp) || view.unknown(place, other.lanes, other.stamp) == 0
        };
        if !row.cell.iter().filter(|other| mark.kind.conflicts(other.kind)).all(is_ordered) {
            return false;
        }
        match mark.kind {
            Kind::Read => keep_read(&mut row.cell, view, actor, mark),
            _ => {
                row.cell.clear();
                row.cell.push(mark);
                row.values = *values;
            }
        }
        true
    }

    /// Whether an operation on shared memory changes what no thread of its block knows. `group` has its thread, and `view` its knowledge.
    pub(crate) fn hands_nothing_over(&self, group: &Group, view: &View, block: u32, op: Strong) -> bool {
        // By default a store passes on the reads before it, without a fence too.
        let passes_reads = !self.strict && op.kind == Kind::Write;
        op.step.is_none() && !op.releases && !passes_reads && group.own.releases_nothing(block, view)
    }

    /// Compares and records accesses of lanes to shared memory of their block, each of `size` bytes at an offset: plain ones with their
    /// `values`, or strong ones of words that hand nothing over. `mark` has the lanes, and `view` is what they all know. Returns the lanes,
    /// all behind the others, that must be compared one by one.
    pub(crate) fn in_shared_together(
        &mut self,
        threads: &mut Threads,
        view: &View,
        (mark, what): (Mark, Together<'_>),
        (offsets, size): (&[u64; 32], u32),
    ) -> u32 {
        let mut rest = mark.lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros();
            let address = in_shared(mark.block, offsets[lane as usize]);
            let index = self.index(address / PAGE);
            let actor = Actor { block: mark.block, warp: mark.warp.into(), lane };
            let (page, offset) = (&mut self.pages[index], (address % PAGE) as u32);
            let mark = Mark { lanes: 1 << lane, stamp: threads.clock.now(), ..mark };
            let is_done = match what {
                Together::Weak(values) => {
                    weak_alone(page, view, actor, Mark { value: values[lane as usize], ..mark }, (offset, size))
                }
                Together::Strong(op) => {
                    strong_alone(page, &mut self.spare, threads, view, (actor, mark, op), (offset, size), self.strict)
                }
            };
            if !is_done {
                // The other lanes may race with this one.
                break;
            }
            rest &= rest - 1;
        }
        rest
    }

    /// Compares and records a plain access of at most one page. `view` is what its thread knows.
    pub(crate) fn weak(
        &mut self,
        threads: &Threads,
        view: &View,
        (actor, mark): (Actor, Mark),
        (address, size): (u64, u32),
        found: &mut Vec<Conflict>,
    ) {
        let strict = self.strict;
        let index = self.index(address / PAGE);
        let page = &mut self.pages[index];
        let offset = (address % PAGE) as u32;
        page.split(offset, size);
        page.fit(offset, size);
        page.make_locations(offset, size, &mut self.spare);
        let pieces = page.cells_of(offset, size);
        for cell in &mut page.cells[pieces] {
            match mark.kind {
                _ if is_behind(cell, view, actor, &mark) => keep(cell, view, actor, mark),
                Kind::Read => read(cell, threads, view, actor, mark, found),
                _ => write(cell, threads, view, actor, mark, strict, found),
            }
        }
        let overlapped = page.overlapped(offset, size);
        let near = page.locations[overlapped.clone()].iter_mut();
        for Placed { location, .. } in near.filter(|placed| placed.overlaps(offset, size)) {
            location.meet(view, (actor, mark.kind), strict, found);
            // A strong access is none by the read-only path.
            if mark.read_only {
                found.extend(location.accesses().filter_map(|other| other.meets_read_only(&mark)));
            }
            if mark.kind != Kind::Read {
                location.overwritten(offset, size);
            }
        }
        if mark.kind != Kind::Read {
            page.drop_empty(overlapped, &mut self.spare);
        }
    }

    /// The last recorded write of a byte.
    pub(crate) fn last_write(&self, address: u64) -> Option<Mark> {
        let page = self.known_page(address / PAGE)?;
        page.accesses((address % PAGE) as u32, 1).filter(|mark| mark.kind != Kind::Read).max_by_key(|mark| mark.stamp)
    }

    /// Finds the writes to bytes of at most one page, whether or not they are ordered before a read that need not see them.
    pub(crate) fn unseen(&self, (address, size): (u64, u32), found: &mut Vec<Conflict>) {
        let Some(page) = self.numbers.get(&(address / PAGE)).and_then(|index| self.pages.get(*index)) else { return };
        let offset = (address % PAGE) as u32;
        let writes = page.accesses(offset, size).filter(|mark| mark.kind != Kind::Read);
        found.extend(writes.map(|mark| Conflict { mark, lane: mark.lanes.trailing_zeros(), why: Some(Why::Texture) }));
    }

    /// Compares, executes and records a strong operation. `view` is what its thread knows.
    pub(crate) fn strong(
        &mut self,
        threads: &mut Threads,
        view: &View,
        (actor, mark, op): (Actor, Mark, Strong),
        (address, size): (u64, u32),
        found: &mut Vec<Conflict>,
    ) {
        let strict = self.strict;
        let index = self.index(address / PAGE);
        let Memory { pages, spare, clusters, flags, .. } = self;
        let page = &mut pages[index];
        let offset = (address % PAGE) as u32;
        let before = found.len();
        page.split(offset, size);
        page.make_locations(offset, size, spare);
        for cell in &page.cells[page.cells_of(offset, size)] {
            for other in cell.iter().filter(|other| mark.kind != Kind::Read || other.kind != Kind::Read) {
                let unknown = other.unknown(view, actor);
                if unknown != 0 {
                    let why = if op.step.is_some() { Why::BarrierObject } else { Why::Plain };
                    found.push(Conflict { mark: *other, lane: unknown.trailing_zeros(), why: Some(why) });
                } else {
                    found.extend(other.meets_read_only(&mark));
                }
            }
        }
        let plain = found.get(before).map(|conflict| conflict.mark.block);
        let before = found.len();
        let overlapped = page.overlapped(offset, size);
        let known = overlapped.clone().find(|index| page.locations[*index].is(offset, size));
        let near = page.locations[overlapped].iter_mut();
        let others = near.filter(|placed| placed.overlaps(offset, size) && !placed.is(offset, size));
        for Placed { location: other, .. } in others {
            if strict {
                other.meet(view, (actor, mark.kind), true, found);
            }
            // A read of the other bytes is not morally strong with this write. The words of a copy's reduction may be parts of its elements.
            if mark.kind != Kind::Read && !mark.by_copy {
                other.end_release();
            }
        }
        found[before..].iter_mut().for_each(|conflict| conflict.why = Some(Why::MixedSizes));
        let location = match known {
            Some(index) => &mut *page.locations[index].location,
            None => page.location((offset, size), is_shared(address), spare),
        };
        // Operations on a barrier object do not race with each other, whatever they order.
        let scope = if op.step.is_some() { Scope::System } else { op.scope };
        location.meet_strong(view, clusters, (actor, mark.kind, scope), found);
        if is_shared(address) && mark.kind != Kind::Read && clusters.are_blocks() {
            location.drop_settled(view);
        }
        let passes = op.step.is_none() && !is_shared(address);
        let own = thread(actor.block, actor.warp, actor.lane);
        if passes
            && op.result
            && let Some(write) = location.written.filter(|write| write.mark.block != actor.block)
        {
            let data = op.kind == Kind::Read && !op.acquires && write.mark.kind == Kind::Write;
            if data && flags.is_behind(own, &write) && !location.was_read_by(actor) {
                let unknown = write.mark.unknown(view, actor);
                let lane = unknown.trailing_zeros();
                if unknown != 0 {
                    found.push(Conflict { mark: write.mark, lane, why: Some(Why::OldValue) });
                }
            }
            flags.read(own, &write);
        }
        location.operate(threads, clusters, view, (actor, op), strict);
        if address >> 48 == GRID_WORKSPACE >> 48 {
            // An access behind the barrier of the grid is not one behind a flag.
            threads.forget_missed(actor);
        }
        location.record(mark, scope);
        if passes && mark.kind != Kind::Read {
            location.written = Some(flags.write(own, mark));
        }
        if let Some(block) = plain.filter(|_| mark.kind != Kind::Write && op.step.is_none()) {
            threads.miss(actor, Missed { block: Some(block), why: Why::PlainFlag, written: u32::MAX });
        }
    }
}

impl Memory {
    /// Lets completed copies of a thread of `block` arrive at the barrier object at an address.
    pub(crate) fn complete(&mut self, block: u32, known: &Times, address: u64, ended: bool) {
        let (index, offset) = (self.index(address / PAGE), (address % PAGE) as u32);
        self.pages[index].make_locations(offset, OBJECT, &mut self.spare);
        self.pages[index].location((offset, OBJECT), true, &mut self.spare).complete(block, known, ended);
    }
}

/// Compares and records a plain access to a page of shared memory. Returns `false`, and records nothing, if it must be looked at closer.
#[inline(always)]
fn weak_alone(page: &mut Page, view: &View, actor: Actor, mark: Mark, (offset, size): (u32, u32)) -> bool {
    if !page.words.are_behind((offset, size), view, actor, mark.kind) {
        return false;
    }
    let Some(cells) = page.only_cells(offset, size) else { return false };
    if !cells.iter().all(|cell| is_behind(cell, view, actor, &mark)) {
        return false;
    }
    cells.iter_mut().for_each(|cell| keep(cell, view, actor, mark));
    if mark.kind != Kind::Read {
        page.words.overwrite(offset, size);
    }
    true
}

/// Compares and lists a strong operation on a word of shared memory that hands nothing over. Returns `false`, and records nothing, if it
/// must be looked at closer.
#[inline(always)]
fn strong_alone(
    page: &mut Page,
    spare: &mut Spare,
    threads: &mut Threads,
    view: &View,
    (actor, mark, op): (Actor, Mark, Strong),
    (offset, size): (u32, u32),
    strict: bool,
) -> bool {
    if size != WORD || !offset.is_multiple_of(WORD) || page.has_other_records(offset, WORD) {
        return false;
    }
    let mut others = page.cells[page.cells_of(offset, WORD)].iter().flatten();
    let is_ordered = |other: &Mark| {
        !other.read_only && (mark.kind == Kind::Read && other.kind == Kind::Read || other.unknown(view, actor) == 0)
    };
    if !others.all(is_ordered) {
        return false;
    }
    if !page.words.has_place(view) {
        page.make_locations(0, PAGE as u32, spare);
        page.words.clear();
        return false;
    }
    if let Some(missed) = page.words.list(offset, PAGE as u32 / WORD, view, actor, (&mark, op)) {
        threads.miss(actor, missed);
    }
    if !strict && op.kind == Kind::Atomic && op.result {
        threads.clock.tick();
    }
    true
}

/// The reason for which two plain accesses are unordered, if threads of their blocks have synchronized. `rewrites` tells whether
/// the later one writes what its thread has written before the other one.
fn reason(threads: &Threads, actor: Actor, mark: &Mark, lane: u32, rewrites: bool) -> Option<Why> {
    let Group { own, view, .. } = threads.of(actor.warp, actor.lane);
    let place = (mark.block, u32::from(mark.warp));
    let knows = |view: &Times| view.unknown(threads.height, place, 1 << lane, mark.stamp) == 0;
    if knows(&view.of_shared()) {
        return Some(Why::RestrictedFence);
    }
    let observed = own.observed.iter().position(|seen| seen.unknown(threads.height, place, 1 << lane, mark.stamp) == 0);
    match observed {
        Some(0) => Some(Why::NoAcquire(Scope::Block)),
        Some(1) => Some(Why::NoAcquire(Scope::Cluster)),
        Some(_) => Some(Why::NoAcquire(Scope::Device)),
        None => {
            let of_writer = |missed: Missed| {
                let Missed { block, why, written } = missed;
                let is_writer = block.is_none_or(|block| block == mark.block);
                is_writer.then_some(if mark.stamp > written { Why::BehindFlag } else { why })
            };
            let missed = threads.missed(actor).and_then(of_writer);
            // In strict mode a fence of one thread does not count for another one behind a barrier.
            if mark.block == actor.block || !threads.is_block(mark.block) || threads.is_strict() {
                return missed;
            }
            let before = || threads.missed_before(actor).and_then(of_writer);
            match missed {
                _ if view.has_followed() && knows(&view.with_followed()) => Some(Why::NoFence),
                _ if view.latest(threads.height, mark.block) >= mark.stamp => Some(Why::OtherWriter { first: true }),
                Some(why) => Some(why),
                None if threads.is_known_by_any(place, lane, mark.stamp) => Some(Why::OtherReader { first: false }),
                None => before().or(rewrites.then_some(Why::NoAnswer)),
            }
        }
    }
}

/// Compares an access with an earlier one. Unless `strict`, a flag without a fence orders the reads before it: their values were used
/// before the flag was written.
fn meet(
    threads: &Threads,
    view: &View,
    actor: Actor,
    other: &Mark,
    (strict, rewrites): (bool, bool),
    found: &mut Vec<Conflict>,
) -> bool {
    let mut unknown = other.unknown(view, actor);
    if unknown != 0 && !strict && other.kind == Kind::Read && view.has_followed() {
        unknown = other.unknown(&view.with_followed(), actor);
    }
    if unknown != 0 {
        let lane = unknown.trailing_zeros();
        found.push(Conflict { mark: *other, lane, why: reason(threads, actor, other, lane, rewrites) });
    }
    unknown != 0
}

/// Whether an access is ordered behind all that it conflicts with. `false` also where [`read`] and [`write`] must look closer.
#[inline(always)]
fn is_behind(cell: &Cell, view: &View, actor: Actor, mark: &Mark) -> bool {
    cell.iter().all(|other| {
        let reads = mark.kind == Kind::Read && other.kind == Kind::Read;
        let merges = mark.kind != Kind::Read && other.stamp == mark.stamp && other.lanes != mark.lanes;
        !mark.read_only && !other.read_only && (reads || !merges && other.unknown(view, actor) == 0)
    })
}

/// Records an access that is ordered behind all that it conflicts with.
#[inline(always)]
fn keep(cell: &mut Cell, view: &View, actor: Actor, mark: Mark) {
    match mark.kind {
        Kind::Read => keep_read(cell, view, actor, mark),
        _ => {
            cell.clear();
            cell.push(mark);
        }
    }
}

fn read(cell: &mut Cell, threads: &Threads, view: &View, actor: Actor, mark: Mark, found: &mut Vec<Conflict>) {
    for other in cell.iter().filter(|other| other.kind != Kind::Read) {
        if !meet(threads, view, actor, other, (true, false), found) {
            found.extend(other.meets_read_only(&mark));
        }
    }
    keep_read(cell, view, actor, mark);
}

/// Records a read.
fn keep_read(cell: &mut Cell, view: &View, actor: Actor, mark: Mark) {
    for kept in cell.iter_mut().rev().take(4) {
        if kept.kind == Kind::Read && kept.block == mark.block && kept.warp == mark.warp {
            if kept.stamp == mark.stamp && kept.pc == mark.pc {
                kept.lanes |= mark.lanes;
                return;
            }
            if kept.lanes & !mark.lanes == 0 && kept.read_only == mark.read_only {
                *kept = mark;
                return;
            }
        }
        // A write that races with the settled read races with the later one too.
        if kept.kind == Kind::Read && !kept.read_only && view.has_settled(kept.block, kept.stamp) {
            *kept = mark;
            return;
        }
    }
    if cell.len() >= 8 && cell.len() == cell.capacity() {
        prune(cell, view, actor);
    }
    cell.push(mark);
}

/// Drops reads that are ordered before a read with the view, and reads of threads that have read again.
fn prune(cell: &mut Cell, view: &View, actor: Actor) {
    let mut seen: FxHashMap<(u32, u8), u32> = FxHashMap::default();
    let mut kept = Cell::with_capacity(cell.len() + 1);
    for mark in cell.iter().rev() {
        if mark.kind == Kind::Read {
            let lanes = seen.entry((mark.block, mark.warp)).or_default();
            let covered = mark.lanes & !*lanes == 0 || mark.unknown(view, actor) == 0;
            if covered && !mark.read_only {
                continue;
            }
            *lanes |= mark.lanes;
        }
        kept.push(*mark);
    }
    kept.reverse();
    *cell = kept;
    cell.reserve(cell.len());
}

fn write(
    cell: &mut Cell,
    threads: &Threads,
    view: &View,
    actor: Actor,
    mark: Mark,
    strict: bool,
    found: &mut Vec<Conflict>,
) {
    // Writes of one value have one result in either order. They stay, because other accesses may race with them.
    let mut equal = 0;
    let is_own = |other: &Mark| {
        (other.block, u32::from(other.warp), other.lanes >> actor.lane & 1) == (actor.block, actor.warp, 1)
    };
    let rewrites = cell.iter().any(|other| other.kind == Kind::Write && is_own(other));
    cell.retain_mut(|other| {
        let equals = !strict && other.kind == Kind::Write && mark.kind == Kind::Write && other.value == mark.value;
        if !equals {
            let rewrites = rewrites && other.kind == Kind::Read;
            if !meet(threads, view, actor, other, (strict, rewrites), found) {
                found.extend(other.meets_read_only(&mark));
            }
            return false;
        }
        let merges = other.block == mark.block && other.warp == mark.warp && other.stamp == mark.stamp;
        let keeps = other.unknown(view, actor) != 0 && equal < EQUAL_WRITES && !merges;
        equal += usize::from(keeps);
        keeps || merges && other.lanes & !mark.lanes != 0
    });
    let same = |other: &&mut Mark| {
        (other.block, other.warp, other.stamp, other.pc) == (mark.block, mark.warp, mark.stamp, mark.pc)
            && other.value == mark.value
    };
    match cell.iter_mut().find(same) {
        Some(other) => other.lanes |= mark.lanes,
        None => cell.push(mark),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    #[test]
    fn consecutive_pages_and_blocks_spread_over_the_table() {
        const COUNT: u64 = 1 << 12;
        let hasher = *Memory::new(false).numbers.hasher();
        let buckets = |page: &dyn Fn(u64) -> u64| {
            (0..COUNT).map(|index| hasher.hash_one(page(index)) % COUNT).collect::<HashSet<u64>>().len() as u64
        };
        assert!(buckets(&|index| 0x7f51_f820_0000 / PAGE + index) > COUNT / 4);
        assert!(buckets(&|index| in_shared(index as u32, 0) / PAGE) > COUNT / 4);
    }
}
