//! An access of a warp to global memory: compared with those of its block, and recorded for the comparison of blocks.

use super::blocks::{Grid, Slot};
use super::cell::Now;
use super::mark::Sink;
use super::order::Order;
use super::page::{NONE, Shadow};
use super::span::Row;

/// An access of a warp, and the records that it is compared with.
pub(crate) struct GlobalAccess<'a> {
    pub order: &'a Order,
    pub shadow: &'a mut Shadow,
    pub grid: &'a mut Grid,
    pub now: Now,
    /// The block, as in [`Slot::block`].
    pub block: u32,
    /// The digest of the value that each lane writes.
    pub values: &'a [u32; 32],
    /// The page of the last row, and its places in the grid's records and in those of the block.
    pub last: (u64, usize, usize),
}

impl<'a> GlobalAccess<'a> {
    pub(crate) fn new(
        (order, shadow, grid): (&'a Order, &'a mut Shadow, &'a mut Grid),
        now: Now,
        block: u32,
        values: &'a [u32; 32],
    ) -> GlobalAccess<'a> {
        GlobalAccess { order, shadow, grid, now, block, values, last: (u64::MAX, NONE, NONE) }
    }

    /// Compares and records the accesses of lanes to a page. `sink` receives the races. If several lanes write the same bytes,
    /// they write one value.
    #[inline(always)]
    pub(crate) fn touch(&mut self, number: u64, row: &Row, sink: &mut Sink<'_>) {
        if number != self.last.0 {
            self.last = (number, self.grid.place(number, row.size), NONE);
        }
        let (place, slot) = (self.last.1, Slot { block: self.block, origin: self.now.origin });
        if place == NONE {
            return;
        }
        let others = self.grid.touch_alone(place, row, slot, self.now.clock, self.values);
        if others != 0 {
            self.touch_among_others(number, &row.of(others), slot, sink);
        }
    }

    fn touch_among_others(&mut self, number: u64, row: &Row, slot: Slot, sink: &mut Sink<'_>) {
        let GlobalAccess { order, shadow, grid, now, block, values, last: (_, place, in_block) } = self;
        if *in_block == NONE {
            *in_block = shadow.global_place(number, row.size, |_| *place);
        }
        let page = shadow.global_page(*in_block);
        if page.grid == NONE {
            return;
        }
        grid.expose(*place, row, *block, |exposed| {
            // It has no race with earlier accesses, because there are none of other threads.
            page.touch_or_list(&exposed.row, &exposed.at(now), order, &exposed.values, &mut |_, _| false);
        });
        page.touch_or_list(row, now, order, values, sink);
        grid.touch(*place, row, slot, values);
    }
}
