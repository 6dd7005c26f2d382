//! The bytes of local memory that the threads of a warp have written.

use super::POISON;
use crate::machine::Machine;
use crate::machine::misuse::MisuseKind;
use crate::machine::warp::Warp;
use crate::races::span::bits;

/// For each word of 64 bits of a thread, the written bytes of 32 lanes, a bit for each.
#[derive(Default)]
pub(crate) struct Written(Vec<[u8; 32]>);

/// The words that `size` bytes at `address` are in, with the bits of the bytes.
fn words(address: u64, size: u32) -> impl Iterator<Item = (usize, u8)> {
    let end = address + u64::from(size);
    (address / 8..end.div_ceil(8)).map(move |word| {
        let (first, behind) = (address.max(word * 8) % 8, end.min(word * 8 + 8) - word * 8);
        (word as usize, (0xff_u8 >> (8 - (behind - first))) << first)
    })
}

impl Written {
    /// Marks bytes of the lanes as written.
    pub(super) fn add(&mut self, lanes: u32, (address, size): (u64, u32)) {
        for (word, bytes) in words(address, size) {
            match lanes {
                u32::MAX => self.0[word].iter_mut().for_each(|written| *written |= bytes),
                _ => bits(lanes).for_each(|lane| self.0[word][lane as usize] |= bytes),
            }
        }
    }

    /// Whether all lanes have written all bytes.
    fn has(&self, lanes: u32, (address, size): (u64, u32)) -> bool {
        words(address, size).all(|(word, bytes)| match lanes {
            u32::MAX => self.0[word].iter().all(|written| written & bytes == bytes),
            _ => bits(lanes).all(|lane| self.0[word][lane as usize] & bytes == bytes),
        })
    }

    /// Whether all lanes have written all bytes of the words from `start` to `end`.
    #[inline(always)]
    fn is_full(&self, start: u64, end: u64) -> bool {
        self.0[start as usize / 8..end.div_ceil(8) as usize].iter().all(|word| *word == [0xff; 32])
    }

    /// Marks bytes of one word of a lane as written.
    #[inline(always)]
    fn add_aligned(&mut self, lane: usize, address: u64, size: u32) {
        self.0[address as usize / 8][lane] |= (0xff_u8 >> (8 - size)) << (address % 8);
    }

    /// Whether a lane has written bytes of one word.
    #[inline(always)]
    fn has_aligned(&self, lane: usize, address: u64, size: u32) -> bool {
        !self.0[address as usize / 8][lane] & (0xff_u8 >> (8 - size)) << (address % 8) == 0
    }

    /// Whether a lane has written any of the bytes.
    fn has_any(&self, lane: u32, (address, size): (u64, u32)) -> bool {
        words(address, size).any(|(word, bytes)| self.0[word][lane as usize] & bytes != 0)
    }

    /// Makes words of the lanes unwritten, as a call does with its variables.
    pub(in crate::machine) fn forget(&mut self, lanes: u32, (start, end): (u32, u32)) {
        for word in &mut self.0[start as usize / 8..end as usize / 8] {
            bits(lanes).for_each(|lane| word[lane as usize] = 0);
        }
    }

    /// Gives a word of some lanes the state of another one.
    pub(in crate::machine) fn copy(&mut self, lanes: u32, from: usize, to: usize) {
        let (from, to) = (self.0[from], &mut self.0[to]);
        (0..32).filter(|lane| lanes >> lane & 1 == 1).for_each(|lane| to[lane] = from[lane]);
    }

    /// Marks a word as written.
    pub(in crate::machine) fn add_word(&mut self, lane: u32, address: u32) {
        self.add(1 << lane, (address.into(), 8));
    }

    /// The bits of up to 8 bytes that a lane has not written.
    pub(super) fn unwritten_bits(&self, lane: u32, (address, size): (u64, u32)) -> u64 {
        let is_written = |byte: u64| {
            let at = address + byte;
            self.0[(at / 8) as usize][lane as usize] >> (at % 8) & 1 == 1
        };
        (0..u64::from(size)).filter(|byte| !is_written(*byte)).fold(0, |bits, byte| bits | 0xff << (8 * byte))
    }
}

impl Warp {
    /// Makes all local memory unwritten, with room for `bytes` of each thread.
    pub(in crate::machine) fn begin_local(&mut self, bytes: u32) {
        self.local.clear();
        self.written.0.clear();
        self.grow_local(bytes);
    }

    /// Gives each thread at least `bytes` of local memory.
    pub(in crate::machine) fn grow_local(&mut self, bytes: u32) {
        let words = bytes as usize / 8;
        if self.written.0.len() < words {
            self.local.resize(words * 32, POISON);
            self.written.0.resize(words, [0; 32]);
        }
    }
}

impl Machine<'_> {
    /// Records an access of the lanes to local memory, at the least and the greatest address.
    pub(in crate::machine) fn note_local(&mut self, (low, high): (u64, u64), size: u32, write: bool) {
        if low == high {
            return self.note_local_lanes(self.mask, low, size, write);
        }
        /// The most bytes of an array that are looked at together.
        const NEAR: u64 = 256;
        let end = high + u64::from(size);
        if end - low <= NEAR && !self.recorder.updates && self.warp.written.is_full(low, end) {
            return;
        }
        // An aligned access of so few bytes is in one word.
        if size <= 8 && self.unused == 0 && !self.recorder.updates {
            let (addresses, written) = (&self.addresses, &mut self.warp.written);
            let mut lanes = bits(self.mask).map(|lane| lane as usize);
            if write {
                return lanes.for_each(|lane| written.add_aligned(lane, addresses[lane], size));
            }
            if lanes.all(|lane| written.has_aligned(lane, addresses[lane], size)) {
                return;
            }
        }
        bits(self.mask).for_each(|lane| self.note_local_lanes(1 << lane, self.addresses[lane as usize], size, write));
    }

    /// Records an access of lanes to the same address of their local memory.
    pub(in crate::machine) fn note_local_lanes(&mut self, lanes: u32, address: u64, size: u32, write: bool) {
        let bytes = (address, size - self.unused);
        let reads = !write || self.recorder.updates;
        let mut follows = false;
        if reads && !self.warp.written.has(lanes, bytes) {
            follows = self.follows_accesses();
            if follows {
                self.begin_undefined();
            } else if let Some(lane) = bits(lanes).find(|lane| !self.warp.written.has_any(*lane, bytes)) {
                self.misuse(MisuseKind::UnwrittenLocal, lane, bytes, write, 0);
            }
        }
        // A followed update of undefined bytes may leave them undefined.
        if write && !follows {
            self.warp.written.add(lanes, bytes);
        }
    }
}
