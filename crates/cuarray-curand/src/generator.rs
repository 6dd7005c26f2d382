//! Generators: their type, position and stream, and the enqueueing of their results.

use crate::distribution::{
    Draw, Kind, inverted, inverted_double, inverted_wide, normal_pair, normal_pair_double, probability, quasi_double,
    quasi_double_wide, uniform, uniform_double,
};
use crate::parallel;
use crate::sequences::lanes::{Lanes, State};
use crate::sequences::mrg32k3a::Mrg;
use crate::sequences::mt19937;
use crate::sequences::mtgp32;
use crate::sequences::philox;
use crate::sequences::visits::{Steps, Visits};
use crate::sequences::xorwow::{Jumps, Xorwow};
use crate::sobol::{self, Form};
use crate::status::{Outcome, curandStatus_t};
use std::sync::Arc;

/// The algorithm of a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Xorwow,
    Mrg32k3a,
    Mt19937,
    Mtgp32,
    Philox,
    Sobol32(Form),
    Sobol64(Form),
}

impl Algorithm {
    pub(crate) fn is_quasi(self) -> bool {
        matches!(self, Algorithm::Sobol32(_) | Algorithm::Sobol64(_))
    }

    /// Whether each result is made of one word, normal results by the inverse distribution.
    fn is_inverted(self) -> bool {
        self.is_quasi() || self == Algorithm::Mtgp32
    }

    /// The number of interleaved sequences.
    fn sequences(self, is_legacy: bool) -> u64 {
        match self {
            Algorithm::Mrg32k3a if !is_legacy => 81_920,
            Algorithm::Philox => 65_536,
            Algorithm::Mtgp32 => {
                if is_legacy {
                    64
                } else {
                    192
                }
            }
            _ => 4096,
        }
    }
}

/// The order of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ordering {
    Default,
    Legacy,
    Seeded,
}

/// The choices of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) algorithm: Algorithm,
    pub(crate) seed: u64,
    pub(crate) offset: u64,
    pub(crate) ordering: Ordering,
    pub(crate) dimensions: usize,
}

/// The sequences of a choice.
#[derive(Clone)]
enum Source {
    Xorwow(Arc<Lanes<Xorwow>>),
    Mrg(Arc<Lanes<Mrg>>),
    Twister(Arc<mt19937::Sequence>),
    Mtgp(Arc<mtgp32::Sequences>),
    Philox(u64),
    Sobol { dimensions: usize, form: Form, is_wide: bool },
}

/// The sequences of a generator, and how far it is.
pub(crate) struct Progress {
    source: Source,
    visits: Visits,
    /// The results before the next one, where no units are counted.
    position: u64,
}

/// The place of the results of a call in the sequences.
enum Place {
    Units(Steps),
    Position(u64),
}

/// The results of one call, before they are computed.
pub(crate) struct Results {
    source: Source,
    kind: Kind,
    place: Place,
    /// The results of the first unit that an earlier call has taken.
    skipped: usize,
}

/// The results of a unit, and its steps.
fn unit(algorithm: Algorithm, kind: &Kind) -> (usize, u64) {
    let width = if matches!(kind, Kind::Normal(_) | Kind::NormalDouble(_)) { 2 } else { 1 };
    let of = |double, normal_double| match kind {
        Kind::UniformDouble => double,
        Kind::Normal(_) => 2,
        Kind::NormalDouble(_) => normal_double,
        _ => 1,
    };
    match algorithm {
        Algorithm::Philox => (4, if matches!(kind, Kind::UniformDouble | Kind::NormalDouble(_)) { 2 } else { 1 }),
        Algorithm::Mrg32k3a => (width, of(Mrg::DOUBLE, Mrg::NORMAL_DOUBLE)),
        _ => (width, of(Xorwow::DOUBLE, Xorwow::NORMAL_DOUBLE)),
    }
}

impl Progress {
    pub(crate) fn new(choice: &Choice) -> Progress {
        let seed = choice.seed;
        let sequences = choice.algorithm.sequences(choice.ordering == Ordering::Legacy);
        let source = match choice.algorithm {
            Algorithm::Xorwow => {
                let jumps = if choice.ordering == Ordering::Seeded { Jumps::Seeded(seed) } else { Jumps::Apart };
                Source::Xorwow(Arc::new(Lanes::new(Xorwow::new(seed), jumps)))
            }
            Algorithm::Mrg32k3a => Source::Mrg(Arc::new(Lanes::new(Mrg::new(seed), ()))),
            Algorithm::Mt19937 => Source::Twister(Arc::new(mt19937::Sequence::new(seed as u32))),
            Algorithm::Philox => Source::Philox(seed),
            Algorithm::Mtgp32 => Source::Mtgp(Arc::new(mtgp32::Sequences::new(seed, sequences))),
            Algorithm::Sobol32(form) => Source::Sobol { dimensions: choice.dimensions, form, is_wide: false },
            Algorithm::Sobol64(form) => Source::Sobol { dimensions: choice.dimensions, form, is_wide: true },
        };
        let unit = if choice.algorithm == Algorithm::Philox { choice.offset / 4 } else { choice.offset };
        // Positions end at 2^63, so that sums of positions and lengths do not overflow.
        let bounded = |position: u64| position & (u64::MAX >> 1);
        Progress { source, visits: Visits::new(sequences, bounded(unit)), position: bounded(choice.offset) }
    }

    /// The next `count` results.
    pub(crate) fn next(&self, algorithm: Algorithm, kind: Kind, count: usize) -> Results {
        let width = unit(algorithm, &kind).0 as u64;
        let skipped = if algorithm == Algorithm::Philox { self.position % width } else { 0 };
        let place = match &self.source {
            Source::Xorwow(_) | Source::Mrg(_) | Source::Philox(_) => {
                Place::Units(self.visits.next((skipped + count as u64).div_ceil(width)))
            }
            Source::Twister(_) | Source::Mtgp(_) | Source::Sobol { .. } => Place::Position(self.position),
        };
        Results { source: self.source.clone(), kind, place, skipped: skipped as usize }
    }

    /// Ends the next `count` results.
    pub(crate) fn advance(&mut self, algorithm: Algorithm, kind: &Kind, count: usize) {
        let (width, steps) = unit(algorithm, kind);
        let (count, width) = (count as u64, width as u64);
        match &self.source {
            Source::Xorwow(_) | Source::Mrg(_) => self.visits.advance(count / width, steps),
            Source::Philox(_) => self.visits.advance((self.position % width + count) / width, steps),
            Source::Twister(_) | Source::Mtgp(_) | Source::Sobol { .. } => {}
        }
        self.position = self.position.wrapping_add(match &self.source {
            Source::Twister(_) => count / width * steps,
            Source::Sobol { dimensions, .. } => count / *dimensions as u64,
            _ => count,
        });
    }
}

/// A type of results.
pub(crate) trait Output: Copy + Default + Send + 'static {
    /// The standard results of four words of Philox, or of eight for doubles.
    fn of_words(kind: &Kind, words: impl Fn(u64) -> [u32; 4]) -> [Self; 4];
    /// The results of a unit.
    fn draw(kind: &Kind, state: &mut impl Draw, unit: &mut [Self]);
    /// A result made of one word.
    fn quasi(kind: &Kind, bits: u32) -> Self;
    /// A result made of one word of 64 bits.
    fn quasi_wide(kind: &Kind, bits: u64) -> Self;
}

fn put<T: Copy>(unit: &mut [T], results: &[T]) {
    unit.iter_mut().zip(results).for_each(|(place, result)| *place = *result);
}

impl Output for u32 {
    fn of_words(kind: &Kind, words: impl Fn(u64) -> [u32; 4]) -> [u32; 4] {
        match kind {
            Kind::Poisson(table) => words(0).map(|bits| table.value(probability(bits))),
            _ => words(0),
        }
    }

    fn draw(kind: &Kind, state: &mut impl Draw, unit: &mut [u32]) {
        let bits = state.bits();
        put(unit, &[u32::quasi(kind, bits)]);
    }

    fn quasi(kind: &Kind, bits: u32) -> u32 {
        match kind {
            Kind::Poisson(table) => table.value(probability(bits)),
            _ => bits,
        }
    }

    fn quasi_wide(kind: &Kind, bits: u64) -> u32 {
        u32::quasi(kind, (bits >> 32) as u32)
    }
}

impl Output for u64 {
    // Generators of 32 bits have no results of 64 bits, and are refused before.
    fn of_words(_: &Kind, _: impl Fn(u64) -> [u32; 4]) -> [u64; 4] {
        [0; 4]
    }

    fn draw(_: &Kind, _: &mut impl Draw, _: &mut [u64]) {}

    fn quasi(_: &Kind, bits: u32) -> u64 {
        bits.into()
    }

    fn quasi_wide(_: &Kind, bits: u64) -> u64 {
        bits
    }
}

impl Output for f32 {
    fn of_words(kind: &Kind, words: impl Fn(u64) -> [u32; 4]) -> [f32; 4] {
        let [a, b, c, d] = words(0);
        match kind {
            Kind::Normal(normal) => {
                let ([a, b], [c, d]) = (normal_pair(a, b), normal_pair(c, d));
                [a, b, c, d].map(|standard| normal.of(standard))
            }
            _ => [a, b, c, d].map(uniform),
        }
    }

    fn draw(kind: &Kind, state: &mut impl Draw, unit: &mut [f32]) {
        match kind {
            Kind::Normal(normal) => put(unit, &state.normal_pair().map(|standard| normal.of(standard))),
            _ => put(unit, &[state.uniform()]),
        }
    }

    fn quasi(kind: &Kind, bits: u32) -> f32 {
        match kind {
            Kind::Normal(normal) => normal.of(inverted(bits)),
            _ => uniform(bits),
        }
    }

    fn quasi_wide(kind: &Kind, bits: u64) -> f32 {
        f32::quasi(kind, (bits >> 32) as u32)
    }
}

impl Output for f64 {
    fn of_words(kind: &Kind, words: impl Fn(u64) -> [u32; 4]) -> [f64; 4] {
        let ([a, b, c, d], [e, f, g, h]) = (words(0), words(1));
        match kind {
            Kind::NormalDouble(normal) => {
                let ([a, b], [c, d]) = (normal_pair_double([a, b], [c, d]), normal_pair_double([e, f], [g, h]));
                [a, b, c, d].map(|standard| normal.of(standard))
            }
            _ => [uniform_double(a, b), uniform_double(c, d), uniform_double(e, f), uniform_double(g, h)],
        }
    }

    fn draw(kind: &Kind, state: &mut impl Draw, unit: &mut [f64]) {
        match kind {
            Kind::NormalDouble(normal) => put(unit, &state.normal_pair_double().map(|standard| normal.of(standard))),
            _ => put(unit, &[state.uniform_double()]),
        }
    }

    fn quasi(kind: &Kind, bits: u32) -> f64 {
        match kind {
            Kind::NormalDouble(normal) => normal.of(inverted_double(bits)),
            _ => quasi_double(bits),
        }
    }

    fn quasi_wide(kind: &Kind, bits: u64) -> f64 {
        match kind {
            Kind::NormalDouble(normal) => normal.of(inverted_wide(bits)),
            _ => quasi_double_wide(bits),
        }
    }
}

impl Results {
    /// Computes the results.
    pub(crate) fn write<T: Output>(&self, out: &mut [T]) {
        let kind = &self.kind;
        match (&self.source, &self.place) {
            (Source::Xorwow(lanes), Place::Units(steps)) => fill(lanes, Algorithm::Xorwow, kind, steps, out),
            (Source::Mrg(lanes), Place::Units(steps)) => fill(lanes, Algorithm::Mrg32k3a, kind, steps, out),
            (Source::Philox(seed), Place::Units(steps)) => self.philox(*seed, steps, out),
            (Source::Twister(sequence), Place::Position(from)) => sequence.draw(*from, |twister| {
                let (width, steps) = unit(Algorithm::Mt19937, kind);
                out.chunks_exact_mut(width).for_each(|unit| T::draw(kind, twister, unit));
                (out.len() / width) as u64 * steps
            }),
            (Source::Mtgp(sequences), Place::Position(first)) => {
                sequences.fill(*first, out, |bits| T::quasi(kind, bits))
            }
            (Source::Sobol { dimensions, form, is_wide }, Place::Position(first)) => {
                let each = (out.len() / *dimensions).max(1);
                let rows: Vec<_> = out.chunks_mut(each).enumerate().collect();
                let row = |dimension: usize, row: &mut [T]| {
                    parallel::parts(row, 1, |index, part| {
                        let first = first.wrapping_add(index as u64);
                        if *is_wide {
                            sobol::fill(*form, dimension, first, part, |bits: u64| T::quasi_wide(kind, bits));
                        } else {
                            sobol::fill(*form, dimension, first, part, |bits: u32| T::quasi(kind, bits));
                        }
                    });
                };
                rows.into_iter().for_each(|(dimension, results)| row(dimension, results));
            }
            // Sources and places are made together.
            (_, Place::Units(_) | Place::Position(_)) => {}
        }
    }

    fn philox<T: Output>(&self, seed: u64, places: &Steps, out: &mut [T]) {
        let (_, steps) = unit(Algorithm::Philox, &self.kind);
        let (sequences, skipped) = (places.sequences as usize, self.skipped);
        let of = |group: usize| {
            let taken = places.taken.get(group % sequences).copied().unwrap_or(0);
            let counter = taken.wrapping_add((group / sequences) as u64 * steps);
            T::of_words(&self.kind, |step| philox::words(places.sequence(group), counter.wrapping_add(step), seed))
        };
        let head = out.len().min((4 - skipped) % 4);
        let (first, rest) = out.split_at_mut(head);
        if head > 0 {
            put(first, of(0).get(skipped..).unwrap_or(&[]));
        }
        let from = usize::from(skipped > 0);
        parallel::parts(rest, 4, |index, part| {
            for (group, results) in part.chunks_mut(4).enumerate() {
                put(results, &of(from + index / 4 + group));
            }
        });
    }
}

fn fill<S: State, T: Output>(lanes: &Lanes<S>, algorithm: Algorithm, kind: &Kind, places: &Steps, out: &mut [T]) {
    let (width, steps) = unit(algorithm, kind);
    lanes.fill(places, width, steps, out, |state, unit| T::draw(kind, state, unit));
}

/// Checks the length of a call.
pub(crate) fn check_length(choice: &Choice, kind: &Kind, count: usize) -> Outcome {
    let is_normal = matches!(kind, Kind::Normal(_) | Kind::NormalDouble(_));
    let multiple = if choice.algorithm.is_quasi() {
        choice.dimensions
    } else {
        1 + usize::from(is_normal && !choice.algorithm.is_inverted())
    };
    if count.is_multiple_of(multiple) { Ok(()) } else { Err(curandStatus_t::LENGTH_NOT_MULTIPLE) }
}
