//! The threads that have last written what waiting threads of a launch read.

use super::Machine;
use super::block::Block;
use super::warp::Waiting;

/// The most bytes between a word that threads read and a written word beside it.
const NEAR: i64 = 32;
/// The most threads of a circle in which each waits for the next one.
const LONGEST: usize = 64;

/// The state of a thread of a launch that did not end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriterState {
    /// It is the thread that reads.
    Reader,
    /// It has ended.
    Ended,
    /// It waits for a word that the reader wrote last, or for a thread that does so.
    WaitsForReader,
    /// It waits at a barrier.
    AtBarrier,
    /// It waits for other memory, or runs.
    Lives,
}

/// The thread that has last written a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Writer {
    /// The number of the instruction.
    pub pc: u32,
    /// The linear number of its block.
    pub block: u64,
    /// The linear number of the thread in the block.
    pub thread: u32,
    /// Its state.
    pub state: WriterState,
}

impl Machine<'_> {
    /// The thread that last wrote what a `reader` of a block reads at an address.
    pub(super) fn writer(&self, blocks: &[&Block], block: &Block, reader: (u64, u32), address: u64) -> Option<Writer> {
        let (pc, number, thread) = self.last_writer(block, address)?;
        let state = self.state_of(blocks, (number, thread), reader);
        Some(Writer { pc, block: number, thread, state })
    }

    /// The nearest word beside that of a reader that a thread has written, with its distance.
    pub(super) fn writer_beside(
        &self,
        blocks: &[&Block],
        block: &Block,
        reader: (u64, u32),
        (address, size): (u64, u32),
    ) -> Option<(i64, Writer)> {
        let size = i64::from(size.max(1));
        let distances = (1..=NEAR / size).flat_map(|words| [words * size, -words * size]);
        distances.into_iter().find_map(|distance| {
            let writer = self.writer(blocks, block, reader, address.checked_add_signed(distance)?)?;
            Some((distance, writer))
        })
    }

    fn state_of(&self, blocks: &[&Block], writer: (u64, u32), reader: (u64, u32)) -> WriterState {
        if writer == reader {
            return WriterState::Reader;
        }
        let mut thread = writer;
        for step in 0..LONGEST {
            let Some((block, next)) = self.awaited_by(blocks, thread) else {
                return if step == 0 { WriterState::Ended } else { WriterState::Lives };
            };
            match next {
                Next::Barrier if step == 0 => return WriterState::AtBarrier,
                Next::Writer(other) if other == reader => return WriterState::WaitsForReader,
                Next::Writer(other) if other != (block, thread.1) => thread = other,
                _ => return WriterState::Lives,
            }
        }
        WriterState::Lives
    }

    /// The block of a thread that has not ended, and what the thread waits for.
    fn awaited_by(&self, blocks: &[&Block], (number, thread): (u64, u32)) -> Option<(u64, Next)> {
        let block = blocks.iter().find(|block| block.number == number)?;
        let warp = block.warps.iter().find(|warp| warp.number == thread / 32 && !warp.fragments.is_empty())?;
        let lane = thread % 32;
        let fragment = warp.fragments.iter().find(|fragment| fragment.mask >> lane & 1 == 1)?;
        if fragment.waiting != Waiting::Nothing {
            return Some((number, Next::Barrier));
        }
        let mut polled = block.polls(warp, fragment).filter(|seen| seen.mask >> lane & 1 == 1);
        let writer = polled.find_map(|seen| self.last_writer(block, seen.addresses[lane as usize]));
        Some((number, writer.map_or(Next::Nothing, |(_, block, thread)| Next::Writer((block, thread)))))
    }
}

/// The thing that a thread waits for.
enum Next {
    /// A barrier, of any kind.
    Barrier,
    /// A word that this thread wrote last.
    Writer((u64, u32)),
    /// Memory that no thread has written, or nothing that is known.
    Nothing,
}
