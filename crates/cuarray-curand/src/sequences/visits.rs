//! The places in interleaved sequences.
//!
//! Sequence `t` of `S` gives unit `t` of the results, then unit `t + S`, and so on. A unit takes one step of its sequence, or several for
//! doubles and for pairs of normal results. So sequences that have given more doubles are further ahead.

/// How far each of the sequences is.
#[derive(Clone, Debug)]
pub(crate) struct Visits {
    sequences: u64,
    position: u64,
    /// The steps beyond one for each unit, by sequence. Empty until the first one.
    extra: Vec<u64>,
}

/// The steps that were taken before a call, for the units of the call.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    /// The number of sequences.
    pub(crate) sequences: u64,
    /// The first unit.
    pub(crate) first: u64,
    /// The steps of the sequence of unit `first + index`, up to the number of sequences.
    pub(crate) taken: Vec<u64>,
}

impl Steps {
    /// The sequence of the unit `first + index`.
    pub(crate) fn sequence(&self, index: usize) -> u64 {
        self.first.wrapping_add(index as u64) % self.sequences
    }
}

impl Visits {
    pub(crate) fn new(sequences: u64, position: u64) -> Visits {
        Visits { sequences, position, extra: Vec::new() }
    }

    /// The places of the next units.
    pub(crate) fn next(&self, units: u64) -> Steps {
        let (sequences, first) = (self.sequences, self.position);
        let taken = |unit: u64| {
            let sequence = unit % sequences;
            // Units before the first one that belong to the sequence.
            let rounds = (first + sequences - 1 - sequence) / sequences;
            rounds.wrapping_add(self.extra.get(sequence as usize).copied().unwrap_or(0))
        };
        Steps { sequences, first, taken: (0..units.min(sequences)).map(|index| taken(first + index)).collect() }
    }

    /// Ends the next units, which have taken `steps` steps each.
    pub(crate) fn advance(&mut self, units: u64, steps: u64) {
        if steps > 1 && units > 0 {
            self.extra.resize(self.sequences as usize, 0);
            for index in 0..units.min(self.sequences) {
                let rounds = (units - index).div_ceil(self.sequences);
                if let Some(extra) = self.extra.get_mut(((self.position + index) % self.sequences) as usize) {
                    *extra = extra.wrapping_add(rounds.wrapping_mul(steps - 1));
                }
            }
        }
        self.position = self.position.wrapping_add(units);
    }
}
