//! The async proxy, by which bulk copies access memory.
//!
//! Causality orders a thread's write before a bulk copy that reads it only if a proxy fence is on the path from one to the other
//! (PTX manual, 8.9.2 and 9.7.9.25). Here a fence counts if it is ordered after the write, whichever thread executes it. Only writes
//! before reads are compared, as in the samples of the CUDA programming guide: a copy that overwrites what threads have read or written
//! has no fence there.

use super::Why;
use super::mark::{Actor, Conflict, Mark};
use super::memory::{Memory, PAGE, is_shared};
use super::threads::Threads;
use super::times::Times;
use super::view::View;
use crate::races::cell::Kind;

/// A set of memory that a proxy fence applies to, as bits.
pub(crate) const SHARED: u8 = 1;
pub(crate) const GLOBAL: u8 = 2;

/// The accesses that a proxy fence follows.
#[derive(Default)]
pub(super) struct Fenced {
    shared: Times,
    global: Times,
}

impl Memory {
    /// Executes a proxy fence by lanes of a warp, for the spaces in `spaces`.
    pub(crate) fn fence_proxies(&mut self, threads: &Threads, warp: u32, lanes: u32, spaces: u8) {
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            let known = threads.snapshot(warp, lane);
            for (space, fenced) in [(SHARED, &mut self.fenced.shared), (GLOBAL, &mut self.fenced.global)] {
                if spaces & space != 0 {
                    fenced.join(&known);
                }
            }
        }
        threads.clock.tick();
    }

    /// Finds writes of threads that a bulk copy reads, and that no proxy fence follows: one for each instruction.
    pub(crate) fn read_by_copy(
        &self,
        threads: &Threads,
        actor: Actor,
        (address, size): (u64, u64),
        found: &mut Vec<Conflict>,
    ) {
        let shared = is_shared(address);
        let known = threads.of(actor.warp, actor.lane).known_of(shared);
        let view = &View::new(known, threads.height, actor.block);
        let fenced = if shared { self.fenced.shared.of_shared() } else { self.fenced.global.clone() };
        let mut check = |mark: Mark| {
            if mark.kind == Kind::Read || mark.by_copy || found.iter().any(|one| one.mark.pc == mark.pc) {
                return;
            }
            // Without any order, the write races with the copy itself.
            let place = (mark.block, u32::from(mark.warp));
            let ordered = mark.lanes & !mark.unknown(view, actor);
            let unfenced = fenced.unknown(threads.height, place, ordered, mark.stamp);
            if unfenced != 0 {
                found.push(Conflict { mark, lane: unfenced.trailing_zeros(), why: Some(Why::NoProxyFence) });
            }
        };
        for number in address / PAGE..=(address + size - 1) / PAGE {
            let Some(page) = self.known_page(number) else { continue };
            let start = address.max(number * PAGE) - number * PAGE;
            let end = (address + size).min((number + 1) * PAGE) - number * PAGE;
            page.accesses(start as u32, (end - start) as u32).for_each(&mut check);
        }
    }
}
