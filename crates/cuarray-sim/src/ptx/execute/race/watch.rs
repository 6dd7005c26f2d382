//! What the shadows are told: accesses, barriers, fences.
//!
//! Strong accesses (`volatile`, `relaxed`, `acquire`, `release`) are there to synchronize, and are never part of a race. A fence
//! or a release hands on what its warp knows; an atomic operation that answers, and a strong read, take over
//! what was handed on. Which address they are about makes no difference: rather a race is missed than one reported that is none.

use super::super::Machine;
use super::super::memory::{LEFT_OUT, RELEASES, SHARED_WINDOW, STRONG};
use super::cell::{NONE, Now, PAGE, Page, Way, Who, digest};
use super::grid::Slot;
use super::{Race, Watched, access};
use crate::ptx::program::Instruction;

/// What lanes write.
type Values<'a> = &'a dyn Fn(usize) -> u64;

impl Machine<'_> {
    /// Lanes read so many bytes where `locate` has found them.
    #[inline(never)]
    pub(crate) fn watch_read(&mut self, instruction: &Instruction, size: u32) {
        if instruction.c & STRONG != 0 {
            return self.acquire();
        }
        self.touch(instruction.c, size, 0, Way::Read, &|_| 0);
    }

    /// Lanes are about to write elements of so many bytes, `at` bytes behind where `locate` has found them.
    #[inline(never)]
    pub(crate) fn watch_write(&mut self, instruction: &Instruction, size: u32, at: u32, values: Values<'_>) {
        if instruction.c & RELEASES != 0 && at == 0 {
            self.release_known();
        }
        if instruction.c & STRONG == 0 {
            self.touch(instruction.c, size, at, Way::Write, values);
        }
    }

    /// Lanes are about to do an atomic operation where `locate` has found the words.
    #[inline(never)]
    pub(crate) fn watch_atomic(&mut self, instruction: &Instruction, size: u32) {
        if instruction.c & RELEASES != 0 {
            self.release_known();
        }
        if instruction.d != LEFT_OUT {
            self.acquire();
        }
        self.touch(instruction.c, size, 0, Way::Atomic, &|_| 0);
    }

    /// A fence.
    pub(crate) fn release_known(&mut self) {
        let (block, warp) = (self.block.number, self.warp.number);
        let Some(watched) = self.block.watched.as_mut() else { return };
        watched.order.release(warp);
        match self.races.releaser {
            None => self.races.releaser = Some(block),
            Some(first) => self.races.releasers |= first != block,
        }
    }

    /// The warp takes over what was handed on.
    fn acquire(&mut self) {
        let Some(watched) = self.block.watched.as_mut() else { return };
        watched.order.acquire(self.warp.number);
        let races = &self.races;
        watched.exempt |= races.releasers || races.releaser.is_some_and(|block| block != self.block.number);
    }

    /// Groups of lanes of the warp have waited for one another.
    pub(crate) fn lanes_met(&mut self, groups: impl Iterator<Item = u32>) {
        let (warp, live) = (self.warp.number, !self.warp.dead);
        if let Some(watched) = self.block.watched.as_mut() {
            groups.for_each(|group| watched.order.lanes_meet(warp, group, live));
        }
    }

    /// Memory has been given to somebody: who had it before does not matter.
    pub(crate) fn forget_touches(&mut self, address: u64, size: u64) {
        if let Some(watched) = self.block.watched.as_mut().filter(|_| address != 0 && size != 0) {
            watched.shadow.forget(address, size);
            self.races.grid.forget(address, size);
        }
    }

    /// The grid's barrier was completed: nothing that was done before races with what comes.
    #[cold]
    fn grid_met(&mut self) {
        self.races.compare_blocks(self.launch);
        self.races.grid.clear();
        (self.races.releaser, self.races.releasers) = (None, false);
        self.races.grid_turn = self.grid.turn;
    }

    /// Compares the lanes' accesses with others, in whichever memory they are.
    #[inline(always)]
    fn touch(&mut self, mode: u32, size: u32, at: u32, way: Way, values: Values<'_>) {
        if self.races.grid_turn != self.grid.turn {
            self.grid_met();
        }
        let mask = self.mask;
        match mode & 7 {
            1 => self.touch_in::<false>(mask, size, at, way, values),
            2 => self.touch_in::<true>(mask, size, at, way, values),
            0 => {
                let of = |window: u64| {
                    let lanes = (0..32).filter(|lane| self.addresses[*lane] >> 56 == window);
                    lanes.fold(0, |lanes, lane| lanes | 1 << lane) & mask
                };
                let (global, shared) = (of(0), of(SHARED_WINDOW >> 56));
                if global != 0 {
                    self.touch_in::<false>(global, size, at, way, values);
                }
                if shared != 0 {
                    self.touch_in::<true>(shared, size, at, way, values);
                }
            }
            _ => {}
        }
    }

    #[inline(always)]
    fn touch_in<const SHARED: bool>(&mut self, mask: u32, size: u32, at: u32, way: Way, values: Values<'_>) {
        let shared_bytes = self.block.shared_bytes();
        let Some(watched) = self.block.watched.as_mut() else { return };
        let Watched { order, shadow, exempt } = &mut **watched;
        if order.grid_met(self.grid.turn) {
            *exempt = false;
        }
        let (warp, block) = (self.warp.number, self.block.number);
        let who = Who::new(warp * 32, self.pc - 1, way);
        let mut now = Now {
            who,
            clock: order.now(warp),
            warp,
            lane: 0,
            settled: order.settled(warp) << 5 | 31,
            first: order.first() << 5,
        };
        let mut last = u64::MAX;
        let mut page: &mut Page = &mut Page::default();
        let mut found: Option<Race> = None;
        // The address of the lane before, and how many lanes in a row had it.
        let mut same = (u64::MAX, 0);
        let mut rest = mask;
        while rest != 0 {
            let lane = rest.trailing_zeros();
            rest &= rest - 1;
            let mut address = self.addresses[lane as usize].wrapping_add(at.into());
            if SHARED {
                address &= SHARED_WINDOW - 1;
            }
            if way == Way::Read {
                same = (address, if same.0 == address { same.1 + 1 } else { 0 });
                if same.1 >= 2 {
                    continue;
                }
            }
            let number = address / PAGE;
            if number != last {
                last = number;
                page = if SHARED {
                    shadow.shared_page(number, size, shared_bytes)
                } else {
                    let grid = &mut self.races.grid;
                    shadow.global_page(number, size, |number| grid.place(number, size))
                };
            }
            if page.grid == NONE && !SHARED {
                continue;
            }
            page.fit(size);
            now.lane = lane;
            now.who = Who(who.0 + lane);
            let mut first = way == Way::Write;
            let pieces = page.pieces(address, size);
            let value = if way == Way::Write { digest(values(lane as usize)) } else { 0 };
            for cell in &mut page.cells[pieces] {
                let met = if way == Way::Read { cell.read(&now, order) } else { cell.write(&now, order, value) };
                first |= met.first;
                let Some(with) = met.with else { continue };
                let accesses = [access(block, with), access(block, now.who)];
                found.get_or_insert(Race { shared: SHARED, address, size, accesses });
            }
            if first && !SHARED && !*exempt {
                let slot = Slot { block: block as u32, who: now.who };
                self.races.grid.touch(page.grid, address, size, slot, value);
            }
        }
        if let Some(race) = found {
            self.races.add(self.launch, race, false);
        }
    }
}
