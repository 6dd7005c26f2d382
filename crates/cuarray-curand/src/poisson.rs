//! The Poisson distribution by inversion of its cumulative distribution.

/// Rounding cannot matter below this probability, because results are made of 32 bits.
const NEGLIGIBLE: f64 = 1e-18;

/// The cumulative probabilities of consecutive values.
#[derive(Debug)]
pub(crate) struct Table {
    first: u32,
    cumulative: Vec<f64>,
}

impl Table {
    /// The table of a mean, which is positive and at most 400,000.
    pub(crate) fn new(mean: f64) -> Table {
        // From the mode on, probabilities are products of ratios; their sum makes them absolute. So no factorial is needed.
        let mode = mean.floor();
        let mut above = vec![1.0];
        let mut value = mode;
        while let Some(last) = above.last().copied()
            && last > NEGLIGIBLE
        {
            value += 1.0;
            above.push(last * mean / value);
        }
        let mut below = Vec::new();
        let (mut value, mut last) = (mode, 1.0);
        while value > 0.0 && last > NEGLIGIBLE {
            last *= value / mean;
            value -= 1.0;
            below.push(last);
        }
        let weights = || below.iter().rev().chain(&above).copied();
        let total: f64 = weights().sum();
        let mut sum = 0.0;
        let cumulative = weights().map(|weight| {
            sum += weight;
            sum / total
        });
        Table { cumulative: cumulative.collect(), first: value as u32 }
    }

    /// The smallest value of the table, and the probabilities from it on.
    pub(crate) fn probabilities(&self) -> (u32, Vec<f64>) {
        let before = std::iter::once(0.0).chain(self.cumulative.iter().copied());
        (self.first, self.cumulative.iter().zip(before).map(|(sum, before)| sum - before).collect())
    }

    /// The smallest value whose cumulative probability is at least `p`.
    pub(crate) fn value(&self, p: f64) -> u32 {
        let index = self.cumulative.partition_point(|cumulative| *cumulative < p);
        self.first + index.min(self.cumulative.len() - 1) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn cumulative_probabilities_are_sums_of_the_definition() {
        let table = Table::new(2.5);
        assert_eq!(table.first, 0);
        let (mut term, mut sum) = ((-2.5_f64).exp(), 0.0);
        for k in 0..12 {
            sum += term;
            assert!((table.cumulative[k] - sum).abs() < 1e-14, "{k}");
            term *= 2.5 / (k as f64 + 1.0);
        }
    }

    #[test]
    fn median_of_a_large_mean_is_near_it() {
        for mean in [1e-6, 0.3, 17.5, 400_000.0] {
            assert!((f64::from(Table::new(mean).value(0.5)) - mean).abs() <= 1.0);
        }
    }
}
