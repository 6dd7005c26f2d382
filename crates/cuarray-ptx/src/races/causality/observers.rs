//! The threads that have seen the writes of a location.

use super::mark::Actor;
use super::times::thread;
use super::view::View;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The most observers that are searched without a table.
const FEW: usize = 8;

/// A strong read: it has seen the writes with these numbers.
#[derive(Clone, Copy)]
struct Observer {
    actor: Actor,
    stamp: u32,
    from: u32,
    to: u32,
    /// Whether its thread obtains the value, as that of a reduction does not.
    result: bool,
}

/// The strong reads of a location.
#[derive(Clone, Default)]
pub(super) struct Observers {
    list: SmallVec<[Observer; 2]>,
    /// The last observer of each thread, once there are more than a few.
    latest: FxHashMap<u64, usize>,
}

fn number(actor: Actor) -> u64 {
    thread(actor.block, actor.warp, actor.lane)
}

impl Observers {
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.latest.clear();
    }

    fn last_of(&self, actor: Actor) -> Option<usize> {
        match self.list.len() <= FEW {
            true => self.list.iter().rposition(|observer| observer.actor == actor),
            false => self.latest.get(&number(actor)).copied(),
        }
    }

    /// Whether a thread has read the location before.
    pub(super) fn have(&self, actor: Actor) -> bool {
        self.last_of(actor).is_some()
    }

    /// Remembers that a thread has seen the writes with some numbers.
    pub(super) fn note(&mut self, actor: Actor, stamp: u32, (from, to): (u32, u32), result: bool) {
        if let Some(known) = self.last_of(actor).map(|last| &mut self.list[last])
            && (known.from, known.result) == (from, result)
            && (known.stamp == stamp || known.to == to)
        {
            known.to = to;
            return;
        }
        self.list.push(Observer { actor, stamp, from, to, result });
        match self.list.len() {
            few if few <= FEW => {}
            one_more if one_more == FEW + 1 => {
                self.latest.extend(self.list.iter().enumerate().map(|(at, observer)| (number(observer.actor), at)));
            }
            many => _ = self.latest.insert(number(actor), many - 1),
        }
    }

    /// Whether the write with a number precedes an access of a thread, because a read that has seen the write precedes it.
    pub(super) fn precede(&self, actor: Actor, view: &View, write: u32, strict: bool) -> bool {
        self.list.iter().any(|observer| {
            let by = observer.actor;
            (observer.from <= write || !strict && observer.result)
                && write <= observer.to
                && (by == actor || view.unknown((by.block, by.warp), 1 << by.lane, observer.stamp) == 0)
        })
    }
}
