//! Pageable memory that devices access: it is watched from the launch that receives it, or the first access of a kernel, until the host has
//! waited.

use super::{HostAccess, MemoryKind, Use, heap_block, whole_pages};
use crate::pages::process_map::ProcessMap;
use cuarray_races::{Clock, Operation};
use std::ops::Range;
use std::sync::Arc;

impl HostAccess {
    /// Starts to watch those of these bytes of pageable memory that fill pages and are not watched yet.
    fn add_pageable(&mut self, bytes: &Range<u64>, map: &ProcessMap) {
        let mut next = bytes.start;
        let before = self.areas.range(..bytes.start).next_back().map(|(_, area)| area.behind);
        next = next.max(before.unwrap_or(0));
        while next < bytes.end {
            let following = self.areas.range(next..).next().map(|(address, area)| (*address, area.behind));
            let (end, behind) = following.filter(|(start, _)| *start < bytes.end).unwrap_or((bytes.end, bytes.end));
            let pages = whole_pages(&(next..end)).filter(|pages| map.is_ordinary(pages.0..pages.1));
            if pages.is_some() {
                self.watch(next, end - next, pages, MemoryKind::Pageable);
            }
            next = behind;
        }
    }

    /// Records that a kernel has read or written pageable memory: each list of bytes with whether they were written.
    pub(crate) fn used_pageable(
        &mut self,
        uses: &[(Range<u64>, bool)],
        operation: &Arc<Operation>,
        clock: &Clock,
        last: bool,
    ) {
        let filling = |(bytes, _): &&(Range<u64>, bool)| whole_pages(bytes).is_some();
        if !self.on() || !uses.iter().any(|of| filling(&of)) {
            return;
        }
        let map = ProcessMap::read();
        for (bytes, writes) in uses.iter().filter(filling) {
            self.add_pageable(bytes, &map);
            let parts: Vec<(u64, u64)> = self.parts(bytes).collect();
            parts.into_iter().for_each(|part| self.used(part, *writes, operation, clock, last));
        }
    }

    /// The parts of a range that lie in areas.
    fn parts(&self, bytes: &Range<u64>) -> impl Iterator<Item = (u64, u64)> {
        let first = self.areas.range(..bytes.start).next_back();
        let areas = first.into_iter().chain(self.areas.range(bytes.clone()));
        let parts = areas.map(|(address, area)| (bytes.start.max(*address), bytes.end.min(area.behind)));
        parts.filter(|(start, end)| start < end)
    }

    /// Records that a kernel received addresses that may be those of pageable memory. It may access the whole of a block of `malloc`
    /// that begins at one.
    pub(crate) fn given_pageable(&mut self, addresses: &[u64], operation: &Arc<Operation>, clock: &Clock, last: bool) {
        if !self.on() {
            return;
        }
        let blocks: Vec<Range<u64>> =
            addresses.iter().filter_map(|address| heap_block::starting_at(*address)).collect();
        if !blocks.is_empty() {
            let map = ProcessMap::read();
            for block in &blocks {
                self.add_pageable(block, &map);
                for bytes in self.parts(block).collect::<Vec<_>>() {
                    let (operation, clock) = (operation.clone(), clock.clone());
                    self.add_use(Use { bytes, writes: true, unknown: true, operation, clock }, last);
                }
            }
        }
        addresses.iter().for_each(|address| self.given(*address, operation, clock, last));
    }
}
