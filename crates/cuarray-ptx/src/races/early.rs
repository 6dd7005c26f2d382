//! Accesses that come before their thread waits for the thread of the other access.
//!
//! A thread that reads data and then waits for the flag of the data races, although it does wait. Whether it waits is known when it
//! ends: it knows the other access then.

use super::Race;
use super::causality::mark::Actor;
use super::causality::times::Times;

/// The most races that are remembered.
const MOST: usize = 64;

/// Races between blocks without a known reason, whose threads may still wait for each other.
#[derive(Default)]
pub(crate) struct Early(Vec<(Race, [(Actor, u32); 2])>);

impl Early {
    /// Remembers a race with the threads of its accesses and their times.
    pub(crate) fn add(&mut self, race: Race, sides: [(Actor, u32); 2]) {
        if self.0.len() < MOST {
            self.0.push((race, sides));
        }
    }

    /// Takes the races with an access of one of the ending lanes of a warp that knows the other access now, and the index of its access.
    pub(crate) fn end<'t>(
        &mut self,
        height: u32,
        (block, warp, lanes): (u32, u32, u32),
        view: impl Fn(u32) -> &'t Times,
    ) -> Vec<(Race, usize)> {
        let mut found = Vec::new();
        self.0.retain(|(race, sides)| {
            let waited = [(0, 1), (1, 0)].into_iter().find(|(own, other)| {
                let ((by, _), (with, time)) = (sides[*own], sides[*other]);
                let ends = (by.block, by.warp) == (block, warp) && lanes >> by.lane & 1 == 1;
                ends && view(by.lane).unknown(height, (with.block, with.warp), 1 << with.lane, time) == 0
            });
            found.extend(waited.map(|(own, _)| (*race, own)));
            waited.is_none()
        });
        found
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
