//! MTGP32 with the exponent 11213, by M. Saito and M. Matsumoto (2013): Mersenne Twisters whose parameters differ.
//!
//! cuRAND's sequences take turns, with 256 results each. `mtgp.py` packs the authors' parameters, and has the form of the packed numbers.

use crate::parallel;
use std::sync::{Mutex, PoisonError};

/// The words that the recursion reaches back.
const SIZE: usize = 351;
/// The length of the ring of states: a power of two, because indices are taken modulo it.
const RING: usize = 512;
/// The upper bits that the oldest word gives: 32 times the size, without the exponent, is 19.
const MASK: u32 = 0xfff8_0000;
/// The results that a sequence gives in turn.
const TURN: u64 = 256;
/// The bytes of a packed set of parameters.
const PACKED_SIZE: usize = 36;

static PACKED: &[u8] = include_bytes!("parameters.bin");

/// The parameters of a sequence.
struct Parameters {
    position: usize,
    shifts: [u32; 2],
    recursion: [u32; 16],
    tempering: [u32; 16],
}

impl Parameters {
    fn new(sequence: u64) -> Parameters {
        let start = sequence as usize * PACKED_SIZE;
        let byte = |at: usize| PACKED.get(start + at).copied().unwrap_or(0);
        let word = |index: usize| u32::from_le_bytes(std::array::from_fn(|part| byte(4 + 4 * index + part)));
        // Rows are sums of the rows of their bits.
        let rows = |first: usize| {
            std::array::from_fn(|row| {
                (0..4).filter(|bit| row >> bit & 1 == 1).fold(0, |sum, bit| sum ^ word(first + bit))
            })
        };
        Parameters {
            position: usize::from(u16::from_le_bytes([byte(0), byte(1)])),
            shifts: [byte(2).into(), byte(3).into()],
            recursion: rows(0),
            tempering: rows(4),
        }
    }
}

/// A sequence, and how far it is.
struct Twister {
    parameters: Parameters,
    words: Box<[u32; RING]>,
    /// The results that were drawn.
    drawn: u64,
}

impl Twister {
    /// The first state of a sequence, as cuRAND's header defines it.
    fn new(sequence: u64, seed: u64) -> Twister {
        let parameters = Parameters::new(sequence);
        let seed = (seed ^ (seed >> 32)) as u32;
        let hidden = parameters.recursion[4] ^ (parameters.recursion[8] << 16);
        let sum = hidden.wrapping_add(hidden >> 16);
        let byte = sum.wrapping_add(sum >> 8) & 0xff;
        let mut words = Box::new([0; RING]);
        words[..SIZE].fill(byte * 0x0101_0101);
        words[0] = seed.wrapping_add(sequence as u32).wrapping_add(1);
        words[1] = hidden;
        for index in 1..SIZE {
            let before = words[index - 1];
            words[index] ^= 1_812_433_253_u32.wrapping_mul(before ^ (before >> 30)).wrapping_add(index as u32);
        }
        Twister { parameters, words, drawn: 0 }
    }

    fn bits(&mut self) -> u32 {
        let at = self.drawn as usize;
        let of = |words: &[u32; RING], distance: usize| words[at.wrapping_add(distance) % RING];
        let Parameters { position, shifts: [first, second], recursion, tempering } = &self.parameters;
        let mixed = (of(&self.words, 0) & MASK) ^ of(&self.words, 1);
        let mixed = mixed ^ (mixed << first);
        let mixed = mixed ^ (of(&self.words, *position) >> second);
        let next = mixed ^ recursion[mixed as usize & 15];
        let helper = of(&self.words, position - 1);
        let helper = helper ^ (helper >> 16);
        let helper = helper ^ (helper >> 8);
        self.words[at.wrapping_add(SIZE) % RING] = next;
        self.drawn += 1;
        next ^ tempering[helper as usize & 15]
    }
}

/// The sequences of a seed, which take turns.
pub(crate) struct Sequences {
    seed: u64,
    twisters: Mutex<Vec<Twister>>,
    count: u64,
}

impl Sequences {
    pub(crate) fn new(seed: u64, count: u64) -> Sequences {
        Sequences { seed, twisters: Mutex::new(Vec::new()), count }
    }

    /// Writes the results from the index `first` on.
    pub(crate) fn fill<T: Send>(&self, first: u64, out: &mut [T], of: impl Fn(u32) -> T + Sync) {
        let mut twisters = self.twisters.lock().unwrap_or_else(PoisonError::into_inner);
        if twisters.is_empty() {
            *twisters = (0..self.count).map(|sequence| Twister::new(sequence, self.seed)).collect();
        }
        // The turns of each sequence: indices within the sequence, and places of the results.
        let mut turns: Vec<Vec<(u64, &mut [T])>> = twisters.iter().map(|_| Vec::new()).collect();
        let threads = parallel::threads(out.len());
        let (mut at, mut rest) = (first, out);
        while !rest.is_empty() {
            let (turn, before) = (at / TURN, at % TURN);
            let size = rest.len().min((TURN - before) as usize);
            let (part, later) = rest.split_at_mut(size);
            if let Some(turns) = turns.get_mut((turn % self.count) as usize) {
                turns.push((turn / self.count * TURN + before, part));
            }
            (at, rest) = (at + size as u64, later);
        }
        let mut work: Vec<_> = twisters.iter_mut().zip(turns).enumerate().collect();
        let own = work.len().div_ceil(threads);
        parallel::each(work.chunks_mut(own).collect(), |part: &mut [_]| {
            for (sequence, (twister, turns)) in part {
                for (from, places) in turns {
                    if twister.drawn > *from {
                        // A graph that is launched again takes earlier results.
                        **twister = Twister::new(*sequence as u64, self.seed);
                    }
                    while twister.drawn < *from {
                        let _ = twister.bits();
                    }
                    places.iter_mut().for_each(|place| *place = of(twister.bits()));
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{PACKED, PACKED_SIZE, Parameters, SIZE, Sequences};

    #[test]
    fn each_set_has_its_parameters() {
        assert_eq!(PACKED.len(), 192 * PACKED_SIZE);
        for sequence in 0..192 {
            let Parameters { position, shifts: [first, second], .. } = Parameters::new(sequence);
            assert!((1..SIZE).contains(&position) && first < 32 && second < 32);
        }
    }

    #[test]
    fn sequences_take_turns_of_256_results() {
        let (mut four, mut one) = ([0; 2048], [0; 512]);
        Sequences::new(7, 4).fill(0, &mut four, |bits| bits);
        Sequences::new(7, 1).fill(0, &mut one, |bits| bits);
        assert_eq!((&four[..256], &four[1024..1280]), (&one[..256], &one[256..]));
    }

    #[test]
    fn earlier_results_can_be_drawn_again() {
        let sequences = Sequences::new(7, 64);
        let (mut later, mut all) = ([0; 900], [0; 40_000]);
        sequences.fill(39_100, &mut later, |bits| bits);
        sequences.fill(0, &mut all, |bits| bits);
        assert_eq!(all[39_100..], later);
    }
}
