//! Words of shared memory that the threads of one block update without handing anything over.
//!
//! Such an operation changes what no thread knows. So it is listed, and a later access is compared with all operations of the word at once,
//! as if they had the time of the newest one. If that is not ordered before it, the word becomes a [`Location`], with the records that it
//! would have if each operation had been made there.

use super::location::Location;
use super::mark::{Actor, Mark};
use super::threads::{Missed, Scope};
use super::view::View;
use super::{Strong, Why};
use crate::races::cell::Kind;

/// The size of a word in bytes.
pub(super) const WORD: u32 = 4;
/// The most listed operations of a page that are kept without a look for those that a barrier has ordered.
const MOST: usize = 2048;
/// The place in the list before the first one.
const NONE: u32 = u32::MAX;

/// A strong operation of a lane on a word.
#[derive(Clone, Copy)]
struct Listed {
    /// The place of the word's operation before it.
    before: u32,
    stamp: u32,
    pc: u32,
    warp: u8,
    lane: u8,
    kind: Kind,
    scope: Scope,
    result: bool,
}

/// The last write of a word.
#[derive(Clone, Copy)]
struct LastWrite {
    warp: u8,
    lane: u8,
    /// Whether it has not read another strong write.
    is_first: bool,
    stamp: u32,
}

/// The operations of a word.
#[derive(Clone, Copy)]
struct Word {
    /// The place of the newest operation.
    last: u32,
    newest: u32,
    /// The lanes, and the warp of all of them unless there are several.
    lanes: u32,
    warp: u8,
    several: bool,
    written: Option<LastWrite>,
}

const UNUSED: Word = Word { last: NONE, newest: 0, lanes: 0, warp: 0, several: false, written: None };

/// The words of a page.
#[derive(Default)]
pub(super) struct Words {
    block: u32,
    words: Vec<Word>,
    list: Vec<Listed>,
}

/// The words of a page of `size` bytes that an access overlaps.
fn of(offset: u32, size: u32) -> std::ops::Range<usize> {
    (offset / WORD) as usize..((offset + size - 1) / WORD) as usize + 1
}

impl Words {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.list.clear();
    }

    /// Drops the operations on words that are `inside` a range.
    pub(super) fn forget(&mut self, inside: impl Fn(u64) -> bool) {
        let words = self.words.iter_mut().enumerate();
        words.filter(|(index, _)| inside(*index as u64 * u64::from(WORD))).for_each(|(_, word)| *word = UNUSED);
    }

    /// Whether all operations on the bytes of an access are ordered before it. `false` also for a write of a part of a word, as
    /// [`overwrite`](Words::overwrite) drops whole words.
    #[inline]
    pub(super) fn are_behind(&self, (offset, size): (u32, u32), view: &View, actor: Actor, kind: Kind) -> bool {
        if self.list.is_empty() {
            return true;
        }
        let is_whole = kind == Kind::Read || (offset | size).is_multiple_of(WORD);
        // An access may reach the next page.
        self.words.get(of(offset, size)).is_some_and(|words| {
            words.iter().filter(|word| word.last != NONE).all(|word| {
                is_whole
                    && (view.has_settled(self.block, word.newest)
                        || !word.several && self.mark(word).unknown(view, actor) == 0)
            })
        })
    }

    /// Drops the operations on whole words before a plain write.
    #[inline]
    pub(super) fn overwrite(&mut self, offset: u32, size: u32) {
        if !self.list.is_empty() {
            self.words[of(offset, size)].fill(UNUSED);
        }
    }

    /// All operations on a word as one access.
    #[inline(always)]
    fn mark(&self, word: &Word) -> Mark {
        let (block, stamp, lanes, warp) = (self.block, word.newest, word.lanes, word.warp);
        Mark { block, pc: 0, stamp, lanes, value: 0, warp, kind: Kind::Atomic, by_copy: false, read_only: false }
    }

    /// Whether there is place for one more operation, after those are dropped that a barrier has ordered.
    #[inline]
    pub(super) fn has_place(&mut self, view: &View) -> bool {
        if self.list.len() < MOST {
            return true;
        }
        let block = self.block;
        let settled = self.words.iter_mut().filter(|word| view.has_settled(block, word.newest));
        settled.for_each(|word| *word = UNUSED);
        let is_done = self.words.iter().all(|word| word.last == NONE);
        if is_done {
            self.list.clear();
        }
        is_done
    }

    /// Lists an operation. Returns what its thread has seen without a fence, if it has seen a write of another one.
    #[inline]
    pub(super) fn list(
        &mut self,
        offset: u32,
        words: u32,
        view: &View,
        actor: Actor,
        (mark, op): (&Mark, Strong),
    ) -> Option<Missed> {
        if self.words.is_empty() {
            self.block = actor.block;
            self.words.resize(words as usize, UNUSED);
        }
        let word = &mut self.words[(offset / WORD) as usize];
        if word.last != NONE && op.kind != Kind::Read && view.has_settled(actor.block, word.newest) {
            // An access that races with those before the barrier races with this write too.
            *word = Word { written: word.written, ..UNUSED };
        }
        let (warp, lane) = (mark.warp, actor.lane as u8);
        let listed = Listed {
            before: word.last,
            stamp: mark.stamp,
            pc: mark.pc,
            warp,
            lane,
            kind: op.kind,
            scope: op.scope,
            result: op.result,
        };
        word.several |= word.lanes != 0 && word.warp != warp;
        (word.last, word.newest, word.warp) = (self.list.len() as u32, mark.stamp, warp);
        word.lanes |= 1 << lane;
        self.list.push(listed);
        let seen = word.written;
        if op.kind != Kind::Read {
            let is_first = op.kind != Kind::Atomic || seen.is_none();
            word.written = Some(LastWrite { warp, lane, is_first, stamp: mark.stamp });
        }
        let other =
            seen.filter(|write| op.kind != Kind::Write && op.result && (write.warp, write.lane) != (warp, lane))?;
        Some(Missed { block: other.is_first.then_some(actor.block), why: Why::NoFence, written: other.stamp })
    }

    /// The operations on a word, in their order.
    fn operations(&self, index: usize) -> Vec<Listed> {
        let mut next = self.words.get(index).map_or(NONE, |word| word.last);
        let mut operations = Vec::new();
        while next != NONE {
            operations.push(self.list[next as usize]);
            next = self.list[next as usize].before;
        }
        operations.reverse();
        operations
    }

    fn mark_of(&self, listed: &Listed) -> Mark {
        let Listed { stamp, pc, warp, kind, .. } = *listed;
        let (block, lanes) = (self.block, 1 << listed.lane);
        Mark { block, pc, stamp, lanes, value: 0, warp, kind, by_copy: false, read_only: false }
    }

    /// The operations on the words that a range overlaps.
    pub(super) fn accesses(&self, offset: u32, size: u32) -> impl Iterator<Item = Mark> {
        of(offset, size).flat_map(|index| self.operations(index)).map(|listed| self.mark_of(&listed))
    }

    /// The words with operations that a range overlaps.
    pub(super) fn used(&self, offset: u32, size: u32) -> impl Iterator<Item = u32> + use<> {
        let range = if self.list.is_empty() { 0..0 } else { of(offset, size) };
        let used: Vec<u32> = range
            .filter(|index| self.words.get(*index).is_some_and(|word| word.last != NONE))
            .map(|index| index as u32)
            .collect();
        used.into_iter()
    }

    /// Moves the operations on a word to a location.
    pub(super) fn move_to(&mut self, index: u32, location: &mut Location) {
        for listed in self.operations(index as usize) {
            let actor = Actor { block: self.block, warp: listed.warp.into(), lane: listed.lane.into() };
            location.repeat(actor, self.mark_of(&listed), listed.scope, listed.result);
        }
        self.words[index as usize] = UNUSED;
    }
}
