//! Levels of detail: the levels of a mipmap that a fetch reads, and their weights.

use super::axis::STEPS;
use super::sampler::{FilterMode, Sampler};

/// The levels of a fetch with their weights, in units of 1 / [`STEPS`].
pub(crate) type Levels = [(usize, i64); 2];

/// The largest level alone.
pub(crate) const BASE: Levels = [(0, STEPS), (0, 0)];

/// The levels for a level of detail. The bias of the sampler is added, and its limits hold, before the levels that exist.
pub(crate) fn levels(sampler: &Sampler, detail: f64, count: usize) -> Levels {
    let [least, most] = sampler.level_clamp.map(f64::from);
    let detail = if detail.is_nan() { 0.0 } else { detail };
    let detail = (detail + f64::from(sampler.level_bias)).min(most).max(least);
    let last = count.saturating_sub(1);
    let detail = detail.min(last as f64).max(0.0);
    match sampler.mipmap_filter {
        FilterMode::Point => {
            [((detail + 0.5).floor() as usize, STEPS), (0, 0)].map(|(level, weight)| (level.min(last), weight))
        }
        FilterMode::Linear => {
            let steps = (detail * STEPS as f64 + 0.5).floor() as i64;
            let (first, weight) = ((steps / STEPS) as usize, steps % STEPS);
            [(first.min(last), STEPS - weight), ((first + 1).min(last), weight)]
        }
    }
}

/// The level of detail of a fetch whose coordinates change by these numbers of texels between neighbouring pixels.
pub(crate) fn of_changes(changes: [[f64; 3]; 2]) -> f64 {
    let length = |change: [f64; 3]| change.iter().map(|part| part * part).sum::<f64>().sqrt();
    length(changes[0]).max(length(changes[1])).log2()
}
