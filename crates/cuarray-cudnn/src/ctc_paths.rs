//! The paths of a sample in the loss of connectionist temporal classification.

/// A sample: its labels, and the number of its time steps.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) labels: Vec<usize>,
    pub(crate) steps: usize,
}

impl Sample {
    /// Whether there is a path: equal labels need a blank between them.
    pub(crate) fn has_path(&self) -> bool {
        let repeats = self.labels.windows(2).filter(|pair| pair[0] == pair[1]).count();
        self.labels.len() + repeats <= self.steps
    }
}

/// The logarithm of a sum of two numbers, from their logarithms.
fn sum(a: f64, b: f64) -> f64 {
    let (small, large) = (a.min(b), a.max(b));
    if small == f64::NEG_INFINITY { large } else { large + (small - large).exp().ln_1p() }
}

/// The cost of a sample, and the expected number of each symbol at each step. `log` is the logarithm of the probability of a symbol at a step.
pub(crate) fn paths(sample: &Sample, alphabet: usize, log: impl Fn(usize, usize) -> f64) -> (f64, Vec<f64>) {
    let (steps, states) = (sample.steps, 2 * sample.labels.len() + 1);
    let mut expected = vec![0.0; steps * alphabet];
    if steps == 0 {
        return (if sample.labels.is_empty() { 0.0 } else { f64::INFINITY }, expected);
    }
    // Between the labels and around them there are blanks, which are symbol 0.
    let symbol = |state: usize| if state.is_multiple_of(2) { 0 } else { sample.labels[state / 2] };
    // A blank between labels that differ can be left out.
    let skips = |state: usize| state >= 2 && symbol(state) != 0 && symbol(state) != symbol(state - 2);
    let none = f64::NEG_INFINITY;
    let (mut before, mut after) = (vec![none; steps * states], vec![none; steps * states]);
    for state in 0..states.min(2) {
        before[state] = log(0, symbol(state));
        after[steps * states - 1 - state] = 0.0;
    }
    for step in 1..steps {
        let (known, next) = before.split_at_mut(step * states);
        let known = &known[(step - 1) * states..];
        for state in 0..states {
            let mut all = known[state];
            if state >= 1 {
                all = sum(all, known[state - 1]);
            }
            if skips(state) {
                all = sum(all, known[state - 2]);
            }
            next[state] = all + log(step, symbol(state));
        }
    }
    for step in (0..steps - 1).rev() {
        for state in 0..states {
            let follows = |to: usize| after[(step + 1) * states + to] + log(step + 1, symbol(to));
            let mut all = follows(state);
            if state + 1 < states {
                all = sum(all, follows(state + 1));
            }
            if state + 2 < states && skips(state + 2) {
                all = sum(all, follows(state + 2));
            }
            after[step * states + state] = all;
        }
    }
    let last = &before[(steps - 1) * states..];
    let total = last[states.saturating_sub(2)..].iter().copied().fold(none, sum);
    if total > none {
        for (index, (before, after)) in before.iter().zip(&after).enumerate() {
            expected[index / states * alphabet + symbol(index % states)] += (before + after - total).exp();
        }
    }
    (-total, expected)
}

/// The logarithms of probabilities, or of the softmax of values.
pub(crate) fn logarithms(values: &[f32], alphabet: usize, by_softmax: bool) -> Vec<f64> {
    let mut logs: Vec<f64> = values.iter().copied().map(f64::from).collect();
    for row in logs.chunks_mut(alphabet) {
        if by_softmax {
            let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let total = largest + row.iter().map(|value| (value - largest).exp()).sum::<f64>().ln();
            row.iter_mut().for_each(|value| *value -= total);
        } else {
            row.iter_mut().for_each(|value| *value = value.ln());
        }
    }
    logs
}
