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

    /// The next units: `touched` are read, and the first `completed` of them are over. Each takes `steps` steps.
    pub(crate) fn take(&mut self, touched: u64, completed: u64, steps: u64) -> Steps {
        let (sequences, first) = (self.sequences, self.position);
        let base = |unit: u64| {
            let sequence = unit % sequences;
            // Units before the first one that belong to the sequence.
            let rounds = (first + sequences - 1 - sequence) / sequences;
            rounds + self.extra.get(sequence as usize).copied().unwrap_or(0)
        };
        let taken = (0..touched.min(sequences)).map(|index| base(first + index)).collect();
        if steps > 1 && completed > 0 {
            self.extra.resize(sequences as usize, 0);
            for index in 0..completed.min(sequences) {
                let rounds = (completed - index).div_ceil(sequences);
                if let Some(extra) = self.extra.get_mut(((first + index) % sequences) as usize) {
                    *extra = extra.wrapping_add(rounds.wrapping_mul(steps - 1));
                }
            }
        }
        self.position = first.wrapping_add(completed);
        Steps { sequences, first, taken }
    }
}
