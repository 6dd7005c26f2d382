//! Discrete distributions in device memory, for kernels that use cuRAND's device interface.
//!
//! The inline functions of its header read the structures of `curand_discrete.h`. A value is drawn from a square histogram, by G. Marsaglia,
//! W. W. Tsang and J. Wang (2004): column `j` of `n` has the value `j` below its threshold, and another value above it.

use crate::poisson::Table;
use crate::status::{Outcome, curandStatus_t};
use cuarray_stream_work::Constants;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// `CURAND_M2`, the method of the square histogram.
const METHOD: u32 = 5;
/// The places of the structures in their memory, and of the thresholds.
const SHIFTED: usize = 64;
const HISTOGRAM: usize = 128;
const THRESHOLDS: usize = 192;

/// The thresholds of the columns and their other values.
fn square_histogram(probabilities: &[f64]) -> (Vec<f64>, Vec<u32>) {
    let count = probabilities.len();
    let column = 1.0 / count as f64;
    let mut rest = probabilities.to_vec();
    let mut thresholds: Vec<f64> = (1..=count).map(|end| end as f64 / count as f64).collect();
    let mut others: Vec<u32> = (0..count as u32).collect();
    let (mut low, mut high): (Vec<usize>, Vec<usize>) = (0..count).partition(|index| rest[*index] < column);
    while let (Some(poor), Some(rich)) = (low.pop(), high.last().copied()) {
        thresholds[poor] = poor as f64 / count as f64 + rest[poor];
        others[poor] = rich as u32;
        rest[rich] -= column - rest[poor];
        if rest[rich] < column {
            high.pop();
            low.push(rich);
        }
    }
    // A uniform number of 1 selects a column behind the last one.
    thresholds.push(0.0);
    others.push(others.last().copied().unwrap_or(0));
    (thresholds, others)
}

fn put<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    if let Some(place) = bytes.get_mut(at..at + N) {
        place.copy_from_slice(&value);
    }
}

/// The structures at an address.
fn structures(address: u64, size: usize, mean: f64, table: &Table) -> Vec<u8> {
    let (first, probabilities) = table.probabilities();
    let (thresholds, others) = square_histogram(&probabilities);
    let values = THRESHOLDS + 8 * thresholds.len();
    let at = |offset: usize| (address + offset as u64).to_le_bytes();
    let mut bytes = vec![0; size];
    // `curandDiscreteDistribution_st`: two pointers, one of the host, the deviation, the mean and the method.
    put(&mut bytes, 8, at(SHIFTED));
    put(&mut bytes, 24, mean.sqrt().to_le_bytes());
    put(&mut bytes, 32, mean.to_le_bytes());
    put(&mut bytes, 40, METHOD.to_le_bytes());
    // `curandDistributionM2Shift_st`: two pointers, the first value and the number of values.
    put(&mut bytes, SHIFTED, at(HISTOGRAM));
    put(&mut bytes, SHIFTED + 16, first.to_le_bytes());
    put(&mut bytes, SHIFTED + 20, (probabilities.len() as u32).to_le_bytes());
    // `curandHistogramM2_st`: thresholds and values, each followed by a pointer of the host.
    put(&mut bytes, HISTOGRAM, at(THRESHOLDS));
    put(&mut bytes, HISTOGRAM + 16, at(values));
    for (index, (threshold, other)) in thresholds.iter().zip(others).enumerate() {
        put(&mut bytes, THRESHOLDS + 8 * index, threshold.to_le_bytes());
        put(&mut bytes, values + 4 * index, other.to_le_bytes());
    }
    bytes
}

fn made() -> MutexGuard<'static, HashMap<u64, Constants>> {
    static MADE: OnceLock<Mutex<HashMap<u64, Constants>>> = OnceLock::new();
    MADE.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a distribution in the memory of the current context. Returns its address.
pub(crate) fn create(mean: f64, table: &Table) -> Outcome<u64> {
    let columns = table.probabilities().1.len() + 1;
    let size = THRESHOLDS + 12 * columns;
    let constants = Constants::new(size, |address| structures(address, size, mean, table))?;
    let address = constants.address();
    made().insert(address, constants);
    Ok(address)
}

/// Frees a distribution.
pub(crate) fn destroy(address: u64) -> Outcome {
    let removed = made().remove(&address).ok_or(curandStatus_t::NOT_INITIALIZED)?;
    Ok(removed.free()?)
}

#[cfg(test)]
mod tests {
    use super::square_histogram;
    use crate::poisson::Table;

    #[test]
    fn columns_add_up_to_the_probabilities() {
        for mean in [0.001, 3.5, 1000.0] {
            let (_, probabilities) = Table::new(mean).probabilities();
            let (thresholds, others) = square_histogram(&probabilities);
            let column = 1.0 / probabilities.len() as f64;
            let mut sums = vec![0.0; probabilities.len()];
            for index in 0..probabilities.len() {
                let own = thresholds[index] - index as f64 * column;
                sums[index] += own;
                sums[others[index] as usize] += column - own;
            }
            for (sum, probability) in sums.iter().zip(&probabilities) {
                assert!((sum - probability).abs() < 1e-12, "{sum} {probability}");
            }
        }
    }
}
