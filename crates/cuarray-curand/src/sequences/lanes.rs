//! Interleaved sequences of a generator that keeps a state: XORWOW and MRG32k3a.

use super::visits::Steps;
use crate::distribution::Draw;
use crate::parallel;
use std::sync::{Mutex, PoisonError};

/// The state of one sequence.
pub(crate) trait State: Draw + Copy + Send + Sync + 'static {
    /// How states of sequences are found.
    type Jumps: Send + Sync + 'static;

    /// The first state of the sequence after that of `self`, at distance `jump`.
    fn next_sequence(&self, jumps: &Self::Jumps, index: u64) -> Self;

    /// The state `steps` steps later.
    fn skip(&self, jumps: &Self::Jumps, steps: u64) -> Self;
}

#[derive(Debug)]
struct Known<S> {
    /// The first states of the sequences.
    starts: Vec<S>,
    /// States of the sequences, with the steps before them.
    current: Vec<(u64, S)>,
}

/// The sequences of a generator with a seed.
pub(crate) struct Lanes<S: State> {
    jumps: S::Jumps,
    known: Mutex<Known<S>>,
}

impl<S: State> Lanes<S> {
    pub(crate) fn new(first: S, jumps: S::Jumps) -> Lanes<S> {
        Lanes { jumps, known: Mutex::new(Known { starts: vec![first], current: vec![(0, first)] }) }
    }

    /// Writes the results of a call. A unit has `width` results and takes `steps` steps; `of` computes them.
    pub(crate) fn fill<T: Send>(
        &self,
        places: &Steps,
        width: usize,
        steps: u64,
        out: &mut [T],
        of: impl Fn(&mut S, &mut [T]) + Sync,
    ) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = &mut *known;
        let last = (0..places.taken.len()).map(|index| places.sequence(index)).max().unwrap_or(0);
        while let Some(start) = known.starts.last()
            && (known.starts.len() as u64) <= last
        {
            let next = start.next_sequence(&self.jumps, known.starts.len() as u64);
            known.starts.push(next);
            known.current.push((0, next));
        }
        let mut states: Vec<S> = Vec::with_capacity(places.taken.len());
        for (index, wanted) in places.taken.iter().enumerate() {
            let sequence = places.sequence(index) as usize;
            let (Some(start), Some((at, current))) = (known.starts.get(sequence), known.current.get(sequence)) else {
                return;
            };
            states.push(if at == wanted { *current } else { start.skip(&self.jumps, *wanted) });
        }
        self.run(&mut states, width, out, of);
        let units = out.len() / width;
        for (index, state) in states.into_iter().enumerate() {
            let rounds = units.saturating_sub(index).div_ceil(places.sequences as usize) as u64;
            let sequence = places.sequence(index) as usize;
            if let (Some(current), Some(taken)) = (known.current.get_mut(sequence), places.taken.get(index)) {
                *current = (taken + rounds * steps, state);
            }
        }
    }

    /// Each thread has a range of the sequences, and the parts of all rows that belong to it.
    fn run<T: Send>(&self, states: &mut [S], width: usize, out: &mut [T], of: impl Fn(&mut S, &mut [T]) + Sync) {
        if states.is_empty() {
            return;
        }
        let row = states.len() * width;
        let own = states.len().div_ceil(parallel::threads(out.len()));
        let mut work: Vec<(&mut [S], Vec<&mut [T]>)> =
            states.chunks_mut(own).map(|states| (states, Vec::new())).collect();
        for row in out.chunks_mut(row) {
            for ((_, parts), part) in work.iter_mut().zip(row.chunks_mut(own * width)) {
                parts.push(part);
            }
        }
        parallel::each(work, |(states, parts)| {
            for part in parts {
                for (state, unit) in states.iter_mut().zip(part.chunks_exact_mut(width)) {
                    of(state, unit);
                }
            }
        });
    }
}
